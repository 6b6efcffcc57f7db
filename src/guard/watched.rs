//! A gate that is logged, and that closes when it breaks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    Broken, Watch,
    audit::{Log, Session},
};
use crate::{
    gate::{Decision, Event, Gate, Passing, Ruling},
    protocol::{Direction, REFUSED, Shape, error_reply},
};

/// A gate whose rulings are logged before they are carried out, and which
/// refuses everything once it failed.
#[derive(Debug)]
pub struct Watched {
    gate: Box<dyn Gate>,
    watch: Watch,
    log: Option<(Log, Session)>,
}

impl Watched {
    /// `gate` with its session told to `watch`, and to `log`.
    pub fn new(gate: Box<dyn Gate>, watch: Watch, log: Option<(Log, Session)>) -> Self {
        Self { gate, watch, log }
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
        let asked = self.watch.asked(event);
        let gate = &mut self.gate;
        // What the panic left half done is not looked at again.
        let Ok(ruling) = catch_unwind(AssertUnwindSafe(|| gate.decide(event))) else {
            self.watch.break_off(Broken::Panicked);
            return self.closed(event);
        };
        if let Some((log, session)) = &self.log
            && let Err(error) = log.ruling(session, event, asked.as_ref(), &ruling)
        {
            self.watch.break_off(Broken::Unlogged(error.to_string()));
            return self.closed(event);
        }
        self.watch.decided(event, &ruling.decision);
        // The log has the findings; kept here too they would grow for ever.
        Ruling { findings: Vec::new(), shadow: Vec::new(), ..ruling }
    }
}
