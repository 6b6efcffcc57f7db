//! The reference gate with one check gone wrong.

use std::collections::HashMap;

use crate::{
    gate::{Act, CheckId, Decision, Event, Finding, Gate, Guarded, Passing, Ruling, checks},
    protocol::{Direction, Id, REFUSED, ServerName, Shape, error_reply},
};

/// The check sees nothing; `0` doesn't enforce it.
#[derive(Debug)]
pub(super) struct Blind(pub(super) Guarded);

impl Gate for Blind {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        Ruling { shadow: Vec::new(), ..self.0.decide(event) }
    }
}

/// The check says that it acted; `0` doesn't enforce it.
#[derive(Debug)]
pub(super) struct Hollow(pub(super) Guarded);

impl Gate for Hollow {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        let mut ruling = self.0.decide(event);
        ruling.findings.append(&mut ruling.shadow);
        ruling
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    Call,
    Listing,
}

/// Something that the check looks at.
#[derive(Debug)]
struct Hit {
    /// The request whose answer the refusal is; nobody waits without one.
    answers: Option<Id>,
}

/// The check refuses whatever it looks at: calls, their replies, listings, openings.
#[derive(Debug)]
pub(super) struct Zealous {
    reference: Guarded,
    check: CheckId,
    /// The legs in the check's own words.
    leg: &'static str,
    asked: HashMap<(ServerName, Id), Asks>,
}

impl Zealous {
    pub(super) fn new(reference: Guarded, check: CheckId) -> Self {
        let leg = checks::find(check).map_or("", |check| check.docs().leg);
        Self { reference, check, leg, asked: HashMap::new() }
    }

    fn looks_at(&self, leg: &str) -> bool {
        self.leg.contains(leg)
    }

    /// Whether the check looks at this event.
    fn hit(&mut self, event: &Event<'_>) -> Option<Hit> {
        let both = self.looks_at("both");
        let Event::Passing(Passing { server, direction, message, .. }) = event else {
            return (matches!(event, Event::Opening(_)) && self.looks_at("launch")).then_some(Hit { answers: None });
        };
        let id = message.id()?.clone();
        let key = ((*server).clone(), id.clone());
        match (direction, message.shape()) {
            (Direction::Requestward, Shape::Request) => {
                let asks = match message.method()? {
                    "tools/call" => Asks::Call,
                    method if method.ends_with("/list") => Asks::Listing,
                    _ => return None,
                };
                if asks == Asks::Call && (both || self.looks_at("requestward")) {
                    return Some(Hit { answers: Some(id) });
                }
                self.asked.insert(key, asks);
                None
            }
            (Direction::Replyward, Shape::Response) => {
                let leg = match self.asked.remove(&key)? {
                    Asks::Call if both => return Some(Hit { answers: Some(id) }),
                    Asks::Call => "replyward",
                    Asks::Listing => "discovery",
                };
                self.looks_at(leg).then_some(Hit { answers: Some(id) })
            }
            _ => None,
        }
    }
}

impl Gate for Zealous {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        let mut ruling = self.reference.decide(event);
        let Some(hit) = self.hit(event) else { return ruling };
        let why = "it looks at this";
        let words = format!("refused by {}: {why}", self.check);
        let reply = hit.answers.map(|id| error_reply(Some(&id), REFUSED, &words, None));
        ruling.decision = Decision::Refuse { reply, status: None };
        ruling.findings.push(Finding { check: self.check, rule: "zealous", why: why.to_owned(), act: Act::Refused });
        ruling
    }
}
