//! Secrets on their way out: keys of well-known shapes, and tokens that the gate holds.
//!
//! Nothing here knows a message or a policy; it is asked about any JSON value.
//! `shapes` says what keys look like, `chance` tells drawn characters from words and
//! placeholders, `named` reads `token=…` and `user:password@`, `hosts` looks at the
//! labels of host names, `unpack` undoes encodings and puts chunks together, and
//! `held` looks for what the gate itself keeps.

mod chance;
mod held;
mod hosts;
mod named;
mod shapes;
mod unpack;

use self::held::Held;
use crate::protocol::strict::Node;

/// A rule: its id, and what it finds.
pub(super) type Rule = (&'static str, &'static str);

/// Every rule.
pub(super) const RULES: [Rule; shapes::RULES.len() + 5] = {
    let mut all = [("", ""); shapes::RULES.len() + 5];
    let mut at = 0;
    while at < shapes::RULES.len() {
        all[at] = shapes::RULES[at];
        at += 1;
    }
    all[at] = (named::URL_PASSWORD, "a URL with a user's password in it");
    all[at + 1] = (named::NAMED, "a random value behind a name such as token or api_key");
    all[at + 2] = (hosts::ENCODED_HOST, "a host name whose labels carry encoded data");
    all[at + 3] = (HELD_TOKEN, "a token that the gate holds for the user");
    all[at + 4] = (UNREAD, "a string with more layers of encoding than are undone");
    all
};

/// A token that the host handed the gate.
pub(super) const HELD_TOKEN: &str = "held-token";
/// More is encoded in it than is worth undoing.
pub(super) const UNREAD: &str = "unread";

/// Whether there is such a rule.
pub(super) fn is_rule(id: &str) -> bool {
    RULES.iter().any(|(rule, _)| *rule == id)
}

/// How many encodings inside of each other are undone.
const MAX_LAYERS: usize = 2;
/// No secret has fewer bytes.
const SHORTEST: usize = 12;

/// A secret in a value: by which rule, and where. Never what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leak {
    /// The rule.
    pub(super) rule: &'static str,
    /// A JSON pointer to the string; `None` where it is spread over several strings or chunks.
    pub(super) path: Option<String>,
}

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// As it stands: a key begins and ends at something that is no part of it.
    Plain,
    /// Put together or decoded: what stands around a key may run into it.
    Loose,
}

/// The first secret in the strings of `nodes`, names of members included, by a rule
/// that `applies`; `tokens` are those that the gate holds.
pub(super) fn leak<'a>(
    nodes: impl Iterator<Item = &'a Node>,
    tokens: impl Iterator<Item = &'a str>,
    applies: &dyn Fn(&str) -> bool,
) -> Option<Leak> {
    let mut search = Search { applies, found: None, held: Held::new(tokens), left: 0 };
    let mut chunks = unpack::Chunks::default();
    let mut path_found = None;
    for node in nodes {
        node.each_string(&mut |path, text| {
            if search.found.is_some() {
                return;
            }
            search.string(path, text);
            // The names of members stand between the values.
            if path.rsplit('/').next() != Some(text) {
                chunks.add(text);
            }
            if search.found.is_some() {
                path_found = Some(path.to_owned());
            }
        });
    }
    if search.found.is_none() {
        for put_together in chunks.runs() {
            search.left = budget(put_together.len());
            search.prefixed(put_together, Reading::Loose);
            search.packed(put_together, 0);
        }
        if search.held.is_out() {
            search.hit(HELD_TOKEN);
        }
    }
    search.found.map(|rule| Leak { rule, path: path_found })
}

/// How many bytes may come out of decoding a text of this length: enough for all that
/// two layers can hold at every offset.
fn budget(length: usize) -> usize {
    length * 12 + 4096
}

struct Search<'a> {
    applies: &'a dyn Fn(&str) -> bool,
    found: Option<&'static str>,
    held: Held,
    /// How many bytes may still be decoded.
    left: usize,
}

impl Search<'_> {
    fn hit(&mut self, rule: &'static str) {
        if self.found.is_none() && (self.applies)(rule) {
            self.found = Some(rule);
        }
    }

    /// One string as it came.
    fn string(&mut self, path: &str, text: &str) {
        let bytes = text.as_bytes();
        self.held.hear(bytes);
        if bytes.len() < SHORTEST {
            return;
        }
        self.left = budget(bytes.len());
        let name = path.rsplit('/').next().unwrap_or_default();
        if named::is_member(name, bytes) {
            self.hit(named::NAMED);
        }
        self.layer(bytes, Reading::Plain, 0);
    }

    /// One text, and whatever is encoded in it.
    fn layer(&mut self, text: &[u8], reading: Reading, depth: usize) {
        self.prefixed(text, reading);
        for rule in named::found(text) {
            self.hit(rule);
        }
        if hosts::carry_data(text) {
            self.hit(hosts::ENCODED_HOST);
        }
        if depth < MAX_LAYERS
            && self.found.is_none()
            && let Some(plain) = unpack::percent(text)
        {
            self.held.hear(&plain);
            self.spend(plain.len());
            self.layer(&plain, reading, depth + 1);
        }
        self.packed(text, depth);
    }

    fn prefixed(&mut self, text: &[u8], reading: Reading) {
        for rule in shapes::found(text, reading == Reading::Loose) {
            self.hit(rule);
        }
    }

    /// What stands in a text in base64, base32 or hex.
    fn packed(&mut self, text: &[u8], depth: usize) {
        if depth >= MAX_LAYERS || self.found.is_some() {
            return;
        }
        unpack::stretches(text, &mut |plain| {
            if self.found.is_none() && self.spend(plain.len()) {
                self.held.hear(plain);
                if plain.len() >= SHORTEST {
                    self.layer(plain, Reading::Loose, depth + 1);
                }
            }
        });
    }

    /// Whether that much may still be decoded; what can't be read to its end doesn't pass.
    fn spend(&mut self, bytes: usize) -> bool {
        if let Some(left) = self.left.checked_sub(bytes) {
            self.left = left;
            return true;
        }
        self.hit(UNREAD);
        false
    }
}

#[cfg(test)]
mod tests;
