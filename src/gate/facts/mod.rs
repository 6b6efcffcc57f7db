//! What happened in a session, as far as checks need to know.
//!
//! Facts are taken from every event, whatever the checks make of it, so that no
//! check's verdict depends on another's.

mod asking;
mod listed;
mod server;
mod sessions;

use std::{collections::BTreeMap, sync::Arc};

pub use asking::Asking;
pub(super) use asking::question;
pub use server::ServerFacts;
pub use sessions::{Session, Sessions, StateUse, Who};
pub(super) use sessions::{session, sessions};

use super::{Event, Listing, Opening, Passing, Rules};
use crate::protocol::{Direction, Id, Message, ServerName};

/// A request that the server has not answered yet.
#[derive(Clone, Debug)]
pub struct InFlight {
    /// Its method.
    pub method: String,
    /// The tool, for a call of one by a string.
    pub tool: Option<String>,
    /// The whole request.
    pub request: Message,
    /// Who sent it.
    pub who: Who,
}

/// A request of the server's that the client has not answered yet.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its method.
    pub method: String,
    /// The whole request.
    pub request: Message,
    /// Whom it was sent to.
    pub who: Who,
}

/// What a progress notification is to the requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It moves a request on.
    Fine,
    /// No request in flight asked for it.
    Unknown,
    /// It doesn't move on.
    Stalled,
}

/// What facts say of one event.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; no two make a state together")]
pub(super) struct Absorbed {
    /// The request that a response answers.
    pub(super) answered: Option<InFlight>,
    /// The definitions in the reply to a listing.
    pub(super) listing: Option<Listing>,
    /// The event is a request, and is in flight from now on.
    pub(super) taken: bool,
    /// The event is a request under an id that was in flight already.
    pub(super) id_in_use: bool,
    /// For a progress notification of the server.
    pub(super) progress: Option<Progress>,
    /// The server's request that the client answers.
    pub(super) asked: Option<Asked>,
    /// The event is a request of the server's under an id that it uses already.
    pub(super) asked_again: bool,
    /// Who sent the request that the event is, or belongs to.
    pub(super) who: Who,
    /// A reply to this request came to somebody else.
    pub(super) crossed: Option<InFlight>,
    /// The server opened a session under the id of somebody else's.
    pub(super) reissued: bool,
    /// The event is a call that the user consented to.
    pub(super) consented: bool,
}

/// A tool as the server listed it last.
#[derive(Clone, Debug)]
pub struct KnownTool {
    /// The whole definition's raw text.
    pub definition: Arc<str>,
    /// The input schema's raw text, where there is one.
    pub input_schema: Option<Arc<str>>,
    /// The output schema's raw text, where there is one.
    pub output_schema: Option<Arc<str>>,
}

/// What is known of a session with all its servers.
#[derive(Debug, Default)]
pub struct Facts {
    servers: BTreeMap<ServerName, ServerFacts>,
}

static NOTHING: std::sync::LazyLock<ServerFacts> = std::sync::LazyLock::new(ServerFacts::default);

impl Facts {
    /// What is known of a server.
    pub fn server(&self, name: &ServerName) -> &ServerFacts {
        self.servers.get(name).unwrap_or(&NOTHING)
    }

    fn server_mut(&mut self, name: &ServerName) -> &mut ServerFacts {
        if !self.servers.contains_key(name) {
            self.servers.insert(name.clone(), ServerFacts::default());
        }
        // The entry was made above; `entry` would clone the name at every event.
        self.servers.entry(name.clone()).or_default()
    }

    /// Takes in an event before the checks see it.
    pub(super) fn absorb(&mut self, rules: &Rules, event: &Event<'_>) -> Absorbed {
        let policy = rules.policy().server(event.server());
        let who = Who::of(event.via(), &policy.sessions.principals);
        let facts = self.server_mut(event.server());
        match event {
            Event::Opening(Opening { reach, .. }) => {
                facts.reach = Some(reach.clone());
                // A new connection is a new id space; what was approved stays, but
                // a server that was started anew may list other things.
                facts.stale.extend(facts.first_seen.iter().copied());
                facts.in_flight.clear();
                facts.settled.clear();
                facts.progress.clear();
                facts.paging.clear();
                facts.negotiated = None;
                facts.asked.clear();
                facts.consents.clear();
                facts.initialize = None;
                facts.initialized = false;
                facts.asking.remove(&None);
            }
            Event::Approval(_) => facts.approved(),
            Event::Consent(consent) => facts.consented(consent.tool, consent.arguments),
            Event::Passing(Passing { direction: Direction::Requestward, message, .. }) => {
                return Absorbed { who, ..facts.requested(message, who) };
            }
            Event::Passing(passing @ Passing { direction: Direction::Replyward, .. }) => {
                return Absorbed { who, ..facts.replied(passing, policy, who) };
            }
            Event::Head(head) => facts.sessions.answered(head, who),
            Event::Hop(_) => {}
        }
        Absorbed { who, ..Absorbed::default() }
    }

    /// A request was refused: it will never be answered by the server.
    pub(super) fn refused(&mut self, server: &ServerName, id: &Id) {
        self.server_mut(server).forget(id);
    }

    /// A request of the server's was refused: the client will never answer it.
    pub(super) fn unasked(&mut self, server: &ServerName, who: Who, id: &Id) {
        self.server_mut(server).asked.remove(&(who.session, id.clone()));
    }

    /// The names of all tools of all servers, as listed last.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.servers.values().flat_map(|server| server.tools.keys().map(String::as_str))
    }

    /// A request was answered in the server's place.
    pub(super) fn settle(&mut self, server: &ServerName, id: &Id) {
        let facts = self.server_mut(server);
        facts.forget(id);
        facts.remember(id.clone());
    }
}
