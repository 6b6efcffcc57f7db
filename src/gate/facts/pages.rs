//! How the pages of one listing hang together.

use std::collections::HashMap;

use crate::{
    digest::Fingerprint,
    protocol::strict::{Kind, Node},
};

/// More cursors than this are not kept: long before, a listing is no listing.
const KEPT: usize = 4096;

/// Where a page stands in its listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Which page it is, from 1.
    pub number: usize,
    /// Its cursor leads back to a page that was read before it.
    pub loops: bool,
}

/// The cursors of one listing, as far as it has been read.
#[derive(Debug, Default)]
pub struct Pages {
    /// On which page a cursor leads to, by its digest: cursors are the server's
    /// and may be long.
    leads_to: HashMap<Fingerprint, usize>,
    /// The page that was read last says that there is more.
    more: bool,
}

impl Pages {
    /// Whether the listing that was begun last has not been read to its end.
    pub fn is_unread(&self) -> bool {
        self.more
    }

    /// A page was read: it was asked for with `cursor`, and says what comes `next`.
    ///
    /// A page that is asked for again, say after a time-out, says the same as
    /// before: only a cursor that leads to its own page or an earlier one is a
    /// loop. Cursors are never compared by anything but their text.
    pub(super) fn turned(&mut self, cursor: Option<&Node>, next: Option<&Node>) -> Page {
        let digest = |cursor: &Node| match &cursor.kind {
            Kind::String(text) => Some(Fingerprint::of(text.as_bytes())),
            _ => None,
        };
        let number = match cursor {
            None => {
                self.leads_to.clear();
                1
            }
            Some(cursor) => digest(cursor).and_then(|cursor| self.leads_to.get(&cursor)).copied().unwrap_or(1),
        };
        if let Some(cursor) = cursor.and_then(digest).filter(|_| self.leads_to.len() < KEPT) {
            self.leads_to.entry(cursor).or_insert(number);
        }
        self.more = next.is_some_and(|next| !matches!(next.kind, Kind::Null));
        let mut loops = false;
        if let Some(next) = next.and_then(digest) {
            match self.leads_to.get(&next) {
                Some(known) => loops = *known <= number,
                None if self.leads_to.len() < KEPT => {
                    self.leads_to.insert(next, number + 1);
                }
                None => {}
            }
        }
        Page { number, loops }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::strict;

    fn node(json: &str) -> Option<Node> {
        (!json.is_empty()).then(|| strict::parse(json.as_bytes()).unwrap().root)
    }

    fn turned(pages: &mut Pages, cursor: &str, next: &str) -> (usize, bool) {
        let page = pages.turned(node(cursor).as_ref(), node(next).as_ref());
        (page.number, page.loops)
    }

    #[test]
    fn pages_are_counted_and_loops_are_told_from_asking_again() {
        let mut pages = Pages::default();
        for (cursor, next, expected) in [
            ("", r#""a""#, (1, false)),
            (r#""a""#, r#""""#, (2, false)),
            (r#""a""#, r#""""#, (2, false)),
            (r#""""#, r#""b""#, (3, false)),
            (r#""b""#, r#""b""#, (4, true)),
            (r#""b""#, r#""a""#, (4, true)),
            (r#""b""#, "", (4, false)),
            ("", r#""a""#, (1, false)),
            (r#""elsewhere""#, r#""a""#, (1, false)),
            (r#""elsewhere""#, r#""elsewhere""#, (1, true)),
        ] {
            assert_eq!(turned(&mut pages, cursor, next), expected, "{cursor} {next}");
        }
    }

    #[test]
    fn a_listing_is_unread_until_its_last_page() {
        let mut pages = Pages::default();
        assert!(!pages.is_unread());
        for (next, unread) in [(r#""a""#, true), (r#""""#, true), ("7", true), ("null", false), ("", false)] {
            turned(&mut pages, "", next);
            assert_eq!(pages.is_unread(), unread, "{next}");
        }
    }
}
