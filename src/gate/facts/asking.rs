//! What a server has asked and said unasked so far, by session.

use std::collections::BTreeSet;

use super::super::text::bare;
use crate::{
    digest::Fingerprint,
    protocol::{Message, strict::Node},
};

/// What a server asked for and said, up to and with the present message.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    /// Requests for a completion of the client's model.
    pub sampled: usize,
    /// Bytes of their parameters.
    pub sampled_bytes: usize,
    /// Requests for the user's input.
    pub elicited: usize,
    /// Of these, what the user declined or cancelled since the client acted last.
    pub declined: BTreeSet<Fingerprint>,
    /// How often in a row.
    pub declines: usize,
    /// Requests for the roots since the client last said that they changed.
    pub rooted: usize,
    /// Notifications since the client last said something of its own.
    pub said: usize,
    /// Their bytes.
    pub said_bytes: usize,
}

impl Asking {
    /// The server asks, in so many bytes.
    pub(super) fn asked(&mut self, method: &str, bytes: usize) {
        match method {
            "sampling/createMessage" => {
                self.sampled += 1;
                self.sampled_bytes = self.sampled_bytes.saturating_add(bytes);
            }
            "elicitation/create" => self.elicited += 1,
            "roots/list" => self.rooted += 1,
            _ => {}
        }
    }

    /// The server says something that waits for no answer.
    pub(super) fn notified(&mut self, message: &Message) {
        self.said += 1;
        self.said_bytes = self.said_bytes.saturating_add(message.raw().len());
    }

    /// The client says something of its own accord.
    pub(super) fn spoke(&mut self, message: &Message) {
        self.said = 0;
        self.said_bytes = 0;
        match message.method() {
            Some("tools/call" | "prompts/get" | "resources/read") => {
                // The user goes on: what was declined may be a new question now.
                self.declined.clear();
                self.declines = 0;
            }
            Some("notifications/roots/list_changed") => self.rooted = 0,
            _ => {}
        }
    }

    /// The client answers a question to the user with this result.
    pub(super) fn answered(&mut self, question: Option<Fingerprint>, answer: Option<&Node>) {
        let Some(question) = question else { return };
        match answer.and_then(|result| result.member("action")).and_then(Node::as_str) {
            Some("decline" | "cancel") => {
                self.declines += 1;
                self.declined.insert(question);
            }
            Some("accept") => self.declines = 0,
            _ => {}
        }
    }
}

/// What makes two elicitations the same to a person: the words, the fields and
/// the address, whatever else differs.
pub(in crate::gate) fn question(params: &Node) -> Fingerprint {
    let text = |key| params.member(key).and_then(Node::as_str).unwrap_or_default();
    let mut whole = bare(text("message"));
    whole.extend(["\n", text("url"), "\n"]);
    let fields = params.pointer("/requestedSchema/properties").map(Node::members).unwrap_or_default();
    let names: BTreeSet<&str> = fields.iter().map(|field| field.key.as_str()).collect();
    whole.extend(names.into_iter().flat_map(|name| [name, "\n"]));
    Fingerprint::of(whole.as_bytes())
}
