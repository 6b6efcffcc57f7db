//! Carries messages between two ends and knows no policy.
//!
//! Every transport ends in the same value: a [`Connection`], a pair of channels
//! of [`Frame`]s. Where nobody objects, a transport does what a careless client
//! would (follows the redirect, takes any media type and any size), so that
//! transport attacks succeed unless a gate's check stops them: a [`Referee`] is
//! asked at each such point.

pub mod bridge;
mod connection;
mod frame;
pub mod http;
mod ledger;
mod memory;
mod referee;
pub mod stdio;

pub use connection::{Close, Connection, Launch, Target, Tasks};
pub use frame::{Carrier, Exact, Exchange, Form, Frame, Headers, Mark, ReplyHead, Verb, header};
pub(crate) use ledger::Ledger;
pub use memory::pair;
pub use referee::{Careless, Go, Redirect, Referee};

/// The three ways a case travels.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Values handed over in one process.
    Memory,
    /// Child processes, one message a line.
    Stdio,
    /// Streamable HTTP over loopback.
    Http,
}

impl Kind {
    /// All of them, the cheapest first.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Stdio, Self::Http];

    /// The word for it on the command line and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
