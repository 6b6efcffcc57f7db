//! What a transport carries: one message, and how it travelled.

use std::sync::Arc;

use bytes::Bytes;

/// Ties a reply to the request that carries it.
///
/// The sender of a request picks the number; on HTTP it names one POST. A relay
/// passes it on unchanged. [`Exchange::NONE`] is the stream on which a server
/// speaks unasked (stdio and memory have no other).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Exchange(pub u64);

impl Exchange {
    /// Belongs to no request.
    pub const NONE: Self = Self(0);
}

/// Header names in lower case with their values, in order.
pub type Headers = Vec<(String, String)>;

/// The first value of a header. `name` is lower case.
pub fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The HTTP method of a requestward frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Carries a message.
    Post,
    /// Opens the stream on which the server speaks unasked.
    Get,
    /// Ends the session.
    Delete,
}

/// The head of an HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyHead {
    /// The status code.
    pub status: u16,
    /// The headers that say something about the message (lower case names);
    /// framing headers belong to each hop and are left out.
    pub headers: Headers,
}

/// How a frame's bytes stood in an HTTP response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The whole body (which may be empty).
    Whole,
    /// One event of an event stream.
    Event,
    /// No bytes: the stream ended.
    End,
    /// No bytes: the referee stopped the exchange.
    Stopped,
}

/// What an event says beside its message: where a client that was cut off goes
/// on, and when it comes back. An event may have a mark and no message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The event's id, which may be empty.
    pub id: Option<String>,
    /// After how many milliseconds to come back.
    pub retry: Option<u64>,
}

/// How a frame travelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A line (stdio), or a value handed over in memory.
    Line,
    /// An HTTP request.
    Request {
        /// Its method.
        verb: Verb,
        /// Its headers, framing left out.
        headers: Headers,
    },
    /// Exactly these bytes instead of the message in its framing: for those who break
    /// framing on purpose. Nothing that was received is carried so.
    Exact(Arc<Exact>),
    /// A part of an HTTP response.
    Reply {
        /// The head that it came with.
        head: Arc<ReplyHead>,
        /// How the bytes stood in it.
        form: Form,
        /// What the event said beside them.
        mark: Option<Arc<Mark>>,
    },
    /// Requestward, without bytes: whoever asked on this exchange went away and
    /// reads no answer.
    Gone,
}

/// Bytes as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    /// One write each. On a stream of lines they stand as they are; on HTTP they are
    /// the body of a request on a connection of its own, each a chunk, unless
    /// `headers` say how they are framed.
    pub writes: Vec<Bytes>,
    /// HTTP: the method.
    pub verb: Verb,
    /// HTTP: the headers.
    pub headers: Headers,
}

/// One message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Which request it belongs to.
    pub exchange: Exchange,
    /// How it travelled.
    pub carrier: Carrier,
    /// The message, byte for byte (without the line end or the event framing).
    pub body: Bytes,
}

impl Frame {
    /// A frame without HTTP dress.
    pub fn line(exchange: Exchange, body: impl Into<Bytes>) -> Self {
        Self { exchange, carrier: Carrier::Line, body: body.into() }
    }

    /// The response head, on HTTP.
    pub fn reply_head(&self) -> Option<&ReplyHead> {
        match &self.carrier {
            Carrier::Reply { head, .. } => Some(head),
            _ => None,
        }
    }

    /// What the event says beside its message.
    pub fn mark(&self) -> Option<&Mark> {
        match &self.carrier {
            Carrier::Reply { mark, .. } => mark.as_deref(),
            _ => None,
        }
    }

    /// The request headers, on HTTP.
    pub fn request_headers(&self) -> Option<&Headers> {
        match &self.carrier {
            Carrier::Request { headers, .. } => Some(headers),
            _ => None,
        }
    }
}
