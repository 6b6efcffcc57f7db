//! What stands in the way of an admission, and what would change it.

use serde::Serialize;

/// What kind of thing stands in the way. In the order in which they are looked at:
/// where the evidence can't be trusted, nothing that it says matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// With nothing in the way an attack did not succeed, or honest work broke: the
    /// harness or the case is at fault, and nothing can be said of the gate.
    Control,
    /// Only a part of the cases was selected.
    Shard,
    /// A baseline is of another corpus.
    Digest,
    /// A must case could not be judged.
    Blocked,
    /// A must case was not played.
    Untested,
    /// A must case failed.
    Failed,
    /// The client was told no, and the server got the request all the same.
    Leak,
    /// More of something than the limit allows.
    Limit,
    /// A must case passed in the baseline and does not now.
    Regression,
    /// A waiver that has had its day, or matches nothing that it could waive.
    Waiver,
}

impl Why {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Shard => "shard",
            Self::Digest => "digest",
            Self::Blocked => "blocked",
            Self::Untested => "untested",
            Self::Failed => "failed",
            Self::Leak => "leak",
            Self::Limit => "limit",
            Self::Regression => "regression",
            Self::Waiver => "waiver",
        }
    }

    /// Whether more evidence could take it away; else the gate (or a waiver) must change.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Control | Self::Shard | Self::Digest | Self::Blocked | Self::Untested)
    }
}

/// One thing that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// What kind.
    pub why: Why,
    /// The case, or the waiver's id; empty where it is about none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub case: String,
    /// On which transports, where it is about a case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transports: Vec<&'static str>,
    /// What was seen, in plain words.
    pub what: String,
    /// What would change it.
    pub next: String,
}
