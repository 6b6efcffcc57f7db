//! What happened in a session, as far as checks need to know.
//!
//! Facts are taken from every event, whatever the checks make of it, so that no
//! check's verdict depends on another's.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
    sync::Arc,
};

use super::{Event, Opening, Passing, PinMode, Reach, Rules};
use crate::{
    digest::{self, Fingerprint},
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

/// What a listing lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListingKind {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

impl ListingKind {
    /// The listing that a method asks for.
    pub fn of(method: &str) -> Option<Self> {
        Some(match method {
            "tools/list" => Self::Tools,
            "resources/list" => Self::Resources,
            "resources/templates/list" => Self::Templates,
            "prompts/list" => Self::Prompts,
            _ => return None,
        })
    }

    /// The member of the result that holds the definitions.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The member of a definition that names it.
    fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }
}

/// One definition of a listing.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its name, where it is a string.
    pub name: Option<String>,
    /// The definition.
    pub node: Node,
    /// Over the whole definition; only taken where the policy pins.
    pub fingerprint: Option<Fingerprint>,
}

/// The reply to a listing.
#[derive(Clone, Debug)]
pub struct Listing {
    /// What it lists.
    pub kind: ListingKind,
    /// The bytes of the array of definitions.
    pub span: Range<usize>,
    /// The definitions in order.
    pub items: Vec<Listed>,
    /// Whether another page follows.
    pub more: bool,
}

/// A tool as the server listed it last.
#[derive(Clone, Debug)]
pub struct KnownTool {
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

    /// Takes in an event before the checks see it. For a response, hands out
    /// the request that it answers and the listing in it.
    pub(super) fn absorb(&mut self, rules: &Rules, event: &Event<'_>) -> (Option<InFlight>, Option<Listing>) {
        let pins = rules.policy().server(event.server()).pins;
        match event {
            Event::Opening(Opening { server, reach, .. }) => {
                let facts = self.server_mut(server);
                facts.reach = Some(reach.clone());
                // A new connection is a new id space; what was approved stays.
                facts.in_flight.clear();
                facts.settled.clear();
                (None, None)
            }
            Event::Approval(approval) => {
                let facts = self.server_mut(approval.server);
                facts.pins = facts.latest.clone();
                facts.stale.clear();
                (None, None)
            }
            Event::Passing(Passing { server, direction, message, .. }) => {
                let facts = self.server_mut(server);
                match direction {
                    Direction::Requestward => {
                        facts.requested(message);
                        (None, None)
                    }
                    Direction::Replyward => facts.replied(message, pins),
                }
            }
            Event::Head(_) | Event::Hop(_) => (None, None),
        }
    }

    /// A request was refused: it will never be answered by the server.
    pub(super) fn refused(&mut self, server: &ServerName, id: &Id) {
        self.server_mut(server).in_flight.remove(id);
    }

    /// A request was answered in the server's place.
    pub(super) fn settle(&mut self, server: &ServerName, id: &Id) {
        let facts = self.server_mut(server);
        facts.in_flight.remove(id);
        facts.remember(id.clone());
    }
}

impl ServerFacts {
    fn remember(&mut self, id: Id) {
        if self.settled.len() >= REMEMBERED {
            self.settled.pop_first();
        }
        self.settled.insert(id);
    }

    fn requested(&mut self, message: &Message) {
        match (message.shape(), message.id(), message.method()) {
            (Shape::Request, Some(id), Some(method)) => {
                let tool = message.called_tool().map(str::to_owned);
                let request = InFlight { method: method.to_owned(), tool, request: message.clone() };
                // An id that is in flight stays with its first request; the
                // second is for reply-correlation to object to.
                self.in_flight.entry(id.clone()).or_insert(request);
            }
            (Shape::Notification, _, Some("notifications/cancelled")) => {
                let id = message.params().and_then(|params| params.member("requestId")).and_then(Id::of);
                if let Some(id) = id {
                    self.in_flight.remove(&id);
                    self.remember(id);
                }
            }
            _ => {}
        }
    }

    fn replied(&mut self, message: &Message, pins: Option<PinMode>) -> (Option<InFlight>, Option<Listing>) {
        match message.shape() {
            Shape::Notification => {
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
                    _ => {}
                }
                (None, None)
            }
            Shape::Response => {
                let Some(answered) = message.id().and_then(|id| self.in_flight.remove(id)) else {
                    return (None, None);
                };
                if let Some(id) = message.id() {
                    self.remember(id.clone());
                }
                let listing = ListingKind::of(&answered.method).and_then(|kind| read(kind, message, pins.is_some()));
                if let Some(listing) = &listing {
                    let first_page = answered.request.params().and_then(|params| params.member("cursor")).is_none();
                    self.listed(listing, message.raw(), first_page, pins);
                }
                (Some(answered), listing)
            }
            _ => (None, None),
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
                let tool = KnownTool {
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

fn read(kind: ListingKind, message: &Message, fingerprints: bool) -> Option<Listing> {
    let result = message.result()?;
    let array = result.member(kind.member())?;
    let items = array
        .items()
        .iter()
        .map(|node| Listed {
            name: node.member(kind.key()).and_then(Node::as_str).map(str::to_owned),
            fingerprint: fingerprints.then(|| digest::fingerprint(message.raw(), node)),
            node: node.clone(),
        })
        .collect();
    let more = result.member("nextCursor").is_some_and(|cursor| cursor.as_str().is_some());
    Some(Listing { kind, span: array.span.clone(), items, more })
}
