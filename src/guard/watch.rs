//! What a guard's parts share: who waits for an answer, and whether the gate broke.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::watch;

use crate::{
    gate::{Decision, Event, Passing},
    protocol::{Direction, Id, Message, ServerName, Shape},
};

use super::audit::plain;

/// Why a session had to be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The gate itself failed: a bug.
    #[error("the gate failed while it decided; this is a bug of gateproof")]
    Panicked,
    /// The log can't be written. Says why.
    #[error("the audit log can't be written ({0}); free the disk or name another file")]
    Unlogged(String),
}

/// How many calls without a consent are remembered until somebody asks about them.
const UNCONSENTED: usize = 256;

/// A request of the client's that was forwarded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) method: Option<String>,
    pub(super) tool: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    /// By server, since each has its own ids.
    waiting: BTreeMap<(ServerName, Id), Asked>,
    /// Requests that were refused for want of a consent, and nothing else.
    unconsented: BTreeSet<(ServerName, Id)>,
    broken: Option<Broken>,
}

/// A view of one session that its gate keeps up to date.
#[derive(Clone, Debug)]
pub struct Watch(watch::Sender<State>);

impl Default for Watch {
    fn default() -> Self {
        Self(watch::Sender::new(State::default()))
    }
}

impl Watch {
    /// The requests that wait for an answer, with whose it is to give.
    pub fn waiting(&self) -> Vec<(ServerName, Id)> {
        self.0.borrow().waiting.keys().cloned().collect()
    }

    /// Why the session has to be closed, if it has to.
    pub fn broken(&self) -> Option<Broken> {
        self.0.borrow().broken.clone()
    }

    /// Resolves once the gate broke.
    pub async fn breaks(&self) {
        // The sender is held by `self`: waiting can't fail.
        let _ = self.0.subscribe().wait_for(|state| state.broken.is_some()).await;
    }

    /// Resolves once nobody waits any more, or the gate broke.
    pub async fn settled(&self) {
        let done = |state: &State| state.waiting.is_empty() || state.broken.is_some();
        let _ = self.0.subscribe().wait_for(done).await;
    }

    /// The session has to be closed; the first reason counts.
    pub fn break_off(&self, why: Broken) {
        self.0.send_modify(|state| {
            state.broken.get_or_insert(why);
        });
    }

    /// A call was refused for want of a consent alone, where somebody asks for it.
    pub(super) fn lacks_consent(&self, server: &ServerName, id: &Id) {
        self.0.send_modify(|state| {
            // Those of a batch are never asked about.
            if state.unconsented.len() >= UNCONSENTED {
                state.unconsented.pop_first();
            }
            state.unconsented.insert((server.clone(), id.clone()));
        });
    }

    /// Whether a call was, which is said once.
    pub(super) fn lacked_consent(&self, server: &ServerName, id: &Id) -> bool {
        let key = (server.clone(), id.clone());
        self.0.send_if_modified(|state| state.unconsented.remove(&key))
    }

    /// What a message answers.
    pub(super) fn asked(&self, event: &Event<'_>) -> Option<Asked> {
        let Event::Passing(Passing { direction: Direction::Replyward, message, .. }) = event else { return None };
        let id = message.id().filter(|_| message.shape() == Shape::Response)?;
        self.0.borrow().waiting.get(&(event.server().clone(), id.clone())).cloned()
    }

    /// A request came in that nobody will answer but the guard.
    pub(super) fn came(&self, event: &Event<'_>) {
        let Event::Passing(Passing { direction: Direction::Requestward, message, .. }) = event else { return };
        if let Some(id) = message.id().filter(|_| message.shape() == Shape::Request) {
            self.waits(event.server(), id);
        }
    }

    /// Somebody waits for an answer under this id.
    pub(super) fn waits(&self, server: &ServerName, id: &Id) {
        self.0.send_modify(|state| {
            state.waiting.entry((server.clone(), id.clone())).or_default();
        });
    }

    /// An event was decided over.
    pub(super) fn decided(&self, event: &Event<'_>, decision: &Decision) {
        if let Event::Unanswered(unanswered) = event {
            self.over(event.server(), unanswered.id);
        }
        let Event::Passing(Passing { server, direction, message, .. }) = event else { return };
        let refused = matches!(decision, Decision::Refuse { .. });
        match (direction, message.shape()) {
            (Direction::Requestward, Shape::Request) if !refused => {
                if let Some(id) = message.id() {
                    let asked = Asked { method: message.method().map(plain), tool: message.called_tool().map(plain) };
                    self.0.send_modify(|state| {
                        state.waiting.insert(((*server).clone(), id.clone()), asked);
                    });
                }
            }
            // A server need not answer what was cancelled.
            (Direction::Requestward, Shape::Notification) if message.method() == Some("notifications/cancelled") => {
                if let Some(id) = message.params().and_then(|params| params.member("requestId")).and_then(Id::of) {
                    self.over(server, &id);
                }
            }
            (Direction::Replyward, Shape::Request) => {}
            (Direction::Replyward, shape) => match decision {
                // It may answer another request than the one that it came for.
                Decision::Refuse { reply: Some(reply), .. } => {
                    if let Some(id) = Message::new(reply.clone()).id() {
                        self.over(server, id);
                    }
                }
                Decision::Refuse { reply: None, .. } => {}
                _ => {
                    if let Some(id) = message.id().filter(|_| shape == Shape::Response) {
                        self.over(server, id);
                    }
                }
            },
            _ => {}
        }
    }

    /// Nobody waits for an answer under this id any more.
    pub(super) fn over(&self, server: &ServerName, id: &Id) {
        self.0.send_if_modified(|state| state.waiting.remove(&(server.clone(), id.clone())).is_some());
    }
}
