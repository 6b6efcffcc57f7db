//! What a server does wrong on the wire.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::piece::Piece;
use crate::protocol::ServerName;

/// Misbehaviour of a server, triggered by the nth message with a method: a request,
/// or a notification, which has no reply but what is given here.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The method whose message triggers it; `open` is what the session opens with,
    /// `initialize` or `server/discover`. HTTP: `GET` or `DELETE` for requests that
    /// carry none.
    pub method: String,
    /// Which message with the method, from 1; every one unless given.
    #[serde(default)]
    pub nth: Option<u32>,
    /// Raw text sent instead of the reply. `{{id}}` stands for the request's id,
    /// `{{result}}` for the honest result, `{{reply}}` for the whole honest reply;
    /// for `{{repeat:…}}` and `{{pad:…}}` see [`super::blown_up`].
    #[serde(default)]
    pub reply: Option<String>,
    /// Raw text sent before the reply, with the same placeholders.
    #[serde(default)]
    pub before: Option<String>,
    /// Raw text sent after the reply, with the same placeholders.
    #[serde(default)]
    pub then: Option<String>,
    /// No reply at all.
    #[serde(default)]
    pub silent: bool,
    /// The connection ends instead of a reply.
    #[serde(default)]
    pub close: bool,
    /// The first text block of the result is padded to at least this many bytes.
    #[serde(default)]
    pub pad_to: Option<usize>,
    /// Held back until so many further messages of the client have come: replies
    /// out of order. What was asked later is answered meanwhile.
    #[serde(default)]
    pub hold: u32,
    /// How the reply is written, byte for byte: `{{reply}}` stands for what else
    /// would be said, `{{id}}` for the request's id. Not in memory.
    #[serde(default)]
    pub wire: Vec<Piece>,
    /// HTTP: raw text that goes on the stream of a GET before the reply, with the
    /// same placeholders. The client must have opened one.
    #[serde(default)]
    pub on_get: Option<String>,
    /// HTTP: only where a header of the request contains a text: `name: text`.
    #[serde(default)]
    pub asked_with: Option<String>,
    /// HTTP: informational responses (such as 100 and 103) that come before.
    #[serde(default)]
    pub interim: Vec<u16>,
    /// HTTP: this status code.
    #[serde(default)]
    pub status: Option<u16>,
    /// HTTP: this media type, or none where it is empty. `text/event-stream` makes the
    /// reply an event stream.
    #[serde(default)]
    pub content_type: Option<String>,
    /// HTTP: further headers of the response.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// HTTP: a redirect (307 unless `status` says otherwise) to this server.
    #[serde(default)]
    pub redirect: Option<ServerName>,
}

impl Fault {
    /// Whether only a server that writes every byte itself can play it on HTTP.
    pub fn is_exact(&self) -> bool {
        let frames = self.headers.keys().any(|name| is_framing(name));
        !self.wire.is_empty()
            || !self.interim.is_empty()
            || self.hold > 0
            || self.on_get.is_some()
            || frames
            || matches!(self.method.as_str(), "GET" | "DELETE")
    }

    /// Why it can't be played.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.asked_with.as_deref().is_some_and(|wanted| !wanted.contains(": ")) {
            return Some("`asked_with` is a header and a text in it: `name: text`");
        }
        self.wire.iter().find_map(|piece| piece.problem(false))
    }
}

/// Whether a header says how the body of its message is framed.
pub fn is_framing(name: &str) -> bool {
    ["content-length", "transfer-encoding"].iter().any(|framing| name.eq_ignore_ascii_case(framing))
}
