//! A gate that is logged, and that closes when it breaks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    Approvals, ApprovalsError, Broken, Watch,
    audit::{Log, Session},
    consent::Wanted,
};
use crate::{
    gate::{Consent, Decision, Event, Gate, Passing, Ruling},
    protocol::{Direction, Message, REFUSED, Shape, Splice, apply_splices, error_reply},
};

/// A gate whose rulings are logged before they are carried out, and which
/// refuses everything once it failed.
#[derive(Debug)]
pub struct Watched {
    gate: Box<dyn Gate>,
    watch: Watch,
    log: Option<(Log, Session)>,
    consents: Consents,
}

/// Where consents come from, where the policy asks for them.
#[derive(Clone, Debug, Default)]
pub struct Consents {
    /// A file that somebody writes into.
    pub file: Option<Approvals>,
    /// How somebody consents to a call in the file, up to its digest.
    pub how: String,
    /// Somebody is asked about what the file doesn't hold.
    pub asked: bool,
}

impl Watched {
    /// `gate` with its session told to `watch`, and to `log`.
    pub fn new(gate: Box<dyn Gate>, watch: Watch, log: Option<(Log, Session)>) -> Self {
        Self { gate, watch, log, consents: Consents::default() }
    }

    /// The same gate with consents from there.
    #[must_use]
    pub fn with_consents(mut self, consents: Consents) -> Self {
        self.consents = consents;
        self
    }

    /// What becomes of an event in a session that has to be closed. Whoever
    /// waits on a line gets an answer from the one who closes it, once.
    fn closed(&self, event: &Event<'_>) -> Ruling {
        self.watch.came(event);
        let reply = match event {
            Event::Passing(Passing { direction, message, via: Some(_), .. }) => {
                let awaited = match direction {
                    Direction::Requestward => Shape::Request,
                    Direction::Replyward => Shape::Response,
                };
                (message.shape() == awaited).then(|| error_reply(message.id(), REFUSED, super::line::CLOSED, None))
            }
            _ => None,
        };
        let decision = Decision::Refuse { reply, status: Some(500) };
        Ruling { decision, findings: Vec::new(), shadow: Vec::new() }
    }
}

impl Gate for Watched {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        if self.watch.broken().is_some() {
            return self.closed(event);
        }
        let Some(mut ruling) = self.ruled(event) else { return self.closed(event) };
        if let Some(call) = Wanted::refused(event, &ruling) {
            match self.consents.file.as_ref().map(|file| file.take(call)) {
                Some(Ok(true)) => {
                    let Wanted { server, tool, arguments } = call;
                    let consent = Event::Consent(Consent { server, tool, arguments });
                    // The same call again, which its sender never made twice.
                    if self.logged(&consent).is_none() {
                        return self.closed(event);
                    }
                    let Some(again) = self.ruled(event) else { return self.closed(event) };
                    ruling = again;
                }
                Some(found) => self.say_how(&mut ruling, call, found.err()),
                None => {}
            }
            if self.consents.asked
                && matches!(ruling.decision, Decision::Refuse { .. })
                && let Event::Passing(Passing { server, message, .. }) = event
                && let Some(id) = message.id()
            {
                self.watch.lacks_consent(server, id);
            }
        }
        if self.log(event, &ruling).is_none() {
            return self.closed(event);
        }
        self.watch.decided(event, &ruling.decision);
        // The log has the findings; kept here too they would grow for ever.
        Ruling { findings: Vec::new(), shadow: Vec::new(), ..ruling }
    }
}

impl Watched {
    /// What the gate says; nothing once it failed.
    fn ruled(&mut self, event: &Event<'_>) -> Option<Ruling> {
        let gate = &mut self.gate;
        // What the panic left half done is not looked at again.
        let ruling = catch_unwind(AssertUnwindSafe(|| gate.decide(event))).ok();
        if ruling.is_none() {
            self.watch.break_off(Broken::Panicked);
        }
        ruling
    }

    /// Writes a ruling down; nothing where that fails.
    fn log(&self, event: &Event<'_>, ruling: &Ruling) -> Option<()> {
        let Some((log, session)) = &self.log else { return Some(()) };
        let written = log.ruling(session, event, self.watch.asked(event).as_ref(), ruling);
        written.map_err(|error| self.watch.break_off(Broken::Unlogged(error.to_string()))).ok()
    }

    fn logged(&mut self, event: &Event<'_>) -> Option<()> {
        let ruling = self.ruled(event)?;
        self.log(event, &ruling)
    }

    /// Says in a refusal how it can be taken back.
    fn say_how(&self, ruling: &mut Ruling, call: Wanted<'_>, failed: Option<ApprovalsError>) {
        let Some(file) = &self.consents.file else { return };
        let asked = failed.map_or_else(|| file.ask(call), Err);
        let how = match asked {
            Ok(digest) => format!("to allow this one call, run: {} {}", self.consents.how, digest.short()),
            Err(error) => format!("nobody can be asked: {error}"),
        };
        let Decision::Refuse { reply: Some(reply), .. } = &mut ruling.decision else { return };
        let message = Message::new(reply.clone());
        if let Some(node) = message.error().and_then(|error| error.member("message"))
            && let Some(said) = node.as_str()
        {
            let with = serde_json::Value::from(format!("{said}; {how}")).to_string();
            *reply = apply_splices(message.raw(), &[Splice { span: node.span.clone(), with }]);
        }
    }
}
