//! A client that speaks in lines, as one over HTTP.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};

use super::{lobby::SESSION, stateless};
use crate::{
    protocol::{Id, Message, REFUSED, Shape, error_reply, strict::Node},
    relay::next,
    transport::{Carrier, Connection, Exchange, Form, Frame, Headers, Verb, header},
};

/// How long a server may take to hear that the session is over.
const FAREWELL: Duration = Duration::from_secs(2);

/// The pause before a stream that ended is opened again, and how often that is
/// done in a row where nothing came on it.
const PAUSE: Duration = Duration::from_secs(1);
const AGAIN: u32 = 5;

/// Puts what a client says in lines to a server over HTTP, until the client ends
/// or the server ends the session. The session's id, its protocol version and the
/// stream for what the server says unasked are looked after here, as the client
/// of the specification does.
pub async fn call(client: Connection, server: Connection) {
    let Connection { outgoing: to_client, mut incoming, tasks: client_tasks, .. } = client;
    let Connection { outgoing: to_server, incoming: mut from_server, tasks: server_tasks, .. } = server;
    let mut caller = Caller { to_client, ..Caller::new() };
    let server_speaks = loop {
        let reopens = caller.reopens;
        tokio::select! {
            biased;
            said = from_server.recv() => match said {
                Some(said) => {
                    if caller.heard(said).await == Ended::Yes {
                        break false;
                    }
                }
                None => break false,
            },
            // What follows an opening goes under the session that it opens.
            (room, asked) = next(&mut incoming, Some(&to_server)), if caller.opening.is_none() => {
                let Some(asked) = asked else { break room.is_some() };
                if let Some(room) = room {
                    room.send(caller.post(asked.body));
                }
            }
            () = sleep_until(reopens.unwrap_or_else(Instant::now)), if reopens.is_some() => {
                caller.reopens = None;
                if let Some(get) = caller.listen() && to_server.send(get).await.is_err() {
                    break false;
                }
            }
        }
        if let Some(get) = caller.wants_stream.then(|| caller.listen()).flatten()
            && to_server.send(get).await.is_err()
        {
            break false;
        }
    };
    if server_speaks && caller.session.is_some() {
        let farewell = caller.request(Verb::Delete, None, Bytes::new());
        let exchange = farewell.exchange;
        let _ = timeout(FAREWELL, async {
            if to_server.send(farewell).await.is_ok() {
                while from_server.recv().await.is_some_and(|frame| frame.exchange != exchange) {}
            }
        })
        .await;
    }
    caller.close().await;
    drop((client_tasks, server_tasks));
}

/// Whether the session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Yes,
    No,
}

#[derive(Debug)]
struct Caller {
    to_client: mpsc::Sender<Frame>,
    last: u64,
    session: Option<String>,
    version: Option<String>,
    /// The exchange that opens the session, until it is answered.
    opening: Option<Exchange>,
    /// What waits for an answer.
    open: BTreeMap<Exchange, Id>,
    /// The client is ready to hear what the server says unasked.
    wants_stream: bool,
    stream: Option<Exchange>,
    /// When the stream is opened again, and how often it ended with nothing on it.
    reopens: Option<Instant>,
    idle: u32,
    /// The message that says that the client is ready.
    ready: Option<Exchange>,
}

impl Caller {
    fn new() -> Self {
        Self {
            to_client: mpsc::channel(1).0,
            last: 0,
            session: None,
            version: None,
            opening: None,
            open: BTreeMap::new(),
            wants_stream: false,
            stream: None,
            reopens: None,
            idle: 0,
            ready: None,
        }
    }

    fn request(&mut self, verb: Verb, message: Option<&Message>, body: Bytes) -> Frame {
        self.last += 1;
        let mut headers = Headers::new();
        let accept = if verb == Verb::Get { "text/event-stream" } else { "application/json, text/event-stream" };
        headers.push(("accept".to_owned(), accept.to_owned()));
        if verb == Verb::Post {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        let stateless = message.map(stateless::headers).filter(|headers| !headers.is_empty());
        match stateless {
            Some(own) => headers.extend(own),
            None if message.is_some_and(|message| message.method() == Some("initialize")) => {}
            None => {
                let known = [(SESSION, &self.session), ("mcp-protocol-version", &self.version)];
                headers.extend(known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))));
            }
        }
        Frame { exchange: Exchange(self.last), carrier: Carrier::Request { verb, headers }, body }
    }

    fn post(&mut self, body: Bytes) -> Frame {
        let message = Message::new(body.clone());
        let frame = self.request(Verb::Post, Some(&message), body);
        match (message.shape(), message.id()) {
            (Shape::Request, Some(id)) => {
                self.open.insert(frame.exchange, id.clone());
                if message.method() == Some("initialize") {
                    self.opening = Some(frame.exchange);
                }
            }
            (Shape::Notification, _) if message.method() == Some("notifications/initialized") => {
                self.ready = Some(frame.exchange);
            }
            _ => {}
        }
        frame
    }

    /// Opens the stream for what the server says unasked.
    fn listen(&mut self) -> Option<Frame> {
        self.wants_stream = false;
        if self.stream.is_some() {
            return None;
        }
        let get = self.request(Verb::Get, None, Bytes::new());
        self.stream = Some(get.exchange);
        Some(get)
    }

    /// The server answers on one of the exchanges.
    async fn heard(&mut self, frame: Frame) -> Ended {
        let exchange = frame.exchange;
        let (status, form) = match &frame.carrier {
            Carrier::Reply { head, form } => (head.status, *form),
            Carrier::Line | Carrier::Request { .. } => (200, Form::Event),
        };
        if self.opening == Some(exchange) && !frame.body.is_empty() {
            self.opened(&frame);
        }
        if form != Form::Event && self.opening == Some(exchange) {
            self.opening = None;
        }
        if self.ready == Some(exchange) {
            self.ready = None;
            self.wants_stream = (200..300).contains(&status);
        }
        if self.stream == Some(exchange) {
            return self.streamed(&frame, form).await;
        }
        let fine = (200..300).contains(&status);
        let message = Message::new(frame.body.clone());
        let id = self.open.get(&exchange).cloned();
        let answers = message.shape() == Shape::Response && message.id() == id.as_ref();
        if answers || (fine && !frame.body.is_empty()) {
            if answers {
                self.open.remove(&exchange);
            }
            self.say(frame.body).await;
        } else if let Some(id) = id.filter(|_| form != Form::Event) {
            self.open.remove(&exchange);
            self.say(error_reply(Some(&id), REFUSED, &unanswered(status, &message), None)).await;
        }
        // The session is over, and a client in lines can't open another one.
        if status == 404 && self.session.is_some() { Ended::Yes } else { Ended::No }
    }

    /// What the answer to an opening says of the session.
    fn opened(&mut self, frame: &Frame) {
        let head = frame.reply_head();
        self.session = head.and_then(|head| header(&head.headers, SESSION)).map(str::to_owned).or(self.session.take());
        let message = Message::new(frame.body.clone());
        let version = message.result().and_then(|result| result.member("protocolVersion")).and_then(Node::as_str);
        if let Some(version) = version {
            self.version = Some(version.to_owned());
            self.opening = None;
        }
    }

    async fn streamed(&mut self, frame: &Frame, form: Form) -> Ended {
        match form {
            Form::Event if frame.body.is_empty() => {}
            Form::Event => {
                self.idle = 0;
                self.say(frame.body.clone()).await;
            }
            // There is none, and there need not be.
            Form::Whole | Form::Stopped => self.stream = None,
            Form::End => {
                self.stream = None;
                self.idle += 1;
                self.reopens = (self.idle <= AGAIN).then(|| Instant::now() + PAUSE);
            }
        }
        Ended::No
    }

    /// Everybody who waits is told that there will be no answer.
    async fn close(self) {
        for id in self.open.values() {
            let reply = error_reply(Some(id), REFUSED, super::line::UNANSWERED, None);
            self.say(reply).await;
        }
    }

    async fn say(&self, body: Bytes) {
        // Where nobody listens the loop ends by itself.
        let _ = self.to_client.send(Frame::line(Exchange::NONE, body)).await;
    }
}

/// What whoever waits is told of a response that holds no answer.
fn unanswered(status: u16, message: &Message) -> String {
    let said = message.error().and_then(|error| error.member("message")).and_then(Node::as_str);
    match (status, said) {
        (_, Some(said)) => format!("the server answered with status {status}: {said}"),
        (crate::transport::http::UNREACHABLE, None) => "the server can't be reached".to_owned(),
        (404, None) => "the server has ended the session; start the guard anew".to_owned(),
        (200..300, None) => "the server took the request and did not answer it".to_owned(),
        _ => format!("the server answered with status {status}"),
    }
}
