//! What is approved of a server, and what it shows by now.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        Change, Definition, How, InFlight, Listing, ListingKind, Loaded, Owner, PinKey, PinKind, PinMode, PinStore,
        Pins, PromptPins, StoreError,
    },
    listed::Pass,
};
use crate::{
    digest::Fingerprint,
    protocol::{
        Message, ServerName,
        strict::{Kind, Node},
    },
};

/// Who keeps the pins of which server, and when something is approved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeper<'a> {
    pub(super) store: &'a dyn PinStore,
    pub(super) server: &'a ServerName,
    pub(super) mode: PinMode,
    pub(super) messages: PromptPins,
}

/// How something that a server shows stands to what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is what was approved.
    Approved,
    /// It was never shown and never approved.
    Unknown,
    /// It is not what was approved.
    Drifted,
    /// It was never approved.
    NotApproved,
    /// Two different definitions go by its name.
    Twice,
    /// The list has changed and it was not read again since.
    Stale,
    /// The server does not list it any more.
    Gone,
    /// The server is reached in another way than the one that was approved.
    Moved,
    /// What was approved can't be known.
    Unusable,
}

/// What a server showed last under one name.
#[derive(Clone, Debug)]
enum Found {
    One(Definition),
    /// Two different definitions in one listing.
    Twice,
}

/// What is approved of a server, and what it shows by now.
#[derive(Debug, Default)]
pub struct PinFacts {
    owner: Option<Owner>,
    /// What is approved, as the store keeps it.
    pub pins: Pins,
    /// The store knows this server's name under another place.
    pub moved: bool,
    /// Why the store can't be used.
    pub trouble: Option<StoreError>,
    latest: BTreeMap<PinKey, Found>,
    /// The server was opened, so that it is known which instructions it has.
    opened: bool,
    /// Listings of which a first page has come since the server was opened.
    begun: BTreeSet<ListingKind>,
    /// Lists that were read to their end since the server was opened.
    whole: BTreeSet<ListingKind>,
    /// Lists that may have changed since they were read.
    stale: BTreeSet<ListingKind>,
}

impl PinFacts {
    /// The server is about to be started or reached.
    pub(super) fn opening(&mut self, keeper: Keeper<'_>, owner: &Owner) {
        // What was approved stays approved; what an earlier connection listed
        // says nothing of what this one is.
        *self = Self { owner: Some(owner.clone()), ..Self::default() };
        self.keep(keeper.store.load(owner));
        let pinned = |kind: &ListingKind| {
            let kind = PinKind::from(*kind);
            self.pins.settled.contains(&kind) || self.pins.of_kind(kind).next().is_some()
        };
        self.stale = ListingKind::ALL.into_iter().filter(pinned).collect();
    }

    fn owner(&mut self, keeper: Keeper<'_>) -> Owner {
        self.owner.get_or_insert_with(|| Owner::unopened(keeper.server)).clone()
    }

    fn keep(&mut self, loaded: Result<Loaded, StoreError>) {
        match loaded {
            Ok(Loaded { pins, moved }) => {
                self.pins = pins;
                self.moved = moved;
                self.trouble = None;
            }
            Err(error) => self.trouble = Some(error),
        }
    }

    /// Keeps a change. It counts only once the store has it for good.
    fn save(&mut self, keeper: Keeper<'_>, change: &Change) {
        let owner = self.owner(keeper);
        self.keep(keeper.store.save(&owner, change));
    }

    /// Keeps what came first, where first use is approval. An exchanged server
    /// and one whose approvals are lost have no first use.
    fn first_use(&mut self, keeper: Keeper<'_>, change: &Change) {
        if !self.moved && self.trouble.is_none() && !(change.put.is_empty() && change.settle.is_empty()) {
            self.save(keeper, change);
        }
    }

    /// A page of a listing has come; `pass` is the listing so far.
    pub(super) fn page(&mut self, keeper: Keeper<'_>, listing: &Listing, pass: &Pass, first: bool, complete: bool) {
        let kind = PinKind::from(listing.kind);
        let mut change = Change::new(How::FirstUse);
        // A first listing that is begun anew is over: else one that never ends
        // could add to itself for ever.
        let over = self.pins.settled.contains(&kind) || (first && self.begun.contains(&listing.kind));
        for item in &listing.items {
            let (Some(name), Some(definition)) = (&item.name, &item.definition) else { continue };
            let key = (kind, name.clone());
            let found = match pass.names.get(name) {
                Some(Some(_)) => Found::One(definition.clone()),
                _ => Found::Twice,
            };
            if !over && matches!(found, Found::One(_)) && !self.pins.all.contains_key(&key) {
                change.put.push((key.clone(), definition.clone()));
            }
            self.latest.insert(key, found);
        }
        if first {
            self.begun.insert(listing.kind);
        }
        if complete {
            self.latest.retain(|(of, name), _| *of != kind || pass.names.contains_key(name));
            self.whole.insert(listing.kind);
            self.stale.remove(&listing.kind);
        }
        if (complete || over) && !self.pins.settled.contains(&kind) {
            change.settle.insert(kind);
        }
        if keeper.mode == PinMode::FirstUse {
            self.first_use(keeper, &change);
        }
    }

    /// The server says that a list has changed.
    pub(super) fn changed(&mut self, kind: ListingKind) {
        self.stale.insert(kind);
    }

    /// The reply to `initialize` has come.
    pub(super) fn initialized(&mut self, keeper: Keeper<'_>, message: &Message) {
        let key = (PinKind::Instructions, String::new());
        let mut given = message.result().map_or(&[][..], Node::members).iter();
        let mut given = given.by_ref().filter(|member| member.key == "instructions" && member.value.kind != Kind::Null);
        let found = match (given.next(), given.next()) {
            (None, _) => None,
            (Some(only), None) => Some(Found::One(Definition::of(message.raw(), &only.value))),
            (Some(_), Some(_)) => Some(Found::Twice),
        };
        let mut change = Change::new(How::FirstUse);
        if !self.pins.settled.contains(&PinKind::Instructions) && !matches!(found, Some(Found::Twice)) {
            change.settle.insert(PinKind::Instructions);
            if let Some(Found::One(definition)) = &found {
                change.put.push((key.clone(), definition.clone()));
            }
        }
        self.opened = true;
        match found {
            Some(found) => self.latest.insert(key, found),
            None => self.latest.remove(&key),
        };
        if keeper.mode == PinMode::FirstUse {
            self.first_use(keeper, &change);
        }
    }

    /// The result of a `prompts/get` has come.
    pub(super) fn got_prompt(&mut self, keeper: Keeper<'_>, request: &InFlight, message: &Message) {
        let Some(name) = prompt_key(keeper.messages, request) else { return };
        let Some(result) = message.result() else { return };
        let key = (PinKind::Messages, name);
        let definition = Definition::of(message.raw(), result);
        self.latest.insert(key.clone(), Found::One(definition.clone()));
        // Messages are only ever seen once somebody asks for them, so that the
        // first ones count as approved with their prompt.
        if !self.pins.all.contains_key(&key) {
            let mut change = Change::new(How::FirstUse);
            change.put.push((key, definition));
            self.first_use(keeper, &change);
        }
    }

    /// The host approves what the server showed last. What it did not show keeps
    /// the approval that it had.
    pub(super) fn approved(&mut self, keeper: Keeper<'_>) {
        let mut change = Change::new(How::Approved);
        for (key, found) in &self.latest {
            if let Found::One(definition) = found {
                change.put.push((key.clone(), definition.clone()));
            }
        }
        change.settle = self.begun.iter().map(|kind| PinKind::from(*kind)).collect();
        let instructions = (PinKind::Instructions, String::new());
        if self.opened && !matches!(self.latest.get(&instructions), Some(Found::Twice)) {
            change.settle.insert(PinKind::Instructions);
            if !self.latest.contains_key(&instructions) {
                change.take.push(instructions);
            }
        }
        self.save(keeper, &change);
    }

    /// How one definition stands that the server shows under a name.
    pub fn shown(&self, kind: PinKind, name: &str, fingerprint: Fingerprint) -> Standing {
        let key = (kind, name.to_owned());
        if let Some(standing) = self.whole_server() {
            return standing;
        }
        if matches!(self.latest.get(&key), Some(Found::Twice)) {
            return Standing::Twice;
        }
        match self.pins.all.get(&key) {
            Some(pin) if pin.definition.fingerprint == fingerprint => Standing::Approved,
            Some(_) => Standing::Drifted,
            None => Standing::NotApproved,
        }
    }

    /// How the instructions stand that the server opened with last.
    pub fn instructions(&self) -> Standing {
        if let Some(standing) = self.whole_server() {
            return standing;
        }
        let key = (PinKind::Instructions, String::new());
        match (self.latest.get(&key), self.pins.all.get(&key)) {
            (Some(Found::Twice), _) => Standing::Twice,
            _ if !self.pins.settled.contains(&PinKind::Instructions) => Standing::NotApproved,
            (None, None) => Standing::Approved,
            (Some(Found::One(latest)), Some(pin)) if latest.fingerprint == pin.definition.fingerprint => {
                Standing::Approved
            }
            _ => Standing::Drifted,
        }
    }

    /// How the messages of a prompt stand that came last; `None` where they are not pinned.
    pub fn messages(&self, pins: PromptPins, request: &InFlight) -> Option<Standing> {
        let name = prompt_key(pins, request)?;
        self.whole_server().or_else(|| self.by_name(PinKind::Messages, &name))
    }

    /// What holds for everything that the server shows.
    pub fn whole_server(&self) -> Option<Standing> {
        if self.trouble.is_some() {
            return Some(Standing::Unusable);
        }
        self.moved.then_some(Standing::Moved)
    }

    /// How a tool or a prompt stands that is about to be used by its name.
    pub fn used(&self, kind: ListingKind, name: &str, pass: Option<&Pass>) -> Standing {
        if let Some(standing) = self.whole_server() {
            return standing;
        }
        let seen_again = pass.is_some_and(|pass| pass.whole && pass.names.contains_key(name));
        if self.stale.contains(&kind) && !seen_again {
            return Standing::Stale;
        }
        self.by_name(PinKind::from(kind), name).unwrap_or_else(|| {
            let of = PinKind::from(kind);
            let pinned = self.pins.all.contains_key(&(of, name.to_owned()));
            match (pinned, self.whole.contains(&kind), self.pins.settled.contains(&of)) {
                (true, true, _) => Standing::Gone,
                (true, false, _) => Standing::Approved,
                (false, _, true) => Standing::NotApproved,
                (false, _, false) => Standing::Unknown,
            }
        })
    }

    /// How something stands that the server showed under this name.
    pub(super) fn by_name(&self, kind: PinKind, name: &str) -> Option<Standing> {
        match self.latest.get(&(kind, name.to_owned()))? {
            Found::Twice => Some(Standing::Twice),
            Found::One(definition) => Some(self.shown(kind, name, definition.fingerprint)),
        }
    }

    /// The names that are approved or were shown last, of one kind.
    pub(super) fn names(&self, kind: PinKind) -> impl Iterator<Item = &str> {
        let of = move |key: &&PinKey| key.0 == kind;
        let shown = self.latest.keys().filter(of).map(|(_, name)| name.as_str());
        self.pins.of_kind(kind).map(|(name, _)| name).chain(shown)
    }
}

/// The name under which the messages are pinned that a request asks for;
/// `None` where they are not.
fn prompt_key(pins: PromptPins, request: &InFlight) -> Option<String> {
    let params = request.request.params()?;
    let name = params.member("name").and_then(Node::as_str)?;
    let arguments = params.member("arguments").filter(|node| match &node.kind {
        Kind::Null => false,
        Kind::Object(members) => !members.is_empty(),
        _ => true,
    });
    match (pins, arguments) {
        (PromptPins::None, _) | (PromptPins::Static, Some(_)) => None,
        (_, None) => Some(name.to_owned()),
        // Arguments may hold secrets: only their digest is kept.
        (PromptPins::ByArguments, Some(arguments)) => {
            let digest = Definition::of(request.request.raw(), arguments).fingerprint;
            Some(format!("{name} with sha256:{digest}"))
        }
    }
}
