//! Which version of a server opened the session, listed and answered.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{BuildPolicy, ListingKind};
use crate::protocol::{Message, strict::Node};

/// The versions of one server's session.
#[derive(Debug, Default)]
pub struct Versions {
    /// Who opened the session.
    opened: Who,
    /// The version that a listing has to be built by.
    current: Option<String>,
    /// Listings that were announced as changed: the next one may be by another version.
    announced: BTreeSet<ListingKind>,
    /// The version that answered a call where another one was expected.
    answering: Option<String>,
    /// The listings that were read last.
    listings: BTreeMap<ListingKind, Built>,
}

/// A server as it presents itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Who {
    name: Option<String>,
    version: Option<String>,
}

/// How the listing that was read last was built.
#[derive(Clone, Debug)]
struct Built {
    /// In whose session it was read.
    session: Who,
    /// The version that built it, as far as that is known.
    by: Option<String>,
    /// It says so itself, and for every page the same.
    says: Option<String>,
    /// Whether that is the version it had to be built by.
    fits: bool,
    /// Whether no call was answered by another version since.
    answers: bool,
}

/// What stands against relying on a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// It was built by another version than it had to be.
    Built,
    /// The session was opened anew by another version.
    Reopened,
    /// A call was answered by another version.
    Answered,
}

/// A version as a server spells it.
fn said(message: &Message, pointer: &str) -> Option<String> {
    let found = message.result()?.pointer(pointer)?;
    let raw = || String::from_utf8_lossy(&message.raw()[found.span.clone()]).into_owned();
    Some(found.as_str().map_or_else(raw, str::to_owned))
}

impl Versions {
    /// The reply to `initialize`.
    pub(super) fn opened(&mut self, message: &Message, policy: &BuildPolicy) {
        let name = message.result().and_then(|result| result.pointer("/serverInfo/name")).and_then(Node::as_str);
        self.opened = Who { name: name.map(str::to_owned), version: said(message, &policy.opened) };
        self.current = self.opened.version.clone();
        self.announced.clear();
        self.answering = None;
    }

    /// A `list_changed` notification.
    pub(super) fn announced(&mut self, kind: ListingKind) {
        self.announced.insert(kind);
    }

    /// A page of a listing.
    pub(super) fn listed(&mut self, kind: ListingKind, message: &Message, policy: &BuildPolicy, first_page: bool) {
        let says = policy.listing.as_ref().and_then(|pointer| said(message, pointer));
        if let Some(built) = self.listings.get_mut(&kind).filter(|_| !first_page) {
            built.fits &= built.says == says && built.session == self.opened;
            return;
        }
        let expected = says.is_none() || self.current.is_none() || says == self.current;
        let renewed = self.announced.remove(&kind) || (says.is_some() && says == self.answering);
        if says.is_some() && renewed {
            self.current.clone_from(&says);
        }
        let by = says.clone().or_else(|| self.opened.version.clone());
        let built = Built { session: self.opened.clone(), by, says, fits: expected || renewed, answers: true };
        self.listings.insert(kind, built);
    }

    /// The result of a call: another version than the one that listed may have
    /// answered it.
    pub(super) fn answered(&mut self, message: &Message, policy: &BuildPolicy) {
        if let Some(version) = self.another(message, policy) {
            self.answering = Some(version);
            if let Some(built) = self.listings.get_mut(&ListingKind::Tools) {
                built.answers = false;
            }
        }
    }

    /// The version that a result names, where it is not the one that listed.
    pub(in crate::gate) fn another(&self, message: &Message, policy: &BuildPolicy) -> Option<String> {
        let listed_by = self.listings.get(&ListingKind::Tools)?.by.as_ref()?;
        said(message, policy.result.as_ref()?).filter(|version| version != listed_by)
    }

    /// What stands against relying on the listing that was read last; `None`
    /// also where none was read.
    pub(in crate::gate) fn stale(&self, kind: ListingKind) -> Option<Stale> {
        let built = self.listings.get(&kind)?;
        if built.session != self.opened {
            Some(Stale::Reopened)
        } else if !built.fits {
            Some(Stale::Built)
        } else if !built.answers {
            Some(Stale::Answered)
        } else {
            None
        }
    }
}
