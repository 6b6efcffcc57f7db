//! What a gate answers.

use bytes::Bytes;

use super::CheckId;

/// What a check did to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The whole message was refused.
    Refused,
    /// An item was taken out of a listing.
    Withheld,
    /// Something in it was replaced.
    Rewrote,
    /// Noted only.
    Noted,
}

/// One check's word on one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which check.
    pub check: CheckId,
    /// Which of its rules.
    pub rule: &'static str,
    /// Plain words that never echo a payload or a secret.
    pub why: String,
    /// What came of it.
    pub act: Act,
}

/// Changes to an event that passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// The message's new bytes.
    pub body: Option<Bytes>,
    /// HTTP headers to set, or to take away.
    pub headers: Vec<(String, Option<String>)>,
    /// Environment variables to set, or to take away, before a launch.
    pub env: Vec<(String, Option<String>)>,
}

/// What is done with an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It passes as it is.
    Forward,
    /// It passes with changes.
    Rewrite(Rewrite),
    /// It is a batch that may be taken apart: each message of it is to be decided
    /// over as if it came alone, and nothing of it passes unless that is done.
    Each,
    /// It doesn't pass. `reply` answers the request that it belongs to: it goes
    /// to the client, or to the server where the message was a request of the
    /// server's own. Without one, nobody is waiting.
    Refuse {
        /// A whole JSON-RPC error, ready to send.
        reply: Option<Bytes>,
        /// The HTTP status that the specification demands for it, where a request
        /// of the client's is refused on HTTP; 200 (or 202 without a reply) unless given.
        status: Option<u16>,
    },
}

/// A decision and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What is done.
    pub decision: Decision,
    /// What each check said.
    pub findings: Vec<Finding>,
    /// What checks said that are looked at and not enforced.
    pub shadow: Vec<Finding>,
}

impl Ruling {
    /// Passes as it is.
    pub fn forward() -> Self {
        Self { decision: Decision::Forward, findings: Vec::new(), shadow: Vec::new() }
    }
}
