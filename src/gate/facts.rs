//! What happened in a session, as far as checks need to know.
//!
//! Facts are taken from every event, whatever the checks make of it, so that no
//! check's verdict depends on another's.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use super::{Event, Listing, ListingKind, Opening, Passing, PinMode, Reach, Rules};
use crate::{
    digest::Fingerprint,
    protocol::{Direction, Id, Message, ServerName, Shape, strict::Node},
};

/// A request that the server has not answered yet.
#[derive(Clone, Debug)]
pub struct InFlight {
    /// Its method.
    pub method: String,
    /// The tool, for a call of one by a string.
    pub tool: Option<String>,
    /// The whole request.
    pub request: Message,
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

/// What is known of one server's session.
#[derive(Debug, Default)]
pub struct ServerFacts {
    /// How it was reached.
    pub reach: Option<Reach>,
    /// What the client asked and the server has not answered.
    pub in_flight: HashMap<Id, InFlight>,
    /// Requests that were answered or cancelled: a late reply to one is no attack.
    pub settled: BTreeSet<Id>,
    /// Tools as listed last.
    pub tools: BTreeMap<String, KnownTool>,
    /// Fingerprints as listed last, by kind and name.
    pub latest: BTreeMap<(ListingKind, String), Fingerprint>,
    /// Approved fingerprints.
    pub pins: BTreeMap<(ListingKind, String), Fingerprint>,
    /// Kinds whose first listing is complete: from then on nothing is pinned unasked.
    pub first_seen: BTreeSet<ListingKind>,
    /// A `list_changed` came and the list has not been read again since.
    pub stale: BTreeSet<ListingKind>,
    /// The digest of the `instructions` that the server opened with last.
    pub latest_instructions: Option<Fingerprint>,
    /// Approved instructions; `Some(None)` where none were given at approval.
    pub pinned_instructions: Option<Option<Fingerprint>>,
    /// How far each progress token has come.
    progress: HashMap<Id, f64>,
    /// A `list` of several pages is being read: names seen so far.
    paging: BTreeMap<ListingKind, BTreeSet<String>>,
}

/// What is known of a session with all its servers.
#[derive(Debug, Default)]
pub struct Facts {
    servers: BTreeMap<ServerName, ServerFacts>,
}

static NOTHING: std::sync::LazyLock<ServerFacts> = std::sync::LazyLock::new(ServerFacts::default);

/// Late replies are told from invented ones for this many requests back.
const REMEMBERED: usize = 4096;

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
        let pins = rules.policy().server(event.server()).pins;
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
            }
            Event::Approval(_) => facts.approved(),
            Event::Passing(Passing { direction: Direction::Requestward, message, .. }) => {
                return facts.requested(message);
            }
            Event::Passing(Passing { direction: Direction::Replyward, message, .. }) => {
                return facts.replied(message, pins);
            }
            Event::Head(_) | Event::Hop(_) => {}
        }
        Absorbed::default()
    }

    /// A request was refused: it will never be answered by the server.
    pub(super) fn refused(&mut self, server: &ServerName, id: &Id) {
        self.server_mut(server).forget(id);
    }

    /// A request was answered in the server's place.
    pub(super) fn settle(&mut self, server: &ServerName, id: &Id) {
        let facts = self.server_mut(server);
        facts.forget(id);
        facts.remember(id.clone());
    }
}

impl ServerFacts {
    /// The id of the one request in flight, where there is exactly one.
    pub fn only_in_flight(&self) -> Option<&Id> {
        let mut ids = self.in_flight.keys();
        ids.next().filter(|_| self.in_flight.len() == 1)
    }

    fn remember(&mut self, id: Id) {
        if self.settled.len() >= REMEMBERED {
            self.settled.pop_first();
        }
        self.settled.insert(id);
    }

    /// Takes a request out of flight. Its progress ends with it, unless it
    /// began a task, which goes on after its first reply.
    fn forget(&mut self, id: &Id) -> Option<InFlight> {
        let gone = self.in_flight.remove(id)?;
        let is_task = gone.request.params().is_some_and(|params| params.member("task").is_some());
        if let Some(token) = progress_token(&gone.request).filter(|_| !is_task) {
            self.progress.remove(&token);
        }
        Some(gone)
    }

    /// The host approves what was listed last. A list that is stale stays so:
    /// nobody has seen what it became.
    fn approved(&mut self) {
        self.pins = self.latest.clone();
        self.pinned_instructions = Some(self.latest_instructions);
    }

    fn requested(&mut self, message: &Message) -> Absorbed {
        match (message.shape(), message.id(), message.method()) {
            (Shape::Request, Some(id), Some(method)) => {
                // An id that is in flight stays with its first request; the
                // second is for reply-correlation to object to.
                if self.in_flight.contains_key(id) {
                    return Absorbed { id_in_use: true, ..Absorbed::default() };
                }
                let tool = message.called_tool().map(str::to_owned);
                let request = InFlight { method: method.to_owned(), tool, request: message.clone() };
                self.in_flight.insert(id.clone(), request);
                if let Some(token) = progress_token(message) {
                    self.progress.insert(token, f64::NEG_INFINITY);
                }
                Absorbed { taken: true, ..Absorbed::default() }
            }
            (Shape::Notification, _, Some("notifications/cancelled")) => {
                let id = message.params().and_then(|params| params.member("requestId")).and_then(Id::of);
                if let Some(id) = id.filter(|id| self.in_flight.contains_key(id)) {
                    self.forget(&id);
                    self.remember(id);
                }
                Absorbed::default()
            }
            _ => Absorbed::default(),
        }
    }

    fn replied(&mut self, message: &Message, pins: Option<PinMode>) -> Absorbed {
        match message.shape() {
            Shape::Notification => self.notified(message),
            Shape::Response => {
                let Some(id) = message.id() else { return Absorbed::default() };
                let Some(answered) = self.forget(id) else { return Absorbed::default() };
                self.remember(id.clone());
                let listing =
                    ListingKind::of(&answered.method).and_then(|kind| Listing::read(kind, message, pins.is_some()));
                if let Some(listing) = &listing {
                    let first_page = answered.request.params().and_then(|params| params.member("cursor")).is_none();
                    self.listed(listing, message.raw(), first_page, pins);
                }
                if answered.method == "initialize" {
                    let text = message.result().and_then(|result| result.member("instructions"));
                    self.latest_instructions = text.and_then(Node::as_str).map(|text| Fingerprint::of(text.as_bytes()));
                    if pins == Some(PinMode::FirstUse) {
                        self.pinned_instructions.get_or_insert(self.latest_instructions);
                    }
                }
                Absorbed { answered: Some(answered), listing, ..Absorbed::default() }
            }
            _ => Absorbed::default(),
        }
    }

    fn notified(&mut self, message: &Message) -> Absorbed {
        let mut progress = None;
        match message.method() {
            Some("notifications/tools/list_changed") => {
                self.stale.insert(ListingKind::Tools);
            }
            Some("notifications/resources/list_changed") => {
                self.stale.insert(ListingKind::Resources);
            }
            Some("notifications/prompts/list_changed") => {
                self.stale.insert(ListingKind::Prompts);
            }
            Some("notifications/progress") => progress = Some(self.progressed(message)),
            _ => {}
        }
        Absorbed { progress, ..Absorbed::default() }
    }

    fn progressed(&mut self, message: &Message) -> Progress {
        let params = message.params();
        let token = params.and_then(|params| params.member("progressToken")).and_then(Id::of);
        let Some(last) = token.and_then(|token| self.progress.get_mut(&token)) else { return Progress::Unknown };
        let now = params.and_then(|params| params.member("progress")).and_then(Node::as_number);
        match now.and_then(|text| text.parse::<f64>().ok()) {
            Some(now) if now > *last => {
                *last = now;
                Progress::Fine
            }
            _ => Progress::Stalled,
        }
    }

    fn listed(&mut self, listing: &Listing, raw: &[u8], first_page: bool, pins: Option<PinMode>) {
        let kind = listing.kind;
        if first_page {
            self.paging.insert(kind, BTreeSet::new());
        }
        let text = |node: Option<&Node>| {
            node.and_then(|node| std::str::from_utf8(&raw[node.span.clone()]).ok()).map(Arc::<str>::from)
        };
        for item in &listing.items {
            let Some(name) = &item.name else { continue };
            self.paging.entry(kind).or_default().insert(name.clone());
            if kind == ListingKind::Tools {
                let Some(definition) = text(Some(&item.node)) else { continue };
                let tool = KnownTool {
                    definition,
                    input_schema: text(item.node.member("inputSchema")),
                    output_schema: text(item.node.member("outputSchema")),
                };
                self.tools.insert(name.clone(), tool);
            }
            if let Some(fingerprint) = item.fingerprint {
                let key = (kind, name.clone());
                self.latest.insert(key.clone(), fingerprint);
                if pins == Some(PinMode::FirstUse) && !self.first_seen.contains(&kind) {
                    self.pins.entry(key).or_insert(fingerprint);
                }
            }
        }
        if !listing.more {
            let seen = self.paging.remove(&kind).unwrap_or_default();
            self.latest.retain(|(of, name), _| *of != kind || seen.contains(name));
            if kind == ListingKind::Tools {
                self.tools.retain(|name, _| seen.contains(name));
            }
            self.first_seen.insert(kind);
            self.stale.remove(&kind);
        }
    }
}

fn progress_token(request: &Message) -> Option<Id> {
    request.params()?.member("_meta")?.member("progressToken").and_then(Id::of)
}
