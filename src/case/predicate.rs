//! What a case may expect: statements about the transcript and the servers' state.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::ServerName;

/// One statement, true or false of a finished trial.
///
/// None of them mentions the gate: each is about what reached the server, what
/// reached the client, or what the server's state is now.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Predicate {
    /// A matching message reached a server.
    ServerGot(Seen),
    /// A matching message reached the client.
    ClientGot(Seen),
    /// A scripted server's state, at the end.
    State(StateIs),
    /// A server was launched in this way, as the server saw it (memory and stdio).
    Launched(LaunchedAs),
    /// What came back for a step.
    Reply(ReplyWants),
    /// The step's reply reached the client byte for byte as the server sent it.
    Unchanged(StepRef),
    /// Messages that match these reached a server one after another (others may
    /// come between).
    ServerGotInOrder(Vec<Seen>),
    /// The statement doesn't hold.
    Not(Box<Predicate>),
    /// At least one of these holds.
    Any(Vec<Predicate>),
}

/// Which messages count. Every field that is given must match.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Seen {
    /// To or from this server.
    pub server: Option<ServerName>,
    /// With this method; `open` is `initialize` or `server/discover`.
    pub method: Option<String>,
    /// A `tools/call` of this tool.
    pub tool: Option<String>,
    /// With this text anywhere: in the raw bytes, or in a string once unescaped.
    pub text: Option<String>,
    /// With a value at this JSON pointer.
    pub pointer: Option<String>,
    /// Which equals this JSON text (numbers by spelling, objects whatever their order).
    pub equals: Option<String>,
    /// With this HTTP header (lower case) …
    pub header: Option<String>,
    /// … whose value contains this.
    pub value: Option<String>,
    /// In an HTTP response with this status.
    pub status: Option<u16>,
    /// How many messages must match: at least 1 unless given.
    pub exactly: Option<usize>,
}

/// A statement about a launch, as the server saw it. Every field that is given
/// must match.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LaunchedAs {
    /// Which server; the case's first one unless given.
    pub server: Option<ServerName>,
    /// With this among its arguments.
    pub argument: Option<String>,
    /// With this environment variable …
    pub env: Option<String>,
    /// … whose value contains this.
    pub value: Option<String>,
}

/// A statement about a scripted server's state.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateIs {
    /// Which server; the case's first one unless given.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// Where in the state.
    pub pointer: String,
    /// The value there, as JSON text.
    #[serde(default)]
    pub equals: Option<String>,
    /// Nothing stands there.
    #[serde(default)]
    pub absent: bool,
}

/// A statement about what came back for a step. Every field that is given must
/// match; a step of several pages or repetitions matches if one of them does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplyWants {
    /// The label of the step.
    pub of: String,
    /// `true`: a result that is not `isError`. `false`: an error, an `isError`
    /// result, an HTTP error.
    #[serde(default)]
    pub ok: Option<bool>,
    /// A JSON-RPC error with this code.
    #[serde(default)]
    pub code: Option<i64>,
    /// A result with this `isError`.
    #[serde(default)]
    pub is_error: Option<bool>,
    /// An HTTP response with this status and no reply in it.
    #[serde(default)]
    pub status: Option<u16>,
    /// With this text in a string of it.
    #[serde(default)]
    pub text: Option<String>,
    /// With a value at this JSON pointer, from the root of the message.
    #[serde(default)]
    pub pointer: Option<String>,
    /// Which equals this JSON text.
    #[serde(default)]
    pub equals: Option<String>,
    /// With a tool of this name listed in it.
    #[serde(default)]
    pub lists: Option<String>,
    /// How many pages or repetitions must match: at least 1 unless given.
    #[serde(default)]
    pub exactly: Option<usize>,
}

/// A step by its label.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRef {
    /// The label.
    pub of: String,
}
