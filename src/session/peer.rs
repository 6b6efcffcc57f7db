//! The client's end of one server's session.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::{
    case::{End, OwnHeaders, Piece, Until},
    protocol::{Direction, Id, Leg, Message, Mirrors, ServerName, Shape, meta},
    transcript::{Answer, Crossing, Dress, Event, Recorder},
    transport::{Carrier, Close, Connection, Exact, Exchange, Form, Frame, Headers, Verb, header},
};

/// Something a step waits for.
#[derive(Debug)]
pub(super) struct Awaited {
    pub(super) id: Option<Id>,
    pub(super) exchange: Exchange,
    pub(super) until: Until,
    pub(super) answer: Option<Answer>,
    /// When it was handed to the transport.
    pub(super) sent: Instant,
    /// How long the answer took.
    pub(super) took: Option<Duration>,
}

impl Awaited {
    fn answered(&mut self, answer: Answer, at: Instant) {
        self.answer = Some(answer);
        self.took = Some(at.duration_since(self.sent));
    }
}

/// One connection of the client.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) server: ServerName,
    pub(super) connection: Connection,
    /// Whether messages travel as HTTP requests.
    pub(super) http: bool,
    /// Headers of every request.
    pub(super) headers: Headers,
    /// What the client answers to the server's requests, by method.
    pub(super) answers: BTreeMap<String, String>,
    /// HTTP requests whose response has not ended.
    pub(super) open_exchanges: BTreeSet<Exchange>,
    /// What was taken in so far, in bytes.
    pub(super) taken: usize,
    /// What every request says of itself, where the session is of the stateless era.
    pub(super) stateless: Option<Stateless>,
    /// What has to stand in headers as well, by tool.
    pub(super) mirrors: Mirrors,
    /// The `subscriptions/listen` that waits for what the server says unasked.
    pub(super) subscription: Option<Id>,
}

/// What a client of the stateless era says with every request.
#[derive(Clone, Debug)]
pub(super) struct Stateless {
    /// The version that it speaks.
    pub(super) version: String,
    /// What it can do, as JSON text.
    pub(super) capabilities: String,
}

impl Stateless {
    /// The message with what it has to say of itself. One that says so already is
    /// left as it is, and so is what is no request.
    pub(super) fn woven(&self, body: Bytes) -> Bytes {
        let message = Message::new(body.clone());
        if message.shape() != Shape::Request || message.is_stateless() {
            return body;
        }
        message.with_meta(&format!(
            r#""{}":{},"{}":{},"{}":{{"name":"gateproof","version":"{}"}}"#,
            meta::VERSION,
            serde_json::Value::from(self.version.as_str()),
            meta::CAPABILITIES,
            self.capabilities,
            meta::CLIENT_INFO,
            env!("CARGO_PKG_VERSION")
        ))
    }
}

/// The most that is taken in of one connection, in bytes: everything is kept for the
/// judge, and no session of the corpus comes near it.
const MOST: usize = 64 << 20;

/// What keeping a message costs beside its bytes.
const BESIDE: usize = 512;

impl Peer {
    /// The headers that the stateless era wants of a message beside its body.
    fn mirrored(&self, body: &Bytes) -> Headers {
        let Some(stateless) = &self.stateless else { return Headers::new() };
        let message = Message::new(body.clone());
        let mut headers =
            vec![("mcp-protocol-version".to_owned(), message.own_version().unwrap_or(&stateless.version).to_owned())];
        headers.extend(self.mirrors.of(&message));
        headers
    }

    /// Sends a message, records it, and says when it was handed on.
    /// `own` are headers of this message alone; an empty one is taken away.
    pub(super) async fn send(
        &mut self,
        recorder: &Recorder,
        exchange: Exchange,
        body: Bytes,
        (verb, bare): (Verb, bool),
        own: &OwnHeaders,
    ) -> Instant {
        let dress = self.dress(exchange, &body, (verb, bare), own);
        let headers = dress.headers.clone();
        let carrier = if self.http { Carrier::Request { verb, headers } } else { Carrier::Line };
        self.record(recorder, body.clone(), dress);
        let sent = Instant::now();
        // A closed connection shows when the answer is awaited.
        let _ = self.connection.outgoing.send(Frame { exchange, carrier, body }).await;
        sent
    }

    /// Writes a message as these pieces have it, and says when it began.
    pub(super) async fn write(
        &mut self,
        recorder: &Recorder,
        exchange: Exchange,
        message: &Bytes,
        ((verb, bare), own): ((Verb, bool), &OwnHeaders),
        pieces: &[Piece],
    ) -> Instant {
        let dress = self.dress(exchange, message, (verb, bare), own);
        let id = Message::new(message.clone()).id().map_or_else(|| "null".to_owned(), Id::to_json);
        let sent = Instant::now();
        let mut writes = Vec::new();
        for piece in pieces {
            let bytes = piece.bytes("sent", message, &id);
            writes.extend(piece.writes(&bytes));
            if !bytes.is_empty() {
                self.record(recorder, bytes, dress.clone());
            }
        }
        let carrier = Carrier::Exact(Arc::new(Exact { writes, verb, headers: dress.headers }));
        let _ = self.connection.outgoing.send(Frame { exchange, carrier, body: message.clone() }).await;
        if let Some(end) = pieces.iter().find_map(|piece| piece.end) {
            self.connection.outgoing = mpsc::channel(1).0;
            if end == End::Close {
                self.connection.incoming.close();
            }
        }
        sent
    }

    /// How a message to the server is dressed.
    fn dress(&mut self, exchange: Exchange, body: &Bytes, (verb, bare): (Verb, bool), own: &OwnHeaders) -> Dress {
        if !self.http {
            return Dress::default();
        }
        // A stream that stays open is nothing that is waited for at the end.
        if self.subscription.is_none() || Message::new(body.clone()).id() != self.subscription.as_ref() {
            self.open_exchanges.insert(exchange);
        }
        let mut headers = self.headers.clone();
        if !bare {
            headers.extend(self.mirrored(body));
        }
        for (name, values) in own {
            let name = name.to_lowercase();
            headers.retain(|(known, _)| *known != name);
            headers.extend(values.sent().iter().map(|value| (name.clone(), value.clone())));
        }
        let name = match verb {
            Verb::Post => "POST",
            Verb::Get => "GET",
            Verb::Delete => "DELETE",
        };
        Dress { headers, verb: Some(name), status: None }
    }

    fn record(&self, recorder: &Recorder, body: Bytes, dress: Dress) {
        recorder.event(Event::Crossed(Crossing {
            leg: Leg::Downstream,
            direction: Direction::Requestward,
            server: self.server.clone(),
            message: Message::new(body),
            dress,
        }));
    }

    /// Hangs up on an end that says more than can be kept; says whether that is so.
    pub(super) fn is_flooded(&mut self) -> bool {
        if self.taken <= MOST {
            return false;
        }
        let _ = self.connection.close.set(Close::Broken(format!("hung up: it said more than {MOST} bytes")));
        self.connection.incoming.close();
        self.connection.outgoing = mpsc::channel(1).0;
        true
    }

    /// Opens the stream on which the server speaks unasked (HTTP only).
    pub(super) async fn open_stream(&mut self, exchange: Exchange) {
        if self.http {
            let carrier = Carrier::Request { verb: Verb::Get, headers: self.headers.clone() };
            let _ = self.connection.outgoing.send(Frame { exchange, carrier, body: Bytes::new() }).await;
        }
    }

    /// Takes in a frame: records it, settles what waited for it, and gives what
    /// the client must answer (a request of the server's).
    pub(super) fn take(&mut self, recorder: &Recorder, frame: &Frame, awaited: &mut [Awaited]) -> Option<Bytes> {
        let at = Instant::now();
        self.taken += frame.body.len() + BESIDE;
        // Says where to go on, which this client never does.
        if frame.body.is_empty() && frame.mark().is_some() {
            return None;
        }
        let (status, form) = match &frame.carrier {
            Carrier::Reply { head, form, .. } => (Some(head.status), *form),
            _ => (None, Form::Event),
        };
        if matches!(form, Form::Whole | Form::End | Form::Stopped) {
            self.open_exchanges.remove(&frame.exchange);
        }
        let message = Message::new(frame.body.clone());
        if form != Form::End && !(frame.body.is_empty() && status.is_none()) {
            let headers = frame.reply_head().map(|head| head.headers.clone()).unwrap_or_default();
            recorder.event(Event::Crossed(Crossing {
                leg: Leg::Downstream,
                direction: Direction::Replyward,
                server: self.server.clone(),
                message: message.clone(),
                dress: Dress { status, headers, verb: None },
            }));
        }
        let session = frame.reply_head().and_then(|head| header(&head.headers, "mcp-session-id"));
        if let Some(session) = session.filter(|_| self.stateless.is_none()) {
            self.headers.retain(|(name, _)| name != "mcp-session-id");
            self.headers.push(("mcp-session-id".to_owned(), session.to_owned()));
        }
        settle(frame, (form, status), &message, awaited, at);
        let asks = message.each().into_iter().filter(|part| part.shape() == Shape::Request);
        let answers: Vec<_> = asks
            .filter(|_| form == Form::Event)
            .filter_map(|asked| Some(self.answer_to(asked.id()?, asked.method().unwrap_or_default())))
            .collect();
        match answers.as_slice() {
            [] => None,
            [one] if message.shape() == Shape::Request => Some(one.clone()),
            // What was asked in a batch is answered in one.
            all => Some(crate::protocol::batch(all)),
        }
    }

    /// What the client answers to a server's request: what the case says; else
    /// what a client without any capability does.
    fn answer_to(&self, id: &Id, method: &str) -> Bytes {
        match self.answers.get(method).map(String::as_str).or((method == "ping").then_some("{}")) {
            Some(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into(),
            None => crate::protocol::error_reply(
                Some(id),
                crate::protocol::METHOD_NOT_FOUND,
                "this client offers no such thing",
                None,
            ),
        }
    }
}

fn settle(frame: &Frame, (form, status): (Form, Option<u16>), message: &Message, awaited: &mut [Awaited], at: Instant) {
    let mut own = false;
    for part in message.each().into_iter().filter(|part| part.shape() == Shape::Response) {
        let mut open = awaited.iter_mut().filter(|waits| waits.answer.is_none());
        if let Some(waits) = open.find(|waits| waits.id.is_some() && waits.id.as_ref() == part.id()) {
            waits.answered(Answer::Reply(part.raw().clone()), at);
            own = true;
        }
    }
    if own && message.shape() == Shape::Response {
        return;
    }
    for waits in awaited.iter_mut().filter(|waits| waits.answer.is_none()) {
        // The stream that a GET asked for is its answer, long before it ends.
        if form == Form::Event && frame.body.is_empty() && waits.exchange == frame.exchange {
            waits.answered(Answer::Http { status: status.unwrap_or_default(), body: frame.body.clone() }, at);
            continue;
        }
        let ended = matches!(form, Form::Whole | Form::End | Form::Stopped) && status.is_some();
        if ended && waits.exchange == frame.exchange {
            let status = status.unwrap_or_default();
            waits.answered(Answer::Http { status, body: frame.body.clone() }, at);
        } else if waits.until == Until::Any && !frame.body.is_empty() {
            waits.answered(Answer::Reply(frame.body.clone()), at);
        }
    }
}
