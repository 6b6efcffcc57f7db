//! What the gate under test says it did: for attribution, never for judging.

use serde::{Deserialize, Serialize};

use crate::protocol::{Direction, ServerName};

/// What a check did to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// The whole message was refused.
    Refused,
    /// An item was taken out of a listing.
    Withheld,
    /// Something in it was replaced.
    Rewrote,
    /// Noted only: the rule could not be enforced, or changed nothing.
    Noted,
    /// Nothing: the check is looked at and not enforced. It would have acted.
    Would,
}

/// One check's word on one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrailEntry {
    /// Whose session.
    pub server: ServerName,
    /// Which way the message went.
    pub direction: Direction,
    /// The check's id.
    pub check: String,
    /// The rule within the check.
    pub rule: String,
    /// Plain words, without the payload.
    pub why: String,
    /// What came of it.
    pub act: Act,
}

/// A gate's own account of a trial, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trail(pub Vec<TrailEntry>);

impl Trail {
    /// The checks that stopped something, in order, each once.
    pub fn stoppers(&self) -> Vec<&str> {
        self.checks(|act| !matches!(act, Act::Noted | Act::Would))
    }

    /// The checks that acted, or would have if they had been enforced. What the
    /// others are set to makes no difference to what happened.
    pub fn speakers(&self) -> Vec<&str> {
        self.checks(|act| act != Act::Noted)
    }

    fn checks(&self, counts: impl Fn(Act) -> bool) -> Vec<&str> {
        let mut seen = Vec::new();
        for entry in self.0.iter().filter(|entry| counts(entry.act)) {
            if !seen.contains(&entry.check.as_str()) {
                seen.push(entry.check.as_str());
            }
        }
        seen
    }
}
