//! The facts of one server's session.

use std::collections::{BTreeMap, HashMap};

use super::{
    super::{Listing, ListingKind, Passing, Reach, ServerPolicy, Verb, Via, check},
    Absorbed, Asked, Asking, Calls, Consents, Heard, InFlight, KnownTool, Pages, Pass, PinFacts, Progress, Readings,
    Rounds, Sessions, Settled, Subscriptions, Versions, Who,
    consents::listed_as,
    pinned::Keeper,
    rounds::Round,
};
use crate::{
    digest::Fingerprint,
    protocol::{
        Era, Id, Message, Shape, meta,
        strict::{Kind, Node},
    },
};

/// How many sessions' askings are remembered.
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
    pub settled: Settled,
    /// Tools as listed last.
    pub tools: BTreeMap<String, KnownTool>,
    /// What is approved of it, where the policy pins.
    pub pinned: PinFacts,
    /// Listings that are being read, or were read last.
    pub passes: BTreeMap<ListingKind, Pass>,
    /// How many definitions the latest listing had so far, over its pages.
    pub listed_so_far: BTreeMap<ListingKind, usize>,
    /// The protocol version that the session was opened in, where the policy allows it.
    pub negotiated: Option<String>,
    /// The client's `initialize`, with what it declared.
    pub initialize: Option<Message>,
    /// The client said that it is ready.
    pub initialized: bool,
    /// The client asked something in the stateless era on this connection.
    pub stateless: bool,
    /// What the client listens to.
    pub subscriptions: Subscriptions,
    /// Requests that wait for their next round.
    pub rounds: Rounds,
    /// What the server asked and the client has not answered, by session and id:
    /// each session has ids of its own.
    pub asked: HashMap<(Option<Fingerprint>, Id), Asked>,
    /// What the server asked for and said so far, by session.
    pub asking: BTreeMap<Option<Fingerprint>, Asking>,
    /// The sessions that it opened.
    pub sessions: Sessions,
    /// Calls that the user consented to and that have not been made.
    pub consents: Consents,
    /// Which calls were made.
    pub calls: Calls,
    /// Which documents are being read.
    pub readings: Readings,
    /// Which version opened, listed and answered.
    pub versions: Versions,
    /// How far each progress token has come.
    pub(super) progress: HashMap<Id, f64>,
    /// How the pages of the latest listing hang together.
    pub pages: BTreeMap<ListingKind, Pages>,
}

/// Whether what comes in on a request comes unasked: on the stream of a GET, unless
/// that goes on with a response that broke off.
fn is_unasked(via: Via<'_>) -> bool {
    via.verb == Verb::Get && !via.headers.iter().any(|(name, _)| name == "last-event-id")
}

impl ServerFacts {
    /// The id of the one request in flight, where there is exactly one: a stream that
    /// was asked for is not waited for.
    pub fn only_in_flight(&self) -> Option<&Id> {
        let mut ids = self.in_flight.iter().filter(|(_, request)| !request.is_stream()).map(|(id, _)| id);
        ids.next().filter(|_| ids.next().is_none())
    }

    pub(super) fn remember(&mut self, id: Id) {
        self.settled.insert(id);
    }

    /// Takes a request out of flight. Its progress ends with it, unless it
    /// began a task, which goes on after its first reply.
    pub(super) fn forget(&mut self, id: &Id) -> Option<InFlight> {
        let gone = self.in_flight.remove(id)?;
        self.subscriptions.over(id);
        self.calls.forget(id);
        let is_task = gone.request.params().is_some_and(|params| params.member("task").is_some());
        if let Some(token) = progress_token(&gone.request).filter(|_| !is_task) {
            self.progress.remove(&token);
        }
        Some(gone)
    }

    /// What the server asked for and said so far, in a session.
    pub(super) fn asking(&mut self, who: Who) -> &mut Asking {
        if self.asking.len() >= REMEMBERED && !self.asking.contains_key(&who.seat()) {
            self.asking.pop_first();
        }
        self.asking.entry(who.seat()).or_default()
    }

    pub(super) fn requested(&mut self, message: &Message, policy: &ServerPolicy, who: Who) -> Absorbed {
        self.stateless |= message.is_stateless();
        let round = self.continued(message, who);
        if message.is_call() && round.is_none() {
            self.asking(who).spoke(message);
        }
        let id_in_use =
            message.shape() == Shape::Request && message.id().is_some_and(|id| self.in_flight.contains_key(id));
        let taken = message.shape() == Shape::Request && message.id().is_some() && !id_in_use;
        let goes_on = round.is_some();
        let count = acts(message).then(|| self.calls.requested(message, policy, taken, goes_on));
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
                    self.initialized = false;
                }
                if method == "subscriptions/listen" {
                    self.subscriptions.asked(id, message, who);
                }
                let mut round = round.unwrap_or_default();
                round.consented &= round.definition == listed_as(&self.tools, tool.as_deref().unwrap_or_default());
                round.consented |= self.consents.take(message, &self.tools);
                round.definition = listed_as(&self.tools, tool.as_deref().unwrap_or_default());
                let consented = round.consented;
                let request = InFlight { method: method.to_owned(), tool, request: message.clone(), who, round };
                self.in_flight.insert(id.clone(), request);
                if let Some(token) = progress_token(message) {
                    self.progress.insert(token, f64::NEG_INFINITY);
                }
                Absorbed { taken, count, consented, ..Absorbed::default() }
            }
            (Shape::Notification, _, Some("notifications/cancelled")) => {
                let id = message.params().and_then(|params| params.member("requestId")).and_then(Id::of);
                // An opening can't be cancelled: its answer is still waited for.
                let is_cancellable = |id: &Id| self.in_flight.get(id).is_some_and(|asked| asked.method != "initialize");
                if let Some(id) = id.filter(is_cancellable) {
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
                    let params = asked.request.params();
                    let asks = params.filter(|_| asked.method == "elicitation/create").map(super::question);
                    self.asking(who).answered(asks, message.result());
                }
                Absorbed { asked, ..Absorbed::default() }
            }
            _ => Absorbed { count, ..Absorbed::default() },
        }
    }

    /// The round that a request goes on from; what the user answered in it is taken in.
    fn continued(&mut self, message: &Message, who: Who) -> Option<Round> {
        let round = self.rounds.continued(message, who)?;
        for (key, answer) in super::responses(message) {
            if let Some(question) = round.asked.get(key).filter(|question| question.method == "elicitation/create") {
                self.asking(who).answered(question.asks, Some(answer));
            }
        }
        Some(round)
    }

    /// The user consents to one call.
    pub(super) fn consented(&mut self, tool: &str, arguments: &str) {
        self.consents.give(tool, arguments, &self.tools);
    }

    pub(super) fn replied(
        &mut self,
        passing: &Passing<'_>,
        policy: &ServerPolicy,
        who: Who,
        keeper: Option<Keeper<'_>>,
    ) -> Absorbed {
        let message = passing.message;
        match message.shape() {
            Shape::Notification => {
                let streams = self.stateless && self.initialize.is_none();
                let heard = self.subscriptions.heard(message, who, streams);
                // That a stream begins is no news.
                if heard != Some(Heard::Begins) {
                    self.asking(who).notified(message);
                }
                Absorbed { heard, ..self.notified(message) }
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
                if passing.via.is_some_and(is_unasked) && self.in_flight.contains_key(id) {
                    return Absorbed { misplaced: true, ..Absorbed::default() };
                }
                let goes_on = match (self.in_flight.get(id), message.result()) {
                    (Some(request), Some(result)) => {
                        self.rounds.answered(&request.request, result, request.who, &request.round)
                    }
                    _ => false,
                };
                if !goes_on {
                    self.calls.answered(id, check::failed(message));
                }
                let Some(answered) = self.forget(id) else { return Absorbed::default() };
                if let Some(result) = message.result() {
                    for (_, question) in super::questions(result) {
                        let method = question.member("method").and_then(Node::as_str).unwrap_or_default();
                        self.asking(answered.who).asked(method, question.span.len());
                    }
                }
                self.remember(id.clone());
                let kind = ListingKind::of(&answered.method);
                let listing = kind.and_then(|kind| Listing::read(kind, message, keeper.is_some()));
                let mut page = None;
                if let Some((kind, result)) = kind.zip(message.result()) {
                    let cursor = answered.request.params().and_then(|params| params.member("cursor"));
                    let cursor = cursor.filter(|cursor| !matches!(cursor.kind, Kind::Null));
                    page = Some(self.pages.entry(kind).or_default().turned(cursor, result.member("nextCursor")));
                    if let Some(listing) = &listing {
                        let complete = self.listed(listing, message.raw(), cursor.is_none(), policy);
                        if let (Some(keeper), Some(pass)) = (keeper, self.passes.get(&kind)) {
                            self.pinned.page(keeper, listing, pass, cursor.is_none(), complete);
                        }
                        self.versions.listed(listing.kind, message, &policy.build, cursor.is_none());
                    }
                }
                if answered.method == "tools/call" {
                    self.versions.answered(message, &policy.build);
                }
                let tool = answered.tool.as_deref().and_then(|tool| policy.tools.get(tool));
                if let Some(paging) = tool.and_then(|tool| tool.pages.as_ref()) {
                    self.readings.answered(&answered.request, message, paging);
                }
                let mut reissued = false;
                if let Some(result) = message.result() {
                    if answered.method == "initialize" {
                        reissued = self.sessions.opened(passing, &answered.request, answered.who);
                    }
                    self.sessions.handed_out(result, message.raw(), &answered.request, answered.who);
                }
                match answered.method.as_str() {
                    method if meta::is_opening(method) && message.result().is_some() => {
                        self.opened(message, policy, keeper);
                    }
                    "prompts/get" => {
                        if let Some(keeper) = keeper {
                            self.pinned.got_prompt(keeper, &answered, message);
                        }
                    }
                    _ => {}
                }
                Absorbed { answered: Some(answered), listing, page, reissued, ..Absorbed::default() }
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
        self.asking(who).asked(message.method().unwrap_or_default(), message.raw().len());
        let (Some(id), Some(method)) = (message.id(), message.method()) else { return Absorbed::default() };
        let key = (who.session, id.clone());
        if self.asked.contains_key(&key) {
            return Absorbed { asked_again: true, ..Absorbed::default() };
        }
        self.asked.insert(key, Asked { method: method.to_owned(), request: message.clone(), who });
        Absorbed { taken: true, ..Absorbed::default() }
    }

    fn opened(&mut self, message: &Message, policy: &ServerPolicy, keeper: Option<Keeper<'_>>) {
        self.versions.opened(message, &policy.build);
        if let Some(keeper) = keeper {
            self.pinned.initialized(keeper, message);
        }
        // What the policy doesn't allow opened nothing, whether or not a check is
        // there to say so.
        let version = check::opened_version(message).filter(|version| Era::of(version) == Era::Handshake);
        if let Some(version) = version.filter(|version| policy.wire.allows_version(version)) {
            self.negotiated = Some(version.to_owned());
        }
    }

    fn notified(&mut self, message: &Message) -> Absorbed {
        let mut progress = None;
        let changed = match message.method() {
            Some("notifications/tools/list_changed") => &[ListingKind::Tools][..],
            Some("notifications/resources/list_changed") => &[ListingKind::Resources, ListingKind::Templates],
            Some("notifications/prompts/list_changed") => &[ListingKind::Prompts],
            // The server ends a stream.
            Some("notifications/cancelled") => {
                let id = message.params().and_then(|params| params.member("requestId")).and_then(Id::of);
                if let Some(id) = id.filter(|id| self.in_flight.get(id).is_some_and(InFlight::is_stream)) {
                    self.forget(&id);
                    self.remember(id);
                }
                &[]
            }
            Some("notifications/progress") => {
                progress = Some(self.progressed(message));
                &[]
            }
            _ => &[],
        };
        for &kind in changed {
            self.changed(kind);
            self.versions.announced(kind);
            if kind == ListingKind::Tools {
                // Consent was given to the tool as it was.
                self.consents.revoke();
                self.rounds.revoke();
            }
        }
        Absorbed { progress, ..Absorbed::default() }
    }

    /// Pages that were read before a list changed say nothing of what it is now.
    fn changed(&mut self, kind: ListingKind) {
        self.passes.remove(&kind);
        self.pinned.changed(kind);
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
