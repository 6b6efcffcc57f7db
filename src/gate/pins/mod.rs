//! Pins as values: what was approved of a server, and who keeps it.
//!
//! A gate reads no clock and opens no file. It is handed a [`PinStore`] that
//! keeps approvals and stamps them; a pin counts only once the store has said
//! that it is kept. [`SessionPins`] keeps them for as long as the gate lives.

mod owner;
mod session;
mod store;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

pub use owner::{Owner, Place};
pub use session::SessionPins;
pub use store::{Loaded, PinStore, StoreError};

use super::ListingKind;
use crate::{
    digest::{Canonical, Fingerprint},
    protocol::strict::Node,
};

/// What a pin is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PinKind {
    /// `instructions` of the opening; there is one, under the empty name.
    Instructions,
    /// A tool, by `name`.
    Tool,
    /// A prompt, by `name`.
    Prompt,
    /// What `prompts/get` returns, by the prompt's name (and its arguments' digest).
    Messages,
    /// A resource, by `uri`.
    Resource,
    /// A resource template, by `uriTemplate`.
    Template,
}

impl PinKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::Instructions, Self::Tool, Self::Prompt, Self::Messages, Self::Resource, Self::Template];

    /// The word for it in stores and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Messages => "messages",
            Self::Resource => "resource",
            Self::Template => "template",
        }
    }

    /// The kind that a word means.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for PinKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<ListingKind> for PinKind {
    fn from(kind: ListingKind) -> Self {
        match kind {
            ListingKind::Tools => Self::Tool,
            ListingKind::Resources => Self::Resource,
            ListingKind::Templates => Self::Template,
            ListingKind::Prompts => Self::Prompt,
        }
    }
}

/// A pin's kind and name.
pub type PinKey = (PinKind, String);

/// A whole definition: the text that stands for it, and the digest of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The RFC 8785 form, or the raw text where it has none.
    pub text: Arc<str>,
    /// Whether it is the RFC 8785 form.
    pub exact: bool,
    /// Over all of it.
    pub fingerprint: Fingerprint,
}

impl Definition {
    /// The definition `node`, which stands in `raw`.
    pub fn of(raw: &[u8], node: &Node) -> Self {
        Canonical::of(raw, node).into()
    }
}

impl From<Canonical> for Definition {
    fn from(canonical: Canonical) -> Self {
        let fingerprint = canonical.fingerprint();
        Self { text: canonical.text.into(), exact: canonical.exact, fingerprint }
    }
}

/// How a pin came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It was what the server had when it was first seen.
    FirstUse,
    /// The host approved it.
    Approved,
    /// Somebody put it in the place of another, on purpose and by hand.
    Rebaselined,
}

impl How {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FirstUse, Self::Approved, Self::Rebaselined];

    /// The word for it in stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FirstUse => "first-use",
            Self::Approved => "approved",
            Self::Rebaselined => "rebaselined",
        }
    }
}

/// When, by whom and how something was pinned; the store says so, not the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When, in the form of RFC 3339; empty where the store has no clock.
    pub at: String,
    /// By whom; empty where nobody gave a name.
    pub by: String,
    /// How.
    pub how: How,
}

/// An approved definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// What was approved.
    pub definition: Definition,
    /// When and by whom.
    pub stamp: Stamp,
}

/// Everything that is pinned of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// Kinds whose first listing is over: nothing of them is pinned unasked any more.
    pub settled: BTreeSet<PinKind>,
    /// What is approved.
    pub all: BTreeMap<PinKey, Pin>,
}

/// A change to a server's pins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// How it came about. At first use nothing is ever replaced, and nothing is
    /// added to a kind that is settled.
    pub how: How,
    /// What is pinned.
    pub put: Vec<(PinKey, Definition)>,
    /// What is pinned no longer.
    pub take: Vec<PinKey>,
    /// Kinds that are settled afterwards.
    pub settle: BTreeSet<PinKind>,
}

impl Change {
    /// A change that does nothing yet.
    pub fn new(how: How) -> Self {
        Self { how, put: Vec::new(), take: Vec::new(), settle: BTreeSet::new() }
    }
}

/// What a change did to one pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Which pin.
    pub key: PinKey,
    /// What it was; `None` where there was none.
    pub old: Option<Fingerprint>,
    /// What it is now; `None` where there is none any more.
    pub new: Option<Fingerprint>,
}

impl Pins {
    /// The fingerprint pinned under a key.
    pub fn fingerprint(&self, kind: PinKind, name: &str) -> Option<Fingerprint> {
        self.all.get(&(kind, name.to_owned())).map(|pin| pin.definition.fingerprint)
    }

    /// The pins of a kind with their names.
    pub fn of_kind(&self, kind: PinKind) -> impl Iterator<Item = (&str, &Pin)> {
        let all = self.all.range((kind, String::new())..).take_while(move |((of, _), _)| *of == kind);
        all.map(|((_, name), pin)| (name.as_str(), pin))
    }

    /// Carries out a change and says what it did. What was pinned already as it
    /// should be keeps its stamp.
    pub fn apply(&mut self, change: &Change, stamp: &Stamp) -> Vec<Trace> {
        let mut traces = Vec::new();
        for (key, definition) in &change.put {
            let old = self.all.get(key).map(|pin| pin.definition.fingerprint);
            let unasked = change.how == How::FirstUse && (old.is_some() || self.settled.contains(&key.0));
            if unasked || old == Some(definition.fingerprint) {
                continue;
            }
            self.all.insert(key.clone(), Pin { definition: definition.clone(), stamp: stamp.clone() });
            traces.push(Trace { key: key.clone(), old, new: Some(definition.fingerprint) });
        }
        for key in &change.take {
            if let Some(pin) = self.all.remove(key) {
                traces.push(Trace { key: key.clone(), old: Some(pin.definition.fingerprint), new: None });
            }
        }
        self.settled.extend(&change.settle);
        traces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(name: &str, text: &str) -> (PinKey, Definition) {
        let definition = Canonical { text: text.to_owned(), exact: true }.into();
        ((PinKind::Tool, name.to_owned()), definition)
    }

    fn stamp(how: How) -> Stamp {
        Stamp { at: String::new(), by: String::new(), how }
    }

    #[test]
    fn first_use_adds_until_its_kind_is_settled_and_never_replaces() {
        let mut pins = Pins::default();
        let mut first = Change::new(How::FirstUse);
        first.put = vec![put("a", "1"), put("b", "1")];
        first.settle.insert(PinKind::Tool);
        assert_eq!(pins.apply(&first, &stamp(How::FirstUse)).len(), 2);
        first.put = vec![put("a", "2"), put("c", "1")];
        assert_eq!(pins.apply(&first, &stamp(How::FirstUse)), []);
        assert_eq!(pins.all.len(), 2);
        let mut approved = Change::new(How::Approved);
        approved.put = vec![put("a", "2"), put("b", "1")];
        let traces = pins.apply(&approved, &stamp(How::Approved));
        assert_eq!(traces.len(), 1);
        assert!(traces[0].old.is_some() && traces[0].new == pins.fingerprint(PinKind::Tool, "a"));
        let how = |name: &str| pins.all[&(PinKind::Tool, name.to_owned())].stamp.how;
        assert_eq!((how("a"), how("b")), (How::Approved, How::FirstUse));
    }

    #[test]
    fn kinds_have_words_and_are_told_apart() {
        for kind in PinKind::ALL {
            assert_eq!(PinKind::parse(kind.as_str()), Some(kind));
        }
        let mut pins = Pins::default();
        let mut change = Change::new(How::Approved);
        change.put = vec![put("a", "1"), ((PinKind::Prompt, "a".to_owned()), put("a", "2").1)];
        pins.apply(&change, &stamp(How::Approved));
        assert_eq!(pins.of_kind(PinKind::Tool).count(), 1);
        assert_eq!(pins.of_kind(PinKind::Template).count(), 0);
    }
}
