//! A client that speaks in lines, as one over HTTP.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};

use super::lobby::SESSION;
use crate::{
    protocol::{Id, Message, Mirrors, REFUSED, Shape, encoded, error_reply, strict::Node},
    relay::next,
    transport::{Carrier, Connection, Exchange, Form, Frame, Headers, Ledger, Mark, Verb, header},
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
    let mut ledger = Ledger::default();
    let mut client_speaks = true;
    let server_speaks = loop {
        // What was asked is still answered.
        if !client_speaks && !caller.is_awaited() {
            break true;
        }
        let due = caller.again.iter().map(|again| again.due).min();
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
            (room, asked) = next(&mut incoming, Some(&to_server), &mut ledger), if client_speaks && caller.opening.is_none() => {
                let Some(asked) = asked else {
                    client_speaks = false;
                    continue;
                };
                if let Some(room) = room {
                    ledger.sent(asked.body.len());
                    room.send(caller.post(asked.body));
                }
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
        }
        let streams = caller.streams();
        if !streams.is_empty() && !send(&to_server, streams).await {
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

async fn send(to_server: &mpsc::Sender<Frame>, frames: Vec<Frame>) -> bool {
    for frame in frames {
        if to_server.send(frame).await.is_err() {
            return false;
        }
    }
    true
}

/// A stream that ended, and is opened again.
#[derive(Debug)]
struct Again {
    due: Instant,
    /// The request whose answer was to come on it; without one, it was the stream
    /// for what the server says unasked.
    id: Option<Id>,
    /// The event that it was at.
    last: Option<String>,
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
    /// Streams that are opened again, and how often in a row one ended with nothing
    /// on it.
    again: Vec<Again>,
    idle: u32,
    /// What its tools want in headers.
    mirrors: Mirrors,
    /// Where each stream is.
    marks: BTreeMap<Exchange, Arc<Mark>>,
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
            again: Vec::new(),
            idle: 0,
            mirrors: Mirrors::default(),
            marks: BTreeMap::new(),
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
        match message.filter(|message| message.is_stateless()) {
            Some(message) => {
                let version =
                    message.own_version().map(|version| ("mcp-protocol-version".to_owned(), encoded(version)));
                headers.extend(version.into_iter().chain(self.mirrors.of(message)));
            }
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

    fn is_awaited(&self) -> bool {
        !self.open.is_empty() || self.again.iter().any(|again| again.id.is_some())
    }

    /// Opens the streams that are to be opened now.
    fn streams(&mut self) -> Vec<Frame> {
        let now = Instant::now();
        let first = std::mem::take(&mut self.wants_stream).then_some(Again { due: now, id: None, last: None });
        let (due, later) = std::mem::take(&mut self.again).into_iter().partition(|again| again.due <= now);
        self.again = later;
        let due: Vec<Again> = due;
        first.into_iter().chain(due).filter_map(|again| self.open(again)).collect()
    }

    fn open(&mut self, Again { id, last, .. }: Again) -> Option<Frame> {
        if id.is_none() && self.stream.is_some() {
            return None;
        }
        let mut get = self.request(Verb::Get, None, Bytes::new());
        if let (Some(last), Carrier::Request { headers, .. }) = (last, &mut get.carrier) {
            headers.push(("last-event-id".to_owned(), last));
        }
        match id {
            Some(id) => drop(self.open.insert(get.exchange, id)),
            None => self.stream = Some(get.exchange),
        }
        Some(get)
    }

    /// A stream has ended before what was to come on it has come.
    fn ended(&mut self, exchange: Exchange, id: Option<Id>) {
        let mark = self.marks.remove(&exchange);
        let last = mark.as_ref().and_then(|mark| mark.id.clone());
        let pause = mark.and_then(|mark| mark.retry).map_or(PAUSE, Duration::from_millis);
        self.idle += 1;
        self.again.push(Again { due: Instant::now() + pause, id, last });
    }

    /// The server answers on one of the exchanges.
    async fn heard(&mut self, frame: Frame) -> Ended {
        let exchange = frame.exchange;
        let (status, form) = match &frame.carrier {
            Carrier::Reply { head, form, mark } => {
                if let Some(mark) = mark {
                    self.marks.insert(exchange, Arc::clone(mark));
                }
                (head.status, *form)
            }
            Carrier::Line | Carrier::Exact(_) | Carrier::Request { .. } | Carrier::Gone => (200, Form::Event),
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
        if !frame.body.is_empty() {
            self.idle = 0;
        }
        let fine = (200..300).contains(&status);
        let message = Message::new(frame.body.clone());
        let id = self.open.get(&exchange).cloned();
        let answers = message.shape() == Shape::Response && message.id() == id.as_ref();
        if answers || (fine && !frame.body.is_empty()) {
            if answers {
                self.mirrors.learn(&message);
                self.open.remove(&exchange);
            }
            self.say(frame.body).await;
        } else if let Some(id) = id.filter(|_| form != Form::Event) {
            self.open.remove(&exchange);
            let can_go_on = self.marks.get(&exchange).is_some_and(|mark| mark.id.is_some()) && self.idle < AGAIN;
            if form == Form::End && can_go_on {
                self.ended(exchange, Some(id));
                return Ended::No;
            }
            self.say(error_reply(Some(&id), REFUSED, &unanswered(status, &message), None)).await;
        }
        if form != Form::Event {
            self.marks.remove(&exchange);
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
                if self.idle < AGAIN {
                    self.ended(frame.exchange, None);
                }
            }
        }
        Ended::No
    }

    /// Everybody who waits is told that there will be no answer.
    async fn close(self) {
        for id in self.open.values().chain(self.again.iter().filter_map(|again| again.id.as_ref())) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{
        Careless,
        http::{self, Listener},
        pair,
    };

    /// A client in lines, and the server that it reaches.
    struct Desk {
        client: Connection,
        server: Connection,
    }

    impl Desk {
        async fn new() -> Self {
            let Listener { url, connection: server } = Listener::bind().await.unwrap();
            let (client, far) = pair();
            tokio::spawn(call(far, http::connect(&url, Arc::new(Careless))));
            Self { client, server }
        }

        async fn say(&self, line: &'static str) {
            self.client.outgoing.send(Frame::line(Exchange::NONE, line)).await.unwrap();
        }

        async fn heard(&mut self) -> String {
            String::from_utf8(self.client.incoming.recv().await.unwrap().body.to_vec()).unwrap()
        }

        /// The next request: its exchange, its method, and the headers that tell
        /// sessions and streams apart.
        async fn asked(&mut self) -> (Exchange, Verb, [Option<String>; 3]) {
            let frame = self.server.incoming.recv().await.unwrap();
            let Carrier::Request { verb, headers } = &frame.carrier else { unreachable!("{frame:?}") };
            let of = |name: &str| header(headers, name).map(str::to_owned);
            (frame.exchange, *verb, [of(SESSION), of("mcp-protocol-version"), of("last-event-id")])
        }

        async fn answer(&self, frame: Frame) {
            self.server.outgoing.send(frame).await.unwrap();
        }

        /// An event that says where to go on, at once.
        async fn mark(&self, exchange: Exchange, id: &str, body: &'static str) {
            let mut frame = http::event(exchange, Headers::new(), body);
            if let Carrier::Reply { mark, .. } = &mut frame.carrier {
                *mark = Some(Arc::new(Mark { id: Some(id.to_owned()), retry: Some(0) }));
            }
            self.answer(frame).await;
        }
    }

    fn known(last: Option<&str>) -> [Option<String>; 3] {
        [Some("s-1"), Some("2025-11-25"), last].map(|text| text.map(str::to_owned))
    }

    #[tokio::test]
    async fn the_session_and_its_streams_are_looked_after() {
        let mut desk = Desk::new().await;
        desk.say(r#"{"id":1,"method":"initialize"}"#).await;
        // What follows at once goes under the session all the same.
        desk.say(r#"{"method":"notifications/initialized"}"#).await;
        let (opening, verb, headers) = desk.asked().await;
        assert_eq!((verb, headers), (Verb::Post, [None, None, None]));
        let opened = r#"{"id":1,"result":{"protocolVersion":"2025-11-25"}}"#;
        let given =
            vec![(SESSION.to_owned(), "s-1".to_owned()), ("content-type".to_owned(), "application/json".to_owned())];
        desk.answer(http::whole(opening, 200, given, opened)).await;
        assert_eq!(desk.heard().await, opened);
        let (ready, verb, headers) = desk.asked().await;
        assert_eq!((verb, headers), (Verb::Post, known(None)));
        desk.answer(http::accepted(ready)).await;

        let (stream, verb, headers) = desk.asked().await;
        assert_eq!((verb, headers), (Verb::Get, known(None)));
        desk.mark(stream, "e-1", r#"{"method":"unasked"}"#).await;
        assert_eq!(desk.heard().await, r#"{"method":"unasked"}"#);
        desk.answer(http::end(stream)).await;
        let (_, verb, headers) = desk.asked().await;
        assert_eq!((verb, headers), (Verb::Get, known(Some("e-1"))));

        // An answer that a server leaves for later is fetched.
        desk.say(r#"{"id":2,"method":"tools/call"}"#).await;
        let (call, verb, _) = desk.asked().await;
        assert_eq!(verb, Verb::Post);
        desk.mark(call, "e-2", "").await;
        desk.answer(http::end(call)).await;
        let (later, verb, headers) = desk.asked().await;
        assert_eq!((verb, headers), (Verb::Get, known(Some("e-2"))));
        desk.answer(http::event(later, Headers::new(), r#"{"id":2,"result":{}}"#)).await;
        assert_eq!(desk.heard().await, r#"{"id":2,"result":{}}"#);
        desk.answer(http::end(later)).await;

        // One that never comes is told.
        desk.say(r#"{"id":3,"method":"tools/call"}"#).await;
        let (call, ..) = desk.asked().await;
        desk.answer(http::event(call, Headers::new(), r#"{"method":"notifications/progress"}"#)).await;
        assert!(desk.heard().await.contains("progress"));
        desk.answer(http::end(call)).await;
        let told = desk.heard().await;
        assert!(told.contains(r#""id":3,"error""#), "{told}");

        // The client's end waits for what it asked.
        desk.say(r#"{"id":4,"method":"tools/call"}"#).await;
        let (call, ..) = desk.asked().await;
        let Connection { outgoing, mut incoming, .. } = desk.client;
        drop(outgoing);
        let json = vec![("content-type".to_owned(), "application/json".to_owned())];
        desk.server.outgoing.send(http::whole(call, 200, json, r#"{"id":4,"result":{}}"#)).await.unwrap();
        assert_eq!(incoming.recv().await.unwrap().body, r#"{"id":4,"result":{}}"#);
        let frame = desk.server.incoming.recv().await.unwrap();
        assert!(matches!(frame.carrier, Carrier::Request { verb: Verb::Delete, .. }), "{frame:?}");
    }
}
