//! What the user consented to, and what is known of the tools that it is about.

use std::collections::{BTreeMap, BTreeSet};

use super::{super::text, KnownTool};
use crate::{
    digest::{self, Fingerprint},
    protocol::{
        Message,
        strict::{self, Node},
    },
};

/// Consents that were given and not used, and how tools ever looked.
#[derive(Debug, Default)]
pub struct Consents {
    given: Vec<Given>,
    /// Tools that a definition of this session called destructive.
    hinted: BTreeSet<String>,
    /// Tools whose words, in a definition of this session, say that something is
    /// lost, moved or sent.
    worded: BTreeSet<String>,
}

/// One consent: for one tool as it was, with these arguments, once.
#[derive(Debug)]
struct Given {
    tool: String,
    arguments: Fingerprint,
    /// The definition that was listed when the user consented, if one was.
    definition: Option<Fingerprint>,
}

impl Consents {
    /// Whether any definition of the tool in this session had a `destructiveHint`.
    /// A later one without it takes nothing back.
    pub fn was_hinted(&self, tool: &str) -> bool {
        self.hinted.contains(tool)
    }

    /// Whether any definition of the tool in this session reads like a loss.
    pub fn was_worded(&self, tool: &str) -> bool {
        self.worded.contains(tool)
    }

    /// Takes in a definition as it was listed.
    pub(super) fn listed(&mut self, name: &str, definition: &Node) {
        if text::has_destructive_hint(definition) {
            self.hinted.insert(name.to_owned());
        }
        if text::is_worded_destructive(definition) {
            self.worded.insert(name.to_owned());
        }
    }

    /// The user consents to one call.
    pub(super) fn give(&mut self, tool: &str, arguments: &str, tools: &BTreeMap<String, KnownTool>) {
        // What can't be told apart by a reader is no consent to anything.
        let Ok(document) = strict::parse(arguments.as_bytes()) else { return };
        if !document.notes.is_empty() {
            return;
        }
        let arguments = digest::fingerprint(arguments.as_bytes(), &document.root);
        self.given.push(Given { tool: tool.to_owned(), arguments, definition: listed_as(tools, tool) });
    }

    /// Uses up the consent for a call, where there is one.
    pub(super) fn take(&mut self, message: &Message, tools: &BTreeMap<String, KnownTool>) -> bool {
        if self.given.is_empty() {
            return false;
        }
        let (Some(tool), Ok(document)) = (message.called_tool(), message.document()) else { return false };
        // A key that stands twice is read in two ways, and one of them wasn't shown.
        if !document.notes.is_empty() {
            return false;
        }
        let arguments = match message.params().and_then(|params| params.member("arguments")) {
            Some(node) => digest::fingerprint(message.raw(), node),
            None => match strict::parse(b"{}") {
                Ok(none) => digest::fingerprint(b"{}", &none.root),
                Err(_) => return false,
            },
        };
        let found = self.given.iter().position(|given| given.tool == tool && given.arguments == arguments);
        found.map(|index| self.given.remove(index)).is_some_and(|given| given.definition == listed_as(tools, tool))
    }

    /// Tools were listed anew: what was consented to is gone where it changed,
    /// even if it should change back.
    pub(super) fn relisted(&mut self, tools: &BTreeMap<String, KnownTool>) {
        self.given.retain(|given| given.definition == listed_as(tools, &given.tool));
    }

    /// Nothing is consented to any more.
    pub(super) fn revoke(&mut self) {
        self.given.clear();
    }
}

/// The fingerprint of the tool's definition as it is listed now.
pub(super) fn listed_as(tools: &BTreeMap<String, KnownTool>, name: &str) -> Option<Fingerprint> {
    let tool = tools.get(name)?;
    // Asked for with every call, and the same until the tool is listed anew.
    *tool.fingerprint.get_or_init(|| {
        let definition = tool.definition.as_bytes();
        let document = strict::parse(definition).ok()?;
        Some(digest::fingerprint(definition, &document.root))
    })
}
