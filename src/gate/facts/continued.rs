//! Which documents are being read, and how far.

use std::collections::BTreeMap;

use super::super::{
    Paging,
    check::{self, Says},
    json::{is_plain, whole},
    payload::each_json,
};
use crate::{
    digest::{self, Fingerprint},
    protocol::{Message, strict::Node},
};

/// How many documents are remembered; the one begun longest ago gives way, and
/// has to be begun again.
const REMEMBERED: usize = 1024;

/// How far a document was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The revision that its first page was of.
    pub digest: String,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<usize>,
    /// When it was begun.
    begun: u64,
}

/// The documents that are being read.
#[derive(Debug, Default)]
pub struct Readings {
    documents: BTreeMap<Fingerprint, Reading>,
    begun: u64,
}

/// What a call asks for.
#[derive(Clone, Debug)]
pub(in crate::gate) struct Sought {
    /// Which document, by which tool.
    pub(in crate::gate) document: Fingerprint,
    /// Where the page begins.
    pub(in crate::gate) offset: usize,
    /// Which revision.
    pub(in crate::gate) digest: Option<String>,
}

/// What a page says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::gate) struct Given {
    /// Which revision it is of.
    pub(in crate::gate) digest: String,
    /// Where it begins, where it says so.
    pub(in crate::gate) offset: Option<usize>,
    /// Where the next one begins, where there is one.
    pub(in crate::gate) next: Option<usize>,
}

/// Why a call or a page can't be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gate) enum Unclear {
    /// A key stands twice, or an argument has the wrong type.
    Arguments,
    /// The offset is no whole number.
    Offset,
}

impl Sought {
    /// What a call of a tool that pages asks for.
    pub(in crate::gate) fn of(message: &Message, pages: &Paging) -> Result<Self, Unclear> {
        let (Ok(document), Some(params)) = (message.document(), message.params()) else {
            return Err(Unclear::Arguments);
        };
        if !is_plain(document, params) {
            return Err(Unclear::Arguments);
        }
        let argument = |name: &str| {
            let found = params.member("arguments").and_then(|arguments| arguments.member(name));
            found.filter(|node| node.kind != crate::protocol::strict::Kind::Null)
        };
        let print = |node: Option<&Node>| node.map(|node| digest::fingerprint(message.raw(), node));
        let tool = message.called_tool().map(|tool| Fingerprint::of(tool.as_bytes()));
        let parts: Vec<_> =
            std::iter::once(tool).chain(pages.document.iter().map(|name| print(argument(name)))).collect();
        let offset = match argument(&pages.offset) {
            None => 0,
            Some(node) => node.as_number().and_then(whole).ok_or(Unclear::Offset)?,
        };
        let digest = match argument(&pages.digest) {
            None => None,
            Some(node) => Some(node.as_str().ok_or(Unclear::Arguments)?.to_owned()),
        };
        Ok(Self { document: Fingerprint::of_all(&parts), offset, digest })
    }

    /// Whether the page is the one that was asked for.
    pub(in crate::gate) fn fits(&self, page: &Given) -> bool {
        self.digest.as_ref().is_none_or(|digest| *digest == page.digest)
            && page.offset.is_none_or(|offset| offset == self.offset)
            && page.next.is_none_or(|next| next > self.offset)
    }
}

impl Given {
    /// What the JSON of a page says of it; `None` where it lacks what it must say.
    pub(in crate::gate) fn of(json: &Node, pages: &Paging) -> Option<Self> {
        let number = |pointer: &str| json.pointer(pointer).and_then(Node::as_number).and_then(whole);
        let digest = json.pointer(&pages.page_digest)?.as_str().filter(|digest| !digest.is_empty())?;
        let offset = match &pages.page_offset {
            Some(pointer) => Some(number(pointer)?),
            None => None,
        };
        let next = if json.pointer(&pages.more)?.as_bool()? { Some(number(&pages.next_offset)?) } else { None };
        Some(Self { digest: digest.to_owned(), offset, next })
    }
}

impl Readings {
    /// How far a document was read.
    pub(in crate::gate) fn of(&self, asked: &Sought) -> Option<&Reading> {
        self.documents.get(&asked.document)
    }

    /// A page came, or what should have been one.
    pub(super) fn answered(&mut self, request: &Message, reply: &Message, pages: &Paging) {
        let Ok(asked) = Sought::of(request, pages) else { return };
        let (Some(result), Ok(document)) = (reply.result(), reply.document()) else { return };
        if check::says(&document.root, result) == Says::Failure {
            // The document is where it was.
            return;
        }
        let mut page = None;
        let all = each_json(document, result, (), |json| {
            let this = Given::of(json, pages).filter(|page| asked.fits(page)).ok_or(())?;
            page.get_or_insert(this);
            Ok(())
        });
        let Some(Given { digest, next, .. }) = page.filter(|_| all.is_ok()) else {
            // What was read so far can't be continued by this.
            self.documents.remove(&asked.document);
            return;
        };
        if asked.offset > 0 {
            if let Some(reading) = self.documents.get_mut(&asked.document) {
                reading.next = next;
            }
            return;
        }
        if self.documents.len() >= REMEMBERED
            && let Some(oldest) =
                self.documents.iter().min_by_key(|(_, reading)| reading.begun).map(|(document, _)| *document)
        {
            self.documents.remove(&oldest);
        }
        self.begun += 1;
        self.documents.insert(asked.document, Reading { digest, next, begun: self.begun });
    }
}
