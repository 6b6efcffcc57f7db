//! Gates that say nothing.

use crate::gate::{Decision, Event, Gate, Guarded, Ruling};

/// Opens no server, so that the client's connection is closed.
#[derive(Debug)]
pub(super) struct Dead;

impl Gate for Dead {
    fn decide(&mut self, _: &Event<'_>) -> Ruling {
        swallow()
    }
}

/// Lets servers start and lets nothing pass, either way. On HTTP, where a relay
/// answers whatever came in, the client hears that its message was accepted, and
/// never more.
#[derive(Debug)]
pub(super) struct Hanging;

impl Gate for Hanging {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        match event {
            Event::Opening(_) | Event::Unanswered(_) | Event::Approval(_) | Event::Consent(_) => Ruling::forward(),
            Event::Head(_) | Event::Hop(_) | Event::Passing(_) => swallow(),
        }
    }
}

/// Decides as the reference gate does, and keeps its refusals to itself.
#[derive(Debug)]
pub(super) struct Mute(Guarded);

impl Mute {
    pub(super) fn new(reference: Guarded) -> Self {
        Self(reference)
    }
}

impl Gate for Mute {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        let ruling = self.0.decide(event);
        match ruling.decision {
            Decision::Refuse { .. } => Ruling { decision: swallow().decision, ..ruling },
            Decision::Forward | Decision::Rewrite(_) | Decision::Each => ruling,
        }
    }
}

/// Stops it, and tells nobody.
pub(super) fn swallow() -> Ruling {
    Ruling { decision: Decision::Refuse { reply: None, status: None }, ..Ruling::forward() }
}
