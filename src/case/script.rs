//! The steps of a case: what client, host and servers do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    model::Overlay,
    piece::{End, Piece},
    repeat::Repeat,
};
use crate::protocol::ServerName;

/// The host's side of a session.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// The user at the keyboard, by the name of a principal in the servers'
    /// fixtures. The host holds this user's delegated token for each server
    /// whose fixture has one, unless `delegations` says otherwise.
    pub user: Option<String>,
    /// Servers for which the host holds a delegated token; all unless given.
    pub delegations: Option<Vec<ServerName>>,
    /// Headers that the client sends to the gate (HTTP only).
    pub headers: BTreeMap<String, String>,
    /// What the gate's store of approvals holds at the start, as raw text; a
    /// store that nothing was ever put in unless given. Every server is reached
    /// by the arguments `gateproof-endpoint` and its name, on any transport.
    pub pin_store: Option<String>,
    /// What the client answers to a server's request, by method: the `result`
    /// as JSON text. Requests that aren't named get a -32601.
    pub answers: BTreeMap<String, String>,
}

/// How the host launches a server (memory and stdio only).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Launch {
    /// The command, argument by argument; a stable one of the harness's own unless given.
    pub argv: Option<Vec<String>>,
    /// The environment that the host would hand down.
    pub env: BTreeMap<String, String>,
    /// Where the host read it: `project`, `user` or `system`; `user` unless given.
    pub layer: Option<Layer>,
}

/// The configuration layer that a launch was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// A file that came with the folder that is worked in.
    Project,
    /// The user's own.
    User,
    /// The machine's.
    System,
}

/// HTTP headers of one message: by name, one value or several, which are sent as
/// often. A single empty value takes the client's own header of that name away;
/// `[""]` sends an empty one.
pub type OwnHeaders = BTreeMap<String, HeaderValue>;

/// One value or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HeaderValue {
    /// One.
    One(String),
    /// Several, each in a header of its own.
    Many(Vec<String>),
}

impl HeaderValue {
    /// The values that are sent.
    pub fn sent(&self) -> &[String] {
        match self {
            Self::One(value) if value.is_empty() => &[],
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

/// One thing that happens. Each step ends before the next begins.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// The client connects and opens the session as the revision has it.
    Open(Open),
    /// The client lists, page after page: `tools`, `resources`, `templates` or `prompts`.
    List(List),
    /// The client calls a tool.
    Call(Call),
    /// The client sends a request with a typed method.
    Request(Request),
    /// The client sends a notification.
    Notify(Notify),
    /// The client sends raw text.
    Send(Raw),
    /// The gullible host: makes this call if the text reached the client.
    Obey(Obey),
    /// The host approves what the server lists now (and re-approves after a change).
    Approve(On),
    /// The user consents to one call, with exactly these arguments.
    Consent(Consent),
    /// The server changes.
    Mutate(Mutation),
    /// The server sends a notification or a request of its own.
    Emit(Emit),
    /// The client closes and connects anew; `open` again afterwards.
    Reconnect(On),
    /// The gate restarts: connections to all servers end, and what it knew of the
    /// session is gone. What it stored stays. `open` again afterwards.
    Restart(Restart),
    /// Sends these at once and then waits for all.
    Together(Vec<Step>),
    /// Plays these many times over.
    Repeat(Repeat),
}

/// A server by name; the case's first one unless given.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct On {
    /// Which server.
    pub server: Option<ServerName>,
}

/// The gate restarts.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restart {}

/// Opens a session.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Open {
    /// Which server.
    pub server: Option<ServerName>,
    /// What to call this step; `open-<n>` unless given.
    #[serde(rename = "as")]
    pub label: Option<String>,
    /// How: `initialize`, `discover`, or `discover-then-fallback` for a client of
    /// both eras; as the trial's revision has it unless given.
    pub opening: Option<String>,
    /// Another version than the trial's revision, as the client asks for it.
    pub version: Option<String>,
    /// Client capabilities, as JSON text; `{}` unless given.
    pub capabilities: Option<String>,
    /// Launched in another way than the case's `servers` say.
    pub launch: Option<Launch>,
    /// HTTP headers of this request alone; see [`OwnHeaders`].
    pub headers: OwnHeaders,
}

/// The user consents to one call.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Consent {
    /// Which server.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// Which tool.
    pub tool: String,
    /// The arguments that the user was shown, as JSON text; `{}` unless given.
    #[serde(default)]
    pub arguments: Option<String>,
}

/// Lists something.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Which server.
    pub server: Option<ServerName>,
    /// What to call this step; `list-<n>` unless given.
    #[serde(rename = "as")]
    pub label: Option<String>,
    /// `tools` unless given.
    pub what: Option<String>,
    /// HTTP headers of these requests alone; see [`OwnHeaders`].
    pub headers: OwnHeaders,
}

/// Calls a tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Which server.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// What to call this step; `call-<n>` unless given.
    #[serde(default, rename = "as")]
    pub label: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// The arguments as raw JSON text, put on the wire as it stands; absent: no `arguments` member.
    #[serde(default)]
    pub arguments: Option<String>,
    /// The `_meta` of the request, as raw JSON text.
    #[serde(default)]
    pub meta: Option<String>,
    /// HTTP headers of this request alone; see [`OwnHeaders`].
    #[serde(default)]
    pub headers: OwnHeaders,
    /// How long to wait.
    #[serde(default)]
    pub until: Until,
}

/// A request with any method.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Which server.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// What to call this step; `request-<n>` unless given.
    #[serde(default, rename = "as")]
    pub label: Option<String>,
    /// The method.
    pub method: String,
    /// The params as raw JSON text; absent: no `params` member.
    #[serde(default)]
    pub params: Option<String>,
    /// HTTP headers of this request alone; see [`OwnHeaders`].
    #[serde(default)]
    pub headers: OwnHeaders,
    /// How long to wait.
    #[serde(default)]
    pub until: Until,
}

/// A notification from the client.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Which server.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// What to call this step; `notify-<n>` unless given.
    #[serde(default, rename = "as")]
    pub label: Option<String>,
    /// The method.
    pub method: String,
    /// The params as raw JSON text.
    #[serde(default)]
    pub params: Option<String>,
}

/// Raw text from the client.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Raw {
    /// Which server.
    pub server: Option<ServerName>,
    /// What to call this step; `send-<n>` unless given.
    #[serde(rename = "as")]
    pub label: Option<String>,
    /// The text; `{{id}}` stands for a fresh request id, and for `{{repeat:…}}` and
    /// `{{pad:…}}` see [`super::blown_up`].
    pub text: Option<String>,
    /// Bytes that are not UTF-8, in base64, instead of `text`.
    pub base64: Option<String>,
    /// How the message is written, byte for byte, in which `{{sent}}` stands for it;
    /// on stdio one line, on HTTP one whole body unless given. Not in memory.
    pub wire: Vec<Piece>,
    /// HTTP headers of this message alone; see [`OwnHeaders`].
    pub headers: OwnHeaders,
    /// Sent as it stands in every revision: nothing is added that the stateless era
    /// asks of each request.
    pub bare: bool,
    /// HTTP: the method of the request; `post` unless given.
    pub verb: Verb,
    /// How long to wait.
    pub until: Until,
}

/// What an HTTP request is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// It carries a message.
    #[default]
    Post,
    /// It opens the stream on which the server speaks unasked.
    Get,
    /// It ends the session.
    Delete,
}

/// A call made only by a host that believes what it reads.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Obey {
    /// The text that must have reached the client.
    pub seen: String,
    /// What it then calls.
    pub call: Call,
}

/// What ends the waiting of a step. Whatever it waits for, the connection's end
/// and the trial's deadline end it too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// A reply with the request's own id (on HTTP also a response without one).
    #[default]
    Reply,
    /// Any message from the server: for replies that come under a wrong id.
    Any,
    /// Nothing: the step only sends.
    Sent,
}

/// A change of a server in the middle of a session.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// Which server.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// The change, as in an overlay.
    pub overlay: Overlay,
    /// Takes effect only after this many further requests; at once unless given.
    #[serde(default)]
    pub after_requests: Option<u32>,
    /// Whether the server announces it with a `list_changed` notification.
    #[serde(default)]
    pub announce: bool,
}

/// A message that the server sends unasked.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Emit {
    /// Which server.
    #[serde(default)]
    pub server: Option<ServerName>,
    /// The message, as raw JSON text; `{{n}}` stands for the count of those sent.
    pub text: String,
    /// Each is drawn out with blanks to at least this many bytes.
    #[serde(default)]
    pub pad_to: Option<usize>,
    /// How many are sent at once; 1 unless given.
    #[serde(default)]
    pub times: Option<u32>,
}

impl Raw {
    /// Why it can't be played.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let mut pieces = self.wire.iter().rev();
        pieces.next().and_then(|piece| piece.problem(true)).or_else(|| {
            pieces.find_map(|piece| match piece.end {
                Some(End::Close | End::HalfClose) => Some("what ends a connection is its last piece"),
                None => piece.problem(true),
            })
        })
    }
}

impl Step {
    /// The server that the step names.
    pub fn server(&self) -> Option<&ServerName> {
        match self {
            Self::Open(step) => step.server.as_ref(),
            Self::List(step) => step.server.as_ref(),
            Self::Call(step) => step.server.as_ref(),
            Self::Request(step) => step.server.as_ref(),
            Self::Notify(step) => step.server.as_ref(),
            Self::Send(step) => step.server.as_ref(),
            Self::Obey(step) => step.call.server.as_ref(),
            Self::Approve(step) | Self::Reconnect(step) => step.server.as_ref(),
            Self::Consent(step) => step.server.as_ref(),
            Self::Mutate(step) => step.server.as_ref(),
            Self::Emit(step) => step.server.as_ref(),
            Self::Together(_) | Self::Repeat(_) | Self::Restart(_) => None,
        }
    }

    /// The steps that it is made of, where it is a group.
    pub fn inner(&self) -> &[Self] {
        match self {
            Self::Together(steps) => steps,
            Self::Repeat(repeat) => repeat.round(),
            _ => &[],
        }
    }

    /// The verb that default labels are made of, and the label given; `None`
    /// for steps of which the client sends nothing.
    fn naming(&self) -> Option<(&'static str, Option<&str>)> {
        Some(match self {
            Self::Open(step) => ("open", step.label.as_deref()),
            Self::List(step) => ("list", step.label.as_deref()),
            Self::Call(step) => ("call", step.label.as_deref()),
            Self::Request(step) => ("request", step.label.as_deref()),
            Self::Notify(step) => ("notify", step.label.as_deref()),
            Self::Send(step) => ("send", step.label.as_deref()),
            Self::Obey(step) => ("obey", step.call.label.as_deref()),
            Self::Approve(_)
            | Self::Consent(_)
            | Self::Mutate(_)
            | Self::Emit(_)
            | Self::Reconnect(_)
            | Self::Restart(_)
            | Self::Together(_)
            | Self::Repeat(_) => return None,
        })
    }
}

/// Whether a step writes bytes of its own making.
pub(super) fn is_exact(step: &Step) -> bool {
    match step {
        Step::Send(raw) => !raw.wire.is_empty(),
        other => other.inner().iter().any(is_exact),
    }
}

/// Whether a step ends the client's side of a connection.
pub(super) fn ends(step: &Step) -> bool {
    match step {
        Step::Send(raw) => raw.wire.iter().any(|piece| piece.end.is_some()),
        other => other.inner().iter().any(ends),
    }
}

/// The labels of steps in order, those in groups included, each with its step:
/// one for all repetitions of a step.
pub fn labels(steps: &[Step]) -> Vec<(String, &Step)> {
    fn walk<'a>(steps: &'a [Step], counts: &mut BTreeMap<&'static str, usize>, out: &mut Vec<(String, &'a Step)>) {
        for step in steps {
            walk(step.inner(), counts, out);
            if let Some((verb, label)) = step.naming() {
                let count = counts.entry(verb).or_default();
                *count += 1;
                out.push((label.map_or_else(|| format!("{verb}-{count}"), str::to_owned), step));
            }
        }
    }
    let mut out = Vec::new();
    walk(steps, &mut BTreeMap::new(), &mut out);
    out
}

/// How a client opens a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// By the handshake.
    Initialize,
    /// By asking what the server speaks.
    Discover,
    /// The same, and by the handshake where the server is of that era.
    DiscoverThenFallback,
}

impl Opening {
    /// How cases spell them.
    pub const NAMES: [&str; 3] = ["initialize", "discover", "discover-then-fallback"];

    /// Reads a name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "initialize" => Self::Initialize,
            "discover" => Self::Discover,
            "discover-then-fallback" => Self::DiscoverThenFallback,
            _ => return None,
        })
    }
}

/// Whether a step listens to what a server says of its own accord.
pub fn listens(step: &Step) -> bool {
    const LISTEN: &str = "subscriptions/listen";
    match step {
        Step::Request(request) => request.method == LISTEN,
        Step::Send(raw) => raw.text.as_ref().is_some_and(|text| text.contains(LISTEN)),
        other => other.inner().iter().any(listens),
    }
}

/// Whether a step makes a server speak unasked: on HTTP that needs a stream.
pub fn speaks_unasked(step: &Step) -> bool {
    match step {
        Step::Emit(_) => true,
        Step::Mutate(mutation) => mutation.announce,
        other => other.inner().iter().any(speaks_unasked),
    }
}
