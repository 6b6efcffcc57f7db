//! What happened in a session, as far as checks need to know.
//!
//! Facts are taken from every event, whatever the checks make of it, so that no
//! check's verdict depends on another's.

mod asking;
mod calls;
mod consents;
mod continued;
mod flow;
mod hosts;
mod listed;
mod names;
mod pages;
mod pinned;
mod read;
mod rounds;
mod server;
mod sessions;
mod settled;
mod subscriptions;
mod versions;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

pub use asking::Asking;
pub(super) use asking::question;
pub use calls::{Calls, Count, Known};
pub use consents::Consents;
pub(super) use continued::{Given, Sought, Unclear};
pub use continued::{Reading, Readings};
pub use flow::{Carried, Flow};
pub use hosts::{Host, Hosts};
pub use listed::Pass;
pub use names::{NameClaim, NameClaims};
pub use pages::{Page, Pages};
pub use pinned::{PinFacts, Standing};
pub use rounds::Rounds;
pub(super) use rounds::{questions, responses};
pub use server::ServerFacts;
pub use sessions::{Session, Sessions, StateUse, Who};
pub(super) use sessions::{session, sessions};
pub(super) use settled::Settled;
pub use subscriptions::{Heard, Subscriptions};
pub use versions::{Stale, Versions};

use self::pinned::Keeper;
use super::{Event, Listing, Opening, Outward, Owner, Passing, PinStore, Rules, Surroundings, outward};
use crate::digest::Fingerprint;
use crate::protocol::{Direction, Id, Message, ServerName, Shape};

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
    /// The round that it goes on from; an empty one for a new request.
    round: rounds::Round,
}

impl InFlight {
    /// Whether it asks for a stream, which nobody waits for the end of.
    pub(super) fn is_stream(&self) -> bool {
        self.method == "subscriptions/listen"
    }

    /// Whether it asks for a listing from its beginning.
    pub(super) fn is_first_page(&self) -> bool {
        self.request.params().and_then(|params| params.member("cursor")).is_none()
    }
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
    /// Where the page stands in its listing, for the reply to one.
    pub(super) page: Option<Page>,
    /// The event is a request, and is in flight from now on.
    pub(super) taken: bool,
    /// The event is a request under an id that was in flight already.
    pub(super) id_in_use: bool,
    /// For a request that makes the server do or disclose something.
    pub(super) count: Option<Count>,
    /// For a progress notification of the server.
    pub(super) progress: Option<Progress>,
    /// For a notification of the server that belongs to a stream, or should.
    pub(super) heard: Option<Heard>,
    /// The server's request that the client answers.
    pub(super) asked: Option<Asked>,
    /// The event is a request of the server's under an id that it uses already.
    pub(super) asked_again: bool,
    /// Who sent the request that the event is, or belongs to.
    pub(super) who: Who,
    /// A reply to this request came to somebody else.
    pub(super) crossed: Option<InFlight>,
    pub(super) misplaced: bool,
    /// The server opened a session under the id of somebody else's.
    pub(super) reissued: bool,
    /// The event is a call that the user consented to.
    pub(super) consented: bool,
    /// The addresses on the network that the event names, where the policy asks.
    pub(super) outward: Vec<Outward>,
}

/// A tool as the server listed it last.
#[derive(Clone, Debug)]
pub struct KnownTool {
    /// The whole definition's raw text.
    pub definition: Arc<str>,
    /// The definition's fingerprint, once somebody has asked for it.
    pub(super) fingerprint: OnceLock<Option<Fingerprint>>,
    /// The input schema's raw text, where there is one.
    pub input_schema: Option<Arc<str>>,
    /// The output schema's raw text, where there is one.
    pub output_schema: Option<Arc<str>>,
    /// Why two readers may take the definition for different things, if they may.
    pub doubt: Option<&'static str>,
}

/// What is known of a session with all its servers.
#[derive(Debug, Default)]
pub struct Facts {
    servers: BTreeMap<ServerName, ServerFacts>,
    names: NameClaims,
    flow: Flow,
    hosts: Hosts,
}

static NOTHING: std::sync::LazyLock<ServerFacts> = std::sync::LazyLock::new(ServerFacts::default);

impl Facts {
    /// What is known of a server.
    pub fn server(&self, name: &ServerName) -> &ServerFacts {
        self.servers.get(name).unwrap_or(&NOTHING)
    }

    /// Every server of the session.
    pub fn servers(&self) -> impl Iterator<Item = (&ServerName, &ServerFacts)> {
        self.servers.iter()
    }

    /// Which tool names were listed, over all servers.
    pub fn names(&self) -> &NameClaims {
        &self.names
    }

    /// Which values came from where, over all servers.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// What the names of hosts resolved to.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    fn server_mut(&mut self, name: &ServerName) -> &mut ServerFacts {
        if !self.servers.contains_key(name) {
            self.servers.insert(name.clone(), ServerFacts::default());
        }
        // The entry was made above; `entry` would clone the name at every event.
        self.servers.entry(name.clone()).or_default()
    }

    /// Takes in an event before the checks see it. What it approves is kept in
    /// `store`; the names in it are resolved by `surroundings`.
    pub(super) fn absorb(
        &mut self,
        rules: &Rules,
        store: &dyn PinStore,
        surroundings: &dyn Surroundings,
        event: &Event<'_>,
    ) -> Absorbed {
        let mut absorbed = self.take_in(rules, store, event);
        let policy = rules.policy().server(event.server());
        if policy.egress.is_some() {
            let (answered, listing) = (absorbed.answered.as_ref(), absorbed.listing.as_ref());
            let tool = super::check::call(event).and_then(|(_, name)| self.server(event.server()).tools.get(name?));
            absorbed.outward = outward::of(event, outward::Known { policy, answered, listing, tool });
            self.hosts.named(&absorbed.outward, surroundings);
        }
        absorbed
    }

    fn take_in(&mut self, rules: &Rules, store: &dyn PinStore, event: &Event<'_>) -> Absorbed {
        let server = event.server();
        let policy = rules.policy().server(server);
        let who = Who::of(event.via(), &policy.sessions.principals);
        if let Event::Passing(Passing { message, .. }) = event
            && message.shape() == Shape::Batch
        {
            // What it holds is taken in message by message.
            return Absorbed { who, ..Absorbed::default() };
        }
        if rules.follows()
            && let Event::Passing(Passing { direction: Direction::Requestward, message, .. }) = event
        {
            self.flow.asked(rules.policy(), policy, message);
        }
        let facts = self.server_mut(server);
        let keeper = policy.pins.map(|mode| Keeper { store, server, mode, messages: policy.pin_prompt_messages });
        match event {
            Event::Opening(opening) => {
                let Opening { reach, .. } = opening;
                facts.reach = Some(reach.clone());
                facts.approved_reach.get_or_insert_with(|| reach.clone());
                // A new connection is a new id space.
                facts.in_flight.clear();
                facts.calls.reconnected();
                facts.settled.clear();
                facts.progress.clear();
                facts.passes.clear();
                facts.pages.clear();
                facts.negotiated = None;
                facts.asked.clear();
                facts.consents.revoke();
                facts.initialize = None;
                facts.initialized = false;
                facts.stateless = false;
                facts.subscriptions.clear();
                facts.asking.remove(&None);
                if let Some(keeper) = keeper {
                    facts.pinned.opening(keeper, &Owner::of(opening));
                }
            }
            Event::Approval(_) => {
                facts.approved_reach.clone_from(&facts.reach);
                if let Some(keeper) = keeper {
                    facts.pinned.approved(keeper);
                }
            }
            Event::Consent(consent) => facts.consented(consent.tool, consent.arguments),
            Event::Passing(Passing { direction: Direction::Requestward, message, .. }) => {
                return Absorbed { who, ..facts.requested(message, policy, who) };
            }
            Event::Passing(passing @ Passing { direction: Direction::Replyward, .. }) => {
                let absorbed = Absorbed { who, ..facts.replied(passing, policy, who, keeper) };
                if let (Some(listing), Some(answered)) = (&absorbed.listing, &absorbed.answered) {
                    let join = rules.policy().names.join.as_deref();
                    self.names.listed(event.server(), listing, answered.is_first_page(), join);
                }
                if rules.follows() {
                    self.flow.said(rules.policy(), policy, passing.message, absorbed.answered.as_ref());
                }
                return absorbed;
            }
            Event::Head(head) => facts.sessions.answered(head, who),
            Event::Unanswered(unanswered) => {
                if facts.forget(unanswered.id).is_some() {
                    facts.remember(unanswered.id.clone());
                }
            }
            Event::Hop(_) => {}
        }
        Absorbed { who, ..Absorbed::default() }
    }

    /// A message of the client was refused: the server never gets it. `taken`:
    /// an answer would have been waited for.
    pub(super) fn refused(&mut self, rules: &Rules, server: &ServerName, message: &Message, taken: bool) {
        let policy = rules.policy().server(server);
        let facts = self.server_mut(server);
        if server::acts(message) {
            facts.calls.refused(message, policy, taken);
        }
        // A second request under an id that is in flight leaves the first one waiting.
        if let Some(id) = message.id().filter(|_| taken) {
            facts.forget(id);
        }
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
