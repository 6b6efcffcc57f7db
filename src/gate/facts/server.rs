//! The facts of one server's session.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    super::{Listing, ListingKind, PinMode, Reach, ServerPolicy, check},
    Absorbed, Asked, Calls, Consents, InFlight, KnownTool, Pages, Progress, Readings,
};
use crate::{
    digest::Fingerprint,
    protocol::{
        Id, Message, Shape,
        strict::{Kind, Node},
    },
};

/// Late replies are told from invented ones for this many requests back.
const REMEMBERED: usize = 4096;

/// What is known of one server's session.
#[derive(Debug, Default)]
pub struct ServerFacts {
    /// How it was reached last, or was to be.
    pub reach: Option<Reach>,
    /// How it was reached first, or when the host approved last: what a launch is
    /// held against.
    pub approved_reach: Option<Reach>,
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
    /// What the server asked and the client has not answered.
    pub asked: HashMap<Id, Asked>,
    /// Calls that the user consented to and that have not been made.
    pub consents: Consents,
    /// Which calls were made.
    pub calls: Calls,
    /// Which documents are being read.
    pub readings: Readings,
    /// How far each progress token has come.
    pub(super) progress: HashMap<Id, f64>,
    /// How the pages of the latest listing hang together.
    pub pages: BTreeMap<ListingKind, Pages>,
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
        self.calls.forget(id);
        let is_task = gone.request.params().is_some_and(|params| params.member("task").is_some());
        if let Some(token) = progress_token(&gone.request).filter(|_| !is_task) {
            self.progress.remove(&token);
        }
        Some(gone)
    }

    /// The host approves what was listed last. A list that is stale stays so:
    /// nobody has seen what it became.
    pub(super) fn approved(&mut self) {
        self.approved_reach.clone_from(&self.reach);
        self.pins = self.latest.clone();
        self.pinned_instructions = Some(self.latest_instructions);
    }

    pub(super) fn requested(&mut self, message: &Message, policy: &ServerPolicy) -> Absorbed {
        let id_in_use =
            message.shape() == Shape::Request && message.id().is_some_and(|id| self.in_flight.contains_key(id));
        let taken = message.shape() == Shape::Request && message.id().is_some() && !id_in_use;
        let count = acts(message).then(|| self.calls.requested(message, policy, taken));
        match (message.shape(), message.id(), message.method()) {
            (Shape::Request, Some(id), Some(method)) => {
                // An id that is in flight stays with its first request; the
                // second is for reply-correlation to object to.
                if id_in_use {
                    return Absorbed { id_in_use, count, ..Absorbed::default() };
                }
                let tool = message.called_tool().map(str::to_owned);
                if method == "initialize" {
                    self.initialize = Some(message.clone());
                }
                let consented = self.consents.take(message, &self.tools);
                let request = InFlight { method: method.to_owned(), tool, request: message.clone() };
                self.in_flight.insert(id.clone(), request);
                if let Some(token) = progress_token(message) {
                    self.progress.insert(token, f64::NEG_INFINITY);
                }
                Absorbed { taken, consented, count, ..Absorbed::default() }
            }
            (Shape::Notification, _, Some("notifications/cancelled")) => {
                let id = message.params().and_then(|params| params.member("requestId")).and_then(Id::of);
                if let Some(id) = id.filter(|id| self.in_flight.contains_key(id)) {
                    self.forget(&id);
                    self.remember(id);
                }
                Absorbed::default()
            }
            (Shape::Response, Some(id), _) => Absorbed { asked: self.asked.remove(id), ..Absorbed::default() },
            _ => Absorbed { count, ..Absorbed::default() },
        }
    }

    /// The user consents to one call.
    pub(super) fn consented(&mut self, tool: &str, arguments: &str) {
        self.consents.give(tool, arguments, &self.tools);
    }

    pub(super) fn replied(&mut self, message: &Message, policy: &ServerPolicy) -> Absorbed {
        let pins = policy.pins;
        match message.shape() {
            Shape::Notification => self.notified(message),
            Shape::Request => {
                if let (Some(id), Some(method)) = (message.id(), message.method()) {
                    let asked = Asked { method: method.to_owned(), request: message.clone() };
                    self.asked.entry(id.clone()).or_insert(asked);
                }
                Absorbed::default()
            }
            Shape::Response => {
                let Some(id) = message.id() else { return Absorbed::default() };
                self.calls.answered(id, check::failed(message));
                let Some(answered) = self.forget(id) else { return Absorbed::default() };
                self.remember(id.clone());
                let kind = ListingKind::of(&answered.method);
                let listing = kind.and_then(|kind| Listing::read(kind, message, pins.is_some()));
                let mut page = None;
                if let Some((kind, result)) = kind.zip(message.result()) {
                    let cursor = answered.request.params().and_then(|params| params.member("cursor"));
                    let cursor = cursor.filter(|cursor| !matches!(cursor.kind, Kind::Null));
                    page = Some(self.pages.entry(kind).or_default().turned(cursor, result.member("nextCursor")));
                    if let Some(listing) = &listing {
                        self.listed(listing, message.raw(), cursor.is_none(), policy);
                    }
                }
                let tool = answered.tool.as_deref().and_then(|tool| policy.tools.get(tool));
                if let Some(paging) = tool.and_then(|tool| tool.pages.as_ref()) {
                    self.readings.answered(&answered.request, message, paging);
                }
                if answered.method == "initialize" && message.result().is_some() {
                    self.opened(message, policy);
                }
                Absorbed { answered: Some(answered), listing, page, ..Absorbed::default() }
            }
            _ => Absorbed::default(),
        }
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
                self.consents.revoke();
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

/// Whether a message makes the server do or disclose something.
pub(super) fn acts(message: &Message) -> bool {
    message.is_call() && message.method().is_some_and(|method| check::ACTING.contains(&method))
}

fn progress_token(request: &Message) -> Option<Id> {
    request.params()?.member("_meta")?.member("progressToken").and_then(Id::of)
}
