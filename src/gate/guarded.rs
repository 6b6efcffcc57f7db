//! The reference gate: runs the checks that are on and composes what they propose.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Act, CheckSet, Context, Decision, Delegations, Event, Facts, Gate, Listing, Meter, Passing, PinStore, Rewrite,
    Rules, Ruling, SessionPins, Surroundings, Told, checks,
    facts::Absorbed,
    meter::{Part, timed},
    proposals::{Answers, Proposals, Refusing},
};
use crate::protocol::{Direction, Id, Message, Shape, Splice, apply_splices, error_reply};

/// The reference gate for one session with all its servers.
#[derive(Debug)]
pub struct Guarded {
    rules: Rules,
    delegations: Delegations,
    facts: Facts,
    store: Arc<dyn PinStore>,
    surroundings: Arc<dyn Surroundings>,
    /// The checks that act, of those that are on. The rest only say in the trail
    /// what they would have done.
    enforced: CheckSet,
    /// What adds up what each part takes, where somebody wants to know.
    meter: Option<Arc<Meter>>,
    /// In which order the checks run. What they propose is always composed in
    /// the registry's order; tests permute this one to show that it is idle.
    order: Vec<usize>,
}

impl Guarded {
    /// A gate at the start of a session, which remembers approvals as long as it lives.
    pub fn new(rules: Rules, delegations: Delegations) -> Self {
        let order = (0..checks::ALL.len()).collect();
        let (store, surroundings) = (Arc::new(SessionPins::default()), Arc::new(Told::default()));
        let enforced = CheckSet::all();
        Self { rules, delegations, facts: Facts::default(), store, surroundings, enforced, meter: None, order }
    }

    /// The same gate with its approvals kept elsewhere.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn PinStore>) -> Self {
        self.store = store;
        self
    }

    /// The same gate in other surroundings: without this, no name resolves and no
    /// path is a link.
    #[must_use]
    pub fn with_surroundings(mut self, surroundings: Arc<dyn Surroundings>) -> Self {
        self.surroundings = surroundings;
        self
    }

    /// The same gate in which, of the checks that are on, only these act.
    #[must_use]
    pub fn enforcing(mut self, checks: CheckSet) -> Self {
        self.enforced = checks;
        self
    }

    /// The same gate with what it takes measured: without this, it reads no clock.
    #[must_use]
    pub fn with_meter(mut self, meter: Arc<Meter>) -> Self {
        self.meter = Some(meter);
        self
    }

    /// The same gate with its checks run in another order.
    #[cfg(test)]
    pub(super) fn in_order(mut self, order: Vec<usize>) -> Self {
        self.order = order;
        self
    }
}

impl Gate for Guarded {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        match self.meter.clone() {
            None => self.rule(event, None),
            Some(meter) => timed(Some(&meter), Part::Whole, || self.rule(event, Some(&meter))),
        }
    }
}

impl Guarded {
    fn rule(&mut self, event: &Event<'_>, meter: Option<&Meter>) -> Ruling {
        let absorbed =
            timed(meter, Part::Facts, || self.facts.absorb(&self.rules, &*self.store, &*self.surroundings, event));
        let context = Context {
            rules: &self.rules,
            facts: &self.facts,
            delegations: &self.delegations,
            surroundings: &*self.surroundings,
            answered: absorbed.answered.as_ref(),
            listing: absorbed.listing.as_ref(),
            page: absorbed.page,
            id_in_use: absorbed.id_in_use,
            count: absorbed.count,
            progress: absorbed.progress,
            heard: absorbed.heard,
            asked: absorbed.asked.as_ref(),
            asked_again: absorbed.asked_again,
            who: absorbed.who,
            crossed: absorbed.crossed.as_ref(),
            misplaced: absorbed.misplaced,
            reissued: absorbed.reissued,
            consented: absorbed.consented,
            outward: &absorbed.outward,
        };
        let mut each: Vec<(usize, Proposals)> = Vec::new();
        for &index in &self.order {
            if self.rules.checks().has(index) {
                let check = checks::ALL[index];
                let mut proposals = Proposals::new(check.docs().id);
                timed(meter, Part::Check(index), || check.inspect(&context, event, &mut proposals));
                if !proposals.is_empty() {
                    each.push((index, proposals));
                }
            }
        }
        each.sort_unstable_by_key(|(index, _)| *index);
        let mut all: Option<Proposals> = None;
        let mut shadow = Vec::new();
        for (index, one) in each {
            match &mut all {
                _ if !self.enforced.has(index) => shadow.extend(one.findings),
                Some(all) => all.append(one),
                None => all = Some(one),
            }
        }
        let Some(proposals) = all else {
            // A gate of which nothing acts takes nothing apart.
            let acts = self.rules.checks().and(self.enforced) != CheckSet::none();
            let decision = if acts && is_batch(event) { Decision::Each } else { Decision::Forward };
            return Ruling { decision, findings: Vec::new(), shadow };
        };
        let decision = self.compose(event, &absorbed, &proposals);
        Ruling { decision, findings: proposals.findings, shadow }
    }

    fn compose(&mut self, event: &Event<'_>, absorbed: &Absorbed, proposals: &Proposals) -> Decision {
        if let Some(refusal) = proposals.refusals.first() {
            return Decision::Refuse { reply: self.refuse(event, absorbed, refusal), status: refusal.status };
        }
        if is_batch(event) {
            return Decision::Each;
        }
        let mut rewrite = Rewrite { body: None, headers: proposals.headers.clone(), env: proposals.env.clone() };
        if let Event::Passing(passing) = event {
            let mut splices = proposals.splices.clone();
            if let Some(listing) = &absorbed.listing {
                splices.extend(shown(passing.message, listing, proposals));
            }
            if !splices.is_empty() {
                rewrite.body = Some(apply_splices(passing.message.raw(), &splices));
            }
        }
        if rewrite == Rewrite::default() { Decision::Forward } else { Decision::Rewrite(rewrite) }
    }

    /// The error that the client gets in the place of what was refused.
    fn refuse(&mut self, event: &Event<'_>, absorbed: &Absorbed, refusal: &Refusing) -> Option<Bytes> {
        let Event::Passing(Passing { server, direction, message, .. }) = event else {
            // A relay that stops at a head or a hop answers the exchange's own
            // request, which the server will not answer any more.
            let id = event.answers();
            if let Some(id) = id {
                self.facts.settle(event.server(), id);
            }
            return Some(reply(id, refusal, None));
        };
        let claimed = message.own_version();
        match (&refusal.answers, direction) {
            (Answers::Never, _) => {
                if let Some(id) = message.id().filter(|_| absorbed.taken) {
                    self.facts.unasked(server, absorbed.who, id);
                }
                None
            }
            (Answers::Nobody, _) if !is_awaited(message, *direction, absorbed) => None,
            (Answers::Other(id), _) => {
                self.facts.settle(server, id);
                Some(reply(Some(id), refusal, claimed))
            }
            (Answers::Own | Answers::Nobody, Direction::Requestward) => {
                self.facts.refused(&self.rules, server, message, absorbed.taken);
                let waits = !matches!(message.shape(), Shape::Notification | Shape::Response);
                waits.then(|| reply(message.id(), refusal, claimed))
            }
            (Answers::Own | Answers::Nobody, Direction::Replyward) => {
                if message.shape() == Shape::Request {
                    // The server asked, and hears that it gets no answer.
                    if let Some(id) = message.id().filter(|_| absorbed.taken) {
                        self.facts.unasked(server, absorbed.who, id);
                    }
                    return Some(reply(message.id(), refusal, claimed));
                }
                let id = absorbed.answered.as_ref().and_then(|request| request.request.id()).or(message.id());
                (message.shape() == Shape::Response).then(|| reply(id, refusal, claimed))
            }
        }
    }
}

/// Whether a message holds others that are still to be looked at one by one.
fn is_batch(event: &Event<'_>) -> bool {
    matches!(event, Event::Passing(Passing { message, batched: false, .. }) if message.shape() == Shape::Batch)
}

/// Whether a server that asks waits for an answer under the id of its request,
/// whatever else is wrong with it.
fn is_awaited(message: &Message, direction: Direction, absorbed: &Absorbed) -> bool {
    let has_id = message.id().is_some_and(|id| *id != Id::Null);
    direction == Direction::Replyward && message.shape() == Shape::Request && has_id && absorbed.taken
}

fn reply(id: Option<&Id>, refusal: &Refusing, claimed: Option<&str>) -> Bytes {
    let mut data = serde_json::json!({ "gate": "gateproof", "check": refusal.check.as_str(), "rule": refusal.rule });
    if let Some(needs) = refusal.needs {
        data["needs"] = needs.into();
    }
    if !refusal.supported.is_empty() {
        data["supported"] = refusal.supported.clone().into();
        data["requested"] = claimed.unwrap_or_default().into();
    }
    error_reply(id, refusal.code, &format!("refused by {}: {}", refusal.check.as_str(), refusal.why), Some(&data))
}

/// The listing with what is withheld left out and what is replaced put in.
fn shown(message: &Message, listing: &Listing, proposals: &Proposals) -> Option<Splice> {
    if proposals.withheld.is_empty() && proposals.replaced.is_empty() {
        return None;
    }
    let raw = message.raw();
    let kept = listing.items.iter().enumerate().filter(|(index, _)| !proposals.withheld.contains(index));
    let texts: Vec<_> = kept
        .map(|(index, item)| {
            let replaced = proposals.replaced.iter().find(|(at, _)| *at == index).map(|(_, text)| text.clone());
            replaced.unwrap_or_else(|| String::from_utf8_lossy(&raw[item.node.span.clone()]).into_owned())
        })
        .collect();
    Some(Splice { span: listing.span.clone(), with: format!("[{}]", texts.join(",")) })
}

impl Ruling {
    /// Whether a check stopped or changed something.
    pub fn acted(&self) -> bool {
        self.findings.iter().any(|finding| finding.act != Act::Noted)
    }
}
