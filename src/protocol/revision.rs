//! The MCP revisions that trials are played in.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How a session of a revision opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, then `notifications/initialized`.
    Handshake,
    /// Not at all: every request says in its `_meta` what it is spoken in.
    Stateless,
}

impl Era {
    /// The era of a version as the wire spells it, known or not: dates sort as text.
    pub fn of(version: &str) -> Self {
        if version >= Revision::V2026_07_28.as_str() { Self::Stateless } else { Self::Handshake }
    }
}

/// A revision of the MCP specification.
///
/// Whoever plays a session asks [`Revision::era`] and never compares dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Revision {
    /// Streamable HTTP; the one revision with batches.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// `MCP-Protocol-Version` header, structured results.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// Input errors as `isError` results, JSON Schema 2020-12.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// No handshake, no sessions; results in several rounds.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 4] = [Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// What a case is played in when it doesn't say.
    pub const DEFAULT: Self = Self::V2025_06_18;
    /// The newest one that opens with a handshake.
    pub const LAST_HANDSHAKE: Self = Self::V2025_11_25;

    /// The date, as the wire spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// How a session opens.
    pub fn era(self) -> Era {
        match self {
            Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => Era::Handshake,
            Self::V2026_07_28 => Era::Stateless,
        }
    }

    /// Whether a receiver must take JSON-RPC batches.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether HTTP requests after the opening carry `MCP-Protocol-Version`.
    pub fn has_version_header(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether arguments that a tool can't take come back as an `isError`
    /// result instead of a protocol error.
    pub fn input_errors_are_results(self) -> bool {
        self >= Self::V2025_11_25
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A date that names no known revision.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown revision '{0}', expected one of 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28")]
pub struct UnknownRevision(String);

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, UnknownRevision> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text).ok_or_else(|| UnknownRevision(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_come_back() {
        for revision in Revision::ALL {
            assert_eq!(revision.as_str().parse(), Ok(revision));
            assert_eq!(serde_json::to_value(revision).unwrap(), revision.as_str());
        }
        assert!("2024-11-05".parse::<Revision>().is_err());
    }

    #[test]
    fn a_spelling_has_the_era_of_its_revision() {
        for revision in Revision::ALL {
            assert_eq!(Era::of(revision.as_str()), revision.era());
        }
        assert_eq!((Era::of("2024-11-05"), Era::of("2027-01-01")), (Era::Handshake, Era::Stateless));
    }
}
