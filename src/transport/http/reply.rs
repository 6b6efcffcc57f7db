//! What an owner answers an HTTP exchange with.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    super::{Carrier, Exchange, Form, Frame, Headers, ReplyHead, header},
    sse,
};

fn reply(exchange: Exchange, head: ReplyHead, form: Form, body: Bytes) -> Frame {
    Frame { exchange, carrier: Carrier::Reply { head: Arc::new(head), form, mark: None }, body }
}

/// A whole response.
pub fn whole(exchange: Exchange, status: u16, headers: Headers, body: impl Into<Bytes>) -> Frame {
    reply(exchange, ReplyHead { status, headers }, Form::Whole, body.into())
}

/// The empty 202 that a notification or a response is accepted with.
pub fn accepted(exchange: Exchange) -> Frame {
    whole(exchange, 202, Headers::new(), Bytes::new())
}

/// One event of an event stream, which it starts if need be; `headers` (such as
/// a session id) count only then.
pub fn event(exchange: Exchange, headers: Headers, message: impl Into<Bytes>) -> Frame {
    reply(exchange, events(headers), Form::Event, message.into())
}

/// Starts an event stream without an event: an event with no bytes, which no
/// message has. This is how a GET is answered, and how its answer arrives.
pub fn open_stream(exchange: Exchange, headers: Headers) -> Frame {
    event(exchange, headers, Bytes::new())
}

/// Ends an event stream.
pub fn end(exchange: Exchange) -> Frame {
    reply(exchange, events(Headers::new()), Form::End, Bytes::new())
}

fn events(mut headers: Headers) -> ReplyHead {
    if header(&headers, "content-type").is_none() {
        headers.push(("content-type".to_owned(), sse::MEDIA_TYPE.to_owned()));
    }
    ReplyHead { status: 200, headers }
}
