//! One gate instance, shared by every server's relay in a session.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use crate::{
    gate::{self, Approval, Consent, Decision, Event, Gate, Opening},
    protocol::ServerName,
    transcript::{Act, Trail, TrailEntry},
};

/// A gate and its own account of what it did.
#[derive(Clone, Debug)]
pub struct SharedGate(Arc<Mutex<Inner>>);

/// Makes a gate as it is at its start.
type Make = Box<dyn Fn() -> Box<dyn Gate> + Send>;

struct Inner {
    gate: Box<dyn Gate>,
    make: Make,
    trail: Trail,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("gate", &self.gate).field("trail", &self.trail).finish_non_exhaustive()
    }
}

impl SharedGate {
    /// Shares the gate that `make` makes.
    pub fn new(make: impl Fn() -> Box<dyn Gate> + Send + 'static) -> Self {
        let (gate, trail) = (make(), Trail::default());
        Self(Arc::new(Mutex::new(Inner { gate, make: Box::new(make), trail })))
    }

    /// Puts a new gate in the place of this one, which knows only what it stored.
    pub fn restart(&self) {
        let mut inner = self.lock();
        inner.gate = (inner.make)();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the gate, and keeps what it says of itself.
    pub fn decide(&self, event: &Event<'_>) -> Decision {
        let mut inner = self.lock();
        let ruling = inner.gate.decide(event);
        let said = ruling.findings.into_iter().map(|finding| (true, finding));
        let unsaid = ruling.shadow.into_iter().filter(|finding| finding.act != gate::Act::Noted);
        for (enforced, finding) in said.chain(unsaid.map(|finding| (false, finding))) {
            inner.trail.0.push(TrailEntry {
                server: event.server().clone(),
                direction: event.direction(),
                check: finding.check.as_str().to_owned(),
                rule: finding.rule.to_owned(),
                why: finding.why,
                act: match finding.act {
                    _ if !enforced => Act::Would,
                    gate::Act::Refused => Act::Refused,
                    gate::Act::Withheld => Act::Withheld,
                    gate::Act::Rewrote => Act::Rewrote,
                    gate::Act::Noted => Act::Noted,
                },
            });
        }
        ruling.decision
    }

    /// Asks before a server is started or reached; gives the environment to use.
    ///
    /// # Errors
    /// With the gate's words, where the server must not be started.
    pub fn open(&self, opening: &Opening) -> Result<BTreeMap<String, String>, Option<Bytes>> {
        match self.decide(&Event::Opening(opening)) {
            Decision::Forward => Ok(opening.env.clone()),
            Decision::Rewrite(rewrite) => {
                let mut env = opening.env.clone();
                for (name, value) in rewrite.env {
                    match value {
                        Some(value) => env.insert(name, value),
                        None => env.remove(&name),
                    };
                }
                Ok(env)
            }
            Decision::Refuse { reply, .. } => Err(reply),
            // An opening is no batch.
            Decision::Each => Err(None),
        }
    }

    /// The host approves what the server listed last.
    pub fn approve(&self, server: &ServerName) {
        self.decide(&Event::Approval(Approval { server }));
    }

    /// The user consents to one call.
    pub fn consent(&self, server: &ServerName, tool: &str, arguments: &str) {
        self.decide(&Event::Consent(Consent { server, tool, arguments }));
    }

    /// The gate's account so far.
    pub fn trail(&self) -> Trail {
        self.lock().trail.clone()
    }
}
