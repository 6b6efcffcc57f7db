//! Walks the objects whose members the protocol names.

use std::collections::BTreeSet;

use super::super::text::folded_key;
use crate::protocol::strict::Node;

/// An object whose members the protocol names.
#[derive(Debug)]
pub(super) struct Owned {
    /// Members that a reader acts on: nothing may look like them.
    pub(super) keys: &'static [&'static str],
    /// Members that describe: what looks like them is a slip, unless both stand
    /// there.
    pub(super) mild: &'static [&'static str],
    /// Other members are somebody else's, twice or not.
    pub(super) shared: bool,
    /// The members that are such objects themselves, or arrays of them.
    pub(super) within: &'static [(&'static str, &'static Owned)],
}

/// What is wrong, and with which member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gate) struct Flaw {
    /// What.
    pub(in crate::gate) kind: FlawKind,
    /// In which object, in words.
    pub(in crate::gate) place: &'static str,
    /// The protocol's own key, where it is about one.
    pub(in crate::gate) key: Option<&'static str>,
}

/// What is wrong with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gate) enum FlawKind {
    /// It stands twice.
    Twice,
    /// It only looks like one of the protocol's.
    LooksAlike,
}

impl Flaw {
    /// Where and what, never in the message's own words.
    pub(in crate::gate) fn words(&self, whose: &str) -> String {
        let Self { kind, place, key } = self;
        match (kind, key) {
            (FlawKind::Twice, Some(key)) => format!("in {place} of {whose}, `{key}` stands twice"),
            (FlawKind::Twice, None) => format!("in {place} of {whose}, a key stands twice"),
            (FlawKind::LooksAlike, key) => {
                format!("in {place} of {whose}, a key looks like `{}` and is not", key.unwrap_or_default())
            }
        }
    }
}

/// The first flaw in an object and the owned ones in it. `twice` holds where
/// keys stand for the second time.
pub(super) fn flaw(node: &Node, owned: &Owned, place: &'static str, twice: &BTreeSet<usize>) -> Option<Flaw> {
    let members = node.members();
    let is_there = |key: &&&str| members.iter().any(|member| member.key == **key);
    let guarded: Vec<&str> = owned.keys.iter().chain(owned.mild.iter().filter(is_there)).copied().collect();
    for member in members {
        let key = owned.keys.iter().chain(owned.mild).copied().find(|key| *key == member.key);
        if (key.is_some() || !owned.shared) && twice.contains(&member.key_span.start) {
            return Some(Flaw { kind: FlawKind::Twice, place, key });
        }
        if key.is_some() {
            continue;
        }
        if let Some(key) = looks_like(&member.key, &guarded) {
            return Some(Flaw { kind: FlawKind::LooksAlike, place, key: Some(key) });
        }
    }
    owned.within.iter().find_map(|(key, inner)| {
        let inside = members.iter().filter(|member| member.key == *key);
        inside
            .flat_map(|member| std::iter::once(&member.value).chain(member.value.items()))
            .find_map(|value| flaw(value, inner, place, twice))
    })
}

/// Whether a name that is none of `known` would be taken for one of them by a
/// reader that is careless about case, width or what it can't see.
pub(in crate::gate) fn is_look_alike(name: &str, known: &[&'static str]) -> bool {
    looks_like(name, known).is_some()
}

fn looks_like(name: &str, known: &[&'static str]) -> Option<&'static str> {
    // Most keys are plain and differ in more than case; only others are folded.
    // Half a surrogate, which reads as U+FFFD here, is nothing to other readers.
    let folded = (!name.bytes().all(|byte| byte.is_ascii_graphic()))
        .then(|| folded_key(&name.replace(char::REPLACEMENT_CHARACTER, "")));
    let name = folded.as_deref().unwrap_or(name);
    known.iter().copied().find(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_width_and_what_is_unseen_make_look_alikes() {
        for key in [
            "Name",
            "NAME",
            "ｎａｍｅ",
            "na\u{200b}me",
            "name\0",
            "\0name",
            "na\u{ad}me",
            "name ",
            "\u{feff}name",
            "𝐧𝐚𝐦𝐞",
            "ⓝⓐⓜⓔ",
            "na\u{301}me",
            "na\u{fffd}me",
            "n\u{430}me",
        ] {
            assert!(is_look_alike(key, &["name", "arguments"]), "{key:?}");
        }
        for (key, like) in [("argument\u{17f}", "arguments"), ("\u{131}d", "id"), ("İd", "id"), ("\u{212a}ind", "kind")]
        {
            assert!(is_look_alike(key, &[like]), "{key:?}");
        }
        for key in ["names", "nаmеd", "имя", "名前", "x-name", "_name", "input_schema", "", "n"] {
            assert!(!is_look_alike(key, &["name", "arguments", "inputSchema"]), "{key:?}");
        }
    }
}
