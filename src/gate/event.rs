//! What a gate is shown.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::{Direction, Id, Message, ServerName};

/// How a server is reached; this is its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A command, argument by argument.
    Argv(Vec<String>),
    /// An HTTP endpoint.
    Url(String),
    /// An endpoint in the same process.
    Memory,
}

/// Where a host read how a server is launched. What stands higher up may speak
/// for what stands lower; never the other way round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// A file that came with the folder that is worked in: anyone may have written it.
    Project,
    /// The user's own configuration.
    #[default]
    User,
    /// The machine's, or the organisation's.
    System,
}

/// A server is about to be started or reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Which server.
    pub server: ServerName,
    /// How.
    pub reach: Reach,
    /// The environment that it will get.
    pub env: BTreeMap<String, String>,
    /// Where the host read that.
    pub layer: Layer,
}

/// What an HTTP request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It carries a message.
    Post,
    /// It opens the stream on which the server speaks unasked.
    Get,
    /// It ends a session.
    Delete,
}

/// The client's HTTP request that something came in on: its own, for what goes to
/// the server; for what comes back, the one whose response carries it.
#[derive(Clone, Copy, Debug)]
pub struct Via<'a> {
    /// What it is for.
    pub verb: Verb,
    /// Its headers as the client sent them, names in lower case.
    pub headers: &'a [(String, String)],
}

/// The head of an HTTP response has come; its body has not been read.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Which server.
    pub server: &'a ServerName,
    /// The request that it answers, where one was asked.
    pub answers: Option<&'a Id>,
    /// The status code.
    pub status: u16,
    /// Its headers, names in lower case.
    pub headers: &'a [(String, String)],
    /// The client's request that it answers.
    pub via: Option<Via<'a>>,
}

/// A server asks to be asked elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Hop<'a> {
    /// Which server.
    pub server: &'a ServerName,
    /// The request that was asked, where it was one.
    pub answers: Option<&'a Id>,
    /// The URL that was asked.
    pub from: &'a str,
    /// The absolute URL that it points to.
    pub to: &'a str,
    /// The status code.
    pub status: u16,
}

/// A message is about to pass.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// Whose session.
    pub server: &'a ServerName,
    /// Which way.
    pub direction: Direction,
    /// The message.
    pub message: &'a Message,
    /// Its HTTP headers, names in lower case; `None` where there is no HTTP.
    pub headers: Option<&'a [(String, String)]>,
    /// The client's request that it came in on; `None` where there is no HTTP.
    pub via: Option<Via<'a>>,
    /// It came in a batch, which was taken apart.
    pub batched: bool,
}

/// No answer will come to a request any more: its response broke off, was no
/// answer, or whoever asked went away. Whether the server did what it was asked
/// is not known.
#[derive(Clone, Copy, Debug)]
pub struct Unanswered<'a> {
    /// Which server.
    pub server: &'a ServerName,
    /// The request.
    pub id: &'a Id,
}

/// The host approves what a server listed last.
#[derive(Clone, Copy, Debug)]
pub struct Approval<'a> {
    /// Which server.
    pub server: &'a ServerName,
}

/// The user consents to one call: this tool with exactly these arguments, once.
#[derive(Clone, Copy, Debug)]
pub struct Consent<'a> {
    /// Which server.
    pub server: &'a ServerName,
    /// Which tool.
    pub tool: &'a str,
    /// The arguments as the user was shown them, as JSON text.
    pub arguments: &'a str,
}

/// Something that a gate decides over.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Before a server is started or reached.
    Opening(&'a Opening),
    /// Before the body of an HTTP response is read.
    Head(Head<'a>),
    /// Before a redirect is followed.
    Hop(Hop<'a>),
    /// Before a message is forwarded.
    Passing(Passing<'a>),
    /// After all hope for an answer is gone; there is nothing to stop.
    Unanswered(Unanswered<'a>),
    /// The host approves.
    Approval(Approval<'a>),
    /// The user consents to one call.
    Consent(Consent<'a>),
}

impl Event<'_> {
    /// Whose session it belongs to.
    pub fn server(&self) -> &ServerName {
        match self {
            Self::Opening(opening) => &opening.server,
            Self::Head(head) => head.server,
            Self::Hop(hop) => hop.server,
            Self::Passing(passing) => passing.server,
            Self::Unanswered(unanswered) => unanswered.server,
            Self::Approval(approval) => approval.server,
            Self::Consent(consent) => consent.server,
        }
    }

    /// Which way it goes, where it is a message; replyward for heads and hops.
    pub fn direction(&self) -> Direction {
        match self {
            Self::Opening(_) | Self::Approval(_) | Self::Consent(_) => Direction::Requestward,
            Self::Head(_) | Self::Hop(_) | Self::Unanswered(_) => Direction::Replyward,
            Self::Passing(passing) => passing.direction,
        }
    }

    /// The client's HTTP request that it came in on.
    pub(super) fn via(&self) -> Option<Via<'_>> {
        match self {
            Self::Head(head) => head.via,
            Self::Passing(passing) => passing.via,
            Self::Opening(_) | Self::Hop(_) | Self::Unanswered(_) | Self::Approval(_) | Self::Consent(_) => None,
        }
    }

    /// The request that a head or a hop belongs to.
    pub(super) fn answers(&self) -> Option<&Id> {
        match self {
            Self::Head(Head { answers, .. }) | Self::Hop(Hop { answers, .. }) => *answers,
            Self::Opening(_) | Self::Passing(_) | Self::Unanswered(_) | Self::Approval(_) | Self::Consent(_) => None,
        }
    }
}
