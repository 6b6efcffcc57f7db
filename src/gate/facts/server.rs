//! The facts of one server's session.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    super::{Listing, ListingKind, Passing, PinMode, Reach, ServerPolicy, check},
    Absorbed, Asked, Asking, InFlight, KnownTool, Progress, Sessions, Who,
};
use crate::{
    digest::{Fingerprint, fingerprint},
    protocol::{
        Id, Message, Shape,
        strict::{self, Node},
    },
};

/// Late replies are told from invented ones for this many requests back.
const REMEMBERED: usize = 4096;

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
    /// How many definitions the latest listing had so far, over its pages.
    pub listed_so_far: BTreeMap<ListingKind, usize>,
    /// The protocol version that the session was opened in, where the policy allows it.
    pub negotiated: Option<String>,
    /// The client's `initialize`, with what it declared.
    pub initialize: Option<Message>,
    /// The client said that it is ready.
    pub initialized: bool,
    /// What the server asked and the client has not answered, by session and id:
    /// each session has ids of its own.
    pub asked: HashMap<(Option<Fingerprint>, Id), Asked>,
    /// What the server asked for and said so far, by session.
    pub asking: BTreeMap<Option<Fingerprint>, Asking>,
    /// The sessions that it opened.
    pub sessions: Sessions,
    /// Calls that the user consented to and that have not been made.
    pub(super) consents: Vec<(String, Fingerprint)>,
    /// How far each progress token has come.
    pub(super) progress: HashMap<Id, f64>,
    /// A `list` of several pages is being read: names seen so far.
    pub(super) paging: BTreeMap<ListingKind, BTreeSet<String>>,
}

impl ServerFacts {
    /// The id of the one request in flight, where there is exactly one.
    pub fn only_in_flight(&self) -> Option<&Id> {
        let mut ids = self.in_flight.keys();
        ids.next().filter(|_| self.in_flight.len() == 1)
    }

    pub(super) fn remember(&mut self, id: Id) {
        if self.settled.len() >= REMEMBERED {
            self.settled.pop_first();
        }
        self.settled.insert(id);
    }

    /// Takes a request out of flight. Its progress ends with it, unless it
    /// began a task, which goes on after its first reply.
    pub(super) fn forget(&mut self, id: &Id) -> Option<InFlight> {
        let gone = self.in_flight.remove(id)?;
        let is_task = gone.request.params().is_some_and(|params| params.member("task").is_some());
        if let Some(token) = progress_token(&gone.request).filter(|_| !is_task) {
            self.progress.remove(&token);
        }
        Some(gone)
    }

    /// The host approves what was listed last. A list that is stale stays so:
    /// nobody has seen what it became.
    pub(super) fn approved(&mut self) {
        self.pins = self.latest.clone();
        self.pinned_instructions = Some(self.latest_instructions);
    }

    /// What the server asked for and said so far, in a session.
    pub(super) fn asking(&mut self, who: Who) -> &mut Asking {
        if self.asking.len() >= REMEMBERED && !self.asking.contains_key(&who.session) {
            self.asking.pop_first();
        }
        self.asking.entry(who.session).or_default()
    }

    pub(super) fn requested(&mut self, message: &Message, who: Who) -> Absorbed {
        if message.is_call() {
            self.asking(who).spoke(message);
        }
        match (message.shape(), message.id(), message.method()) {
            (Shape::Request, Some(id), Some(method)) => {
                // An id that is in flight stays with its first request; the
                // second is for reply-correlation to object to.
                if self.in_flight.contains_key(id) {
                    return Absorbed { id_in_use: true, ..Absorbed::default() };
                }
                let tool = message.called_tool().map(str::to_owned);
                if method == "initialize" {
                    self.initialize = Some(message.clone());
                    self.initialized = false;
                }
                let consented = self.take_consent(message);
                let request = InFlight { method: method.to_owned(), tool, request: message.clone(), who };
                self.in_flight.insert(id.clone(), request);
                if let Some(token) = progress_token(message) {
                    self.progress.insert(token, f64::NEG_INFINITY);
                }
                Absorbed { taken: true, consented, ..Absorbed::default() }
            }
            (Shape::Notification, _, Some("notifications/cancelled")) => {
                let id = message.params().and_then(|params| params.member("requestId")).and_then(Id::of);
                if let Some(id) = id.filter(|id| self.in_flight.contains_key(id)) {
                    self.forget(&id);
                    self.remember(id);
                }
                Absorbed::default()
            }
            (Shape::Notification, _, Some("notifications/initialized")) => {
                self.initialized = true;
                self.sessions.ready(who);
                Absorbed::default()
            }
            (Shape::Response, Some(id), _) => {
                let asked = self.settled_by(who, id);
                if let Some(asked) = &asked {
                    self.asking(who).answered(&asked.request, message);
                }
                Absorbed { asked, ..Absorbed::default() }
            }
            _ => Absorbed::default(),
        }
    }

    /// The user consents to one call.
    pub(super) fn consented(&mut self, tool: &str, arguments: &str) {
        // What can't be told apart by a reader is no consent to anything.
        if let Ok(document) = strict::parse(arguments.as_bytes()) {
            let fingerprint = fingerprint(arguments.as_bytes(), &document.root);
            self.consents.push((tool.to_owned(), fingerprint));
        }
    }

    /// Uses up the consent for a call, where there is one.
    fn take_consent(&mut self, message: &Message) -> bool {
        if self.consents.is_empty() {
            return false;
        }
        let Some(tool) = message.called_tool() else { return false };
        let arguments = message.params().and_then(|params| params.member("arguments"));
        let given = match arguments {
            Some(node) => fingerprint(message.raw(), node),
            None => strict::parse(b"{}").map_or(Fingerprint::of(b""), |document| fingerprint(b"{}", &document.root)),
        };
        let found = self.consents.iter().position(|(name, wanted)| name == tool && *wanted == given);
        found.map(|index| self.consents.remove(index)).is_some()
    }

    pub(super) fn replied(&mut self, passing: &Passing<'_>, policy: &ServerPolicy, who: Who) -> Absorbed {
        let (message, pins) = (passing.message, policy.pins);
        match message.shape() {
            Shape::Notification => {
                self.asking(who).notified(message);
                self.notified(message)
            }
            Shape::Request => self.asks(message, who),
            Shape::Response => {
                let Some(id) = message.id() else { return Absorbed::default() };
                // Whoever asked still waits: this came to another.
                if passing.via.is_some()
                    && let Some(request) = self.in_flight.get(id).filter(|request| request.who != who)
                {
                    return Absorbed { crossed: Some(request.clone()), ..Absorbed::default() };
                }
                let Some(answered) = self.forget(id) else { return Absorbed::default() };
                self.remember(id.clone());
                let listing =
                    ListingKind::of(&answered.method).and_then(|kind| Listing::read(kind, message, pins.is_some()));
                if let Some(listing) = &listing {
                    let first_page = answered.request.params().and_then(|params| params.member("cursor")).is_none();
                    self.listed(listing, message.raw(), first_page, pins);
                }
                let mut reissued = false;
                if let Some(result) = message.result() {
                    if answered.method == "initialize" {
                        reissued = self.sessions.opened(passing, &answered.request, answered.who);
                        self.opened(message, policy);
                    }
                    self.sessions.handed_out(result, message.raw(), &answered.request, answered.who);
                }
                Absorbed { answered: Some(answered), listing, reissued, ..Absorbed::default() }
            }
            _ => Absorbed::default(),
        }
    }

    /// The server's request that the client answers. What was asked before the
    /// session had an id is answered under that id.
    fn settled_by(&mut self, who: Who, id: &Id) -> Option<Asked> {
        let asked = |session| (session, id.clone());
        self.asked.remove(&asked(who.session)).or_else(|| {
            let early = self.asked.get(&asked(None)).is_some_and(|early| early.who.principal == who.principal);
            early.then(|| self.asked.remove(&asked(None))).flatten()
        })
    }

    /// The server asks. An id that waits for an answer stays with its first request.
    fn asks(&mut self, message: &Message, who: Who) -> Absorbed {
        self.asking(who).asked(message);
        let (Some(id), Some(method)) = (message.id(), message.method()) else { return Absorbed::default() };
        let key = (who.session, id.clone());
        if self.asked.contains_key(&key) {
            return Absorbed { asked_again: true, ..Absorbed::default() };
        }
        self.asked.insert(key, Asked { method: method.to_owned(), request: message.clone(), who });
        Absorbed { taken: true, ..Absorbed::default() }
    }

    fn opened(&mut self, message: &Message, policy: &ServerPolicy) {
        let text = message.result().and_then(|result| result.member("instructions"));
        self.latest_instructions = text.and_then(Node::as_str).map(|text| Fingerprint::of(text.as_bytes()));
        if policy.pins == Some(PinMode::FirstUse) {
            self.pinned_instructions.get_or_insert(self.latest_instructions);
        }
        // What the policy doesn't allow opened nothing, whether or not a check is
        // there to say so.
        if let Some(version) = check::opened_version(message).filter(|version| policy.wire.allows_version(version)) {
            self.negotiated = Some(version.to_owned());
        }
    }

    fn notified(&mut self, message: &Message) -> Absorbed {
        let mut progress = None;
        match message.method() {
            Some("notifications/tools/list_changed") => {
                self.stale.insert(ListingKind::Tools);
                // Consent was given to the tool as it was.
                self.consents.clear();
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
}

fn progress_token(request: &Message) -> Option<Id> {
    request.params()?.member("_meta")?.member("progressToken").and_then(Id::of)
}
