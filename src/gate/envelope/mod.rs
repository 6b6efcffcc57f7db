//! Which members of a message the protocol owns, and what is wrong with them.
//!
//! Two readers of one message must come to the same tool, the same id and the
//! same definition. `owned` walks the objects whose members the protocol names,
//! `tables` says which those are, `headers` does so for names of HTTP headers
//! that a tool asks for. Arguments, structured results, vendors' metadata and the
//! properties of schemas belong to others and are never looked at.

mod headers;
mod owned;
mod tables;

use std::collections::BTreeSet;

use super::ListingKind;
use crate::protocol::{
    Message,
    strict::{Node, Note},
};

pub(super) use headers::flaw_in_schema as header_flaw;
pub(super) use owned::{Flaw, FlawKind, is_look_alike};

/// The methods that this gate knows.
pub(super) fn is_known_method(method: &str) -> bool {
    tables::params(method).is_some()
}

/// Whether a method only looks like one of those.
pub(super) fn is_disguised_method(method: &str) -> bool {
    !is_known_method(method) && is_look_alike(method, &tables::METHODS.map(|(known, _)| known))
}

/// The first flaw of a message outside of what it carries for others: its own
/// members, its `params` by its method, its `result` by the method that it
/// answers, its `error`.
pub(super) fn flaw(message: &Message, answers: Option<&str>) -> Option<Flaw> {
    let document = message.document().ok()?;
    let twice = duplicates(&document.notes);
    let root = &document.root;
    let params = message.method().and_then(tables::params).unwrap_or(&tables::ANY);
    let result = answers.and_then(tables::result).unwrap_or(&tables::ANY);
    owned::flaw(root, &tables::MESSAGE, "the message", &twice).or_else(|| {
        root.members().iter().find_map(|member| match member.key.as_str() {
            "params" => owned::flaw(&member.value, params, "the params", &twice),
            "result" => owned::flaw(&member.value, result, "the result", &twice),
            "error" => owned::flaw(&member.value, &tables::ERROR, "the error", &twice),
            _ => None,
        })
    })
}

/// Why a definition may be read in two ways, by its index in a listing.
pub(super) fn doubts(kind: ListingKind, items: &[Node], notes: &[Note]) -> Vec<Option<&'static str>> {
    let twice = duplicates(notes);
    items
        .iter()
        .map(|item| {
            if twice.range(item.span.clone()).next().is_some() {
                return Some("a key stands twice in one of its objects");
            }
            if owned::flaw(item, &tables::DEFINITION, "the definition", &twice).is_some() {
                return Some("one of its keys only looks like the protocol's");
            }
            let schema = item.member("inputSchema").filter(|_| kind == ListingKind::Tools)?;
            header_flaw(schema)
        })
        .collect()
}

/// Where keys stand for the second time.
fn duplicates(notes: &[Note]) -> BTreeSet<usize> {
    let at = |note: &Note| match note {
        Note::DuplicateKey { at, .. } => Some(*at),
        Note::TooDeep { .. } | Note::LoneSurrogate { .. } => None,
    };
    notes.iter().filter_map(at).collect()
}
