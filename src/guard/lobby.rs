//! A server that speaks in lines, as one over HTTP.

use std::collections::{BTreeMap, HashMap, VecDeque};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{line::UNANSWERED, stateless, unsent::Unsent};
use crate::{
    protocol::{INVALID_REQUEST, Id, Message, PARSE_ERROR, REFUSED, Shape, error_reply, meta, strict::Node},
    relay::next,
    transport::{Carrier, Connection, Exchange, Frame, Headers, Ledger, Verb, http},
};

/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// An id that nobody can guess.
///
/// # Errors
/// Where there is no randomness to be had.
pub fn session_id() -> std::io::Result<String> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).map_err(std::io::Error::other)?;
    Ok(format!("{:032x}", u128::from_le_bytes(secret)))
}

/// Answers HTTP requests with what a server says in lines, until either ends.
/// The session that its `initialize` opens is handed out as `session`.
///
/// A reply is a whole response. What the server says unasked goes on the stream
/// of the client's GET; what belongs to a request (its progress, and whatever the
/// server asks for while it works on one) goes before its reply on an event
/// stream of its own. Until there is either, it waits, within bounds.
pub async fn lobby(clients: Connection, server: Connection, session: String) {
    let Connection { outgoing: to_clients, mut incoming, tasks: clients_tasks, .. } = clients;
    let Connection { outgoing: to_server, incoming: mut from_server, tasks: server_tasks, .. } = server;
    let mut lobby = Lobby {
        to_clients,
        session,
        waiting: HashMap::new(),
        open: BTreeMap::new(),
        get: None,
        unsent: Unsent::default(),
    };
    let mut ledger = Ledger::default();
    loop {
        tokio::select! {
            biased;
            said = from_server.recv() => match said {
                Some(said) => {
                    if let Some(answer) = lobby.heard(said.body).await {
                        ledger.sent(answer.len());
                        // A server that listens no more has nobody to be told.
                        let _ = to_server.send(Frame::line(Exchange::NONE, answer)).await;
                    }
                }
                None => break,
            },
            (room, asked) = next(&mut incoming, Some(&to_server), &mut ledger) => {
                let Some(asked) = asked else { break };
                let is_over = matches!(asked.carrier, Carrier::Request { verb: Verb::Delete, .. });
                if let (Some(line), Some(room)) = (lobby.asked(asked).await, room) {
                    ledger.sent(line.len());
                    room.send(Frame::line(Exchange::NONE, line));
                }
                if is_over {
                    break;
                }
            }
        }
    }
    lobby.close().await;
    drop((clients_tasks, server_tasks));
}

/// A client's POST that waits.
#[derive(Debug)]
struct Asked {
    id: Id,
    /// It opens the session.
    opens: bool,
    /// Its answer has become an event stream.
    streams: bool,
    /// It belongs to no session: who leaves wants it no more.
    stateless: bool,
    token: Option<Id>,
}

#[derive(Debug)]
struct Lobby {
    to_clients: mpsc::Sender<Frame>,
    session: String,
    /// Who waits for the reply under an id, in the order in which they asked.
    waiting: HashMap<Id, VecDeque<Exchange>>,
    open: BTreeMap<Exchange, Asked>,
    /// The stream for what is said unasked.
    get: Option<Exchange>,
    unsent: Unsent,
}

impl Lobby {
    /// A client's HTTP request; gives what the server is told.
    async fn asked(&mut self, frame: Frame) -> Option<Bytes> {
        let exchange = frame.exchange;
        let verb = match frame.carrier {
            Carrier::Request { verb, .. } => verb,
            Carrier::Gone => return self.left(exchange),
            Carrier::Line | Carrier::Reply { .. } | Carrier::Exact(_) => return None,
        };
        match verb {
            Verb::Post => return self.posted(exchange, frame.body).await,
            Verb::Get => {
                if let Some(before) = self.get.replace(exchange) {
                    self.say(http::end(before)).await;
                }
                self.say(http::open_stream(exchange, Headers::new())).await;
                for body in self.unsent.take() {
                    self.say(http::event(exchange, Headers::new(), body)).await;
                }
            }
            Verb::Delete => self.say(http::whole(exchange, 200, Headers::new(), Bytes::new())).await,
        }
        None
    }

    /// Nobody reads on an exchange any more; gives what the server is told. What
    /// belongs to a session goes on without whoever asked.
    fn left(&mut self, exchange: Exchange) -> Option<Bytes> {
        self.get.take_if(|get| *get == exchange);
        let asked = self.open.remove(&exchange).filter(|asked| asked.stateless)?;
        if let Some(queue) = self.waiting.get_mut(&asked.id) {
            queue.retain(|other| *other != exchange);
            if queue.is_empty() {
                self.waiting.remove(&asked.id);
            }
        }
        let cancel =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}}"#, asked.id);
        Some(cancel.into())
    }

    async fn posted(&mut self, exchange: Exchange, body: Bytes) -> Option<Bytes> {
        let message = Message::new(body.clone());
        let asks = match message.shape() {
            Shape::Request => message.id().cloned(),
            // The replies to a batch come together, under the ids of its requests.
            Shape::Batch => asked_in(&message),
            Shape::Notification | Shape::Response => None,
            Shape::Broken => return self.refuse(exchange, PARSE_ERROR, "the message is not JSON").await,
            Shape::Other => return self.refuse(exchange, INVALID_REQUEST, "the message is none of JSON-RPC").await,
        };
        match asks {
            None => self.say(http::accepted(exchange)).await,
            Some(id) => {
                self.waiting.entry(id.clone()).or_default().push_back(exchange);
                let token = message.params().and_then(|params| params.member("_meta")?.member("progressToken"));
                let opens = message.method() == Some("initialize");
                let stateless = message.is_stateless();
                let token = token.and_then(Id::of);
                // A client that opens no stream of its own reads what comes before its answer.
                let kept = if opens || self.get.is_some() { Vec::new() } else { self.unsent.take() };
                self.open.insert(exchange, Asked { id, opens, streams: !kept.is_empty(), stateless, token });
                for body in kept {
                    self.say(http::event(exchange, Headers::new(), body)).await;
                }
            }
        }
        Some(body)
    }

    /// The server says something; gives what it is answered at once.
    async fn heard(&mut self, body: Bytes) -> Option<Bytes> {
        let message = Message::new(body.clone());
        match message.shape() {
            Shape::Response => self.answered(message.id()?.clone(), &message).await,
            Shape::Batch => {
                let items = message.root().map_or(&[][..], Node::items).iter();
                let ids: Vec<_> = items.filter_map(|item| item.member("id").and_then(Id::of)).collect();
                let id = ids.into_iter().find(|id| self.waiting.contains_key(id))?;
                self.answered(id, &message).await;
            }
            Shape::Request | Shape::Notification => return self.unasked(&message).await,
            // Nobody is told of noise.
            Shape::Other | Shape::Broken => {}
        }
        None
    }

    async fn answered(&mut self, id: Id, message: &Message) {
        let Some(queue) = self.waiting.get_mut(&id) else { return };
        let exchange = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&id);
        }
        let Some((exchange, asked)) = exchange.and_then(|exchange| Some((exchange, self.open.remove(&exchange)?)))
        else {
            return;
        };
        if asked.streams {
            self.say(http::event(exchange, Headers::new(), message.raw().clone())).await;
            self.say(http::end(exchange)).await;
            return;
        }
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        if asked.opens && message.result().is_some() {
            headers.push((SESSION.to_owned(), self.session.clone()));
        }
        let status = if asked.stateless { stateless::status(message) } else { 200 };
        self.say(http::whole(exchange, status, headers, message.raw().clone())).await;
    }

    /// What the server says without being asked goes on one stream.
    async fn unasked(&mut self, message: &Message) -> Option<Bytes> {
        let token = (message.method() == Some("notifications/progress"))
            .then(|| message.params()?.member("progressToken").and_then(Id::of))
            .flatten();
        let of_token = token.and_then(|token| self.open.iter().find(|(_, asked)| asked.token.as_ref() == Some(&token)));
        let subscription = message.in_meta(meta::SUBSCRIPTION).next().and_then(Id::of);
        let of_subscription = subscription.and_then(|id| self.open.iter().find(|(_, asked)| asked.id == id));
        // A client that waits for an answer reads what comes before it; whether it
        // listens elsewhere, nobody knows.
        let asks = message.shape() == Shape::Request;
        let latest = self.open.iter().rev().find(|(_, asked)| !asked.opens);
        let of_request = of_token
            .or(of_subscription)
            .or(latest.filter(|_| asks || self.get.is_none()))
            .map(|(exchange, _)| *exchange);
        match of_request.or(self.get) {
            Some(exchange) => {
                if let Some(asked) = self.open.get_mut(&exchange) {
                    asked.streams = true;
                }
                self.say(http::event(exchange, Headers::new(), message.raw().clone())).await;
                None
            }
            None => self.unsent.keep(message.clone()),
        }
    }

    async fn refuse(&self, exchange: Exchange, code: i64, why: &str) -> Option<Bytes> {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        self.say(http::whole(exchange, 400, headers, error_reply(None, code, why, None))).await;
        None
    }

    /// Everybody who waits is told that there will be no answer.
    async fn close(self) {
        for (exchange, asked) in &self.open {
            let reply = error_reply(Some(&asked.id), REFUSED, UNANSWERED, None);
            if asked.streams {
                self.say(http::event(*exchange, Headers::new(), reply)).await;
                self.say(http::end(*exchange)).await;
            } else {
                let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
                self.say(http::whole(*exchange, 200, headers, reply)).await;
            }
        }
        if let Some(get) = self.get {
            self.say(http::end(get)).await;
        }
    }

    async fn say(&self, frame: Frame) {
        // Where nobody listens the loop ends by itself.
        let _ = self.to_clients.send(frame).await;
    }
}

/// The first id under which a batch asks for something.
fn asked_in(batch: &Message) -> Option<Id> {
    let mut items = batch.root().map_or(&[][..], Node::items).iter();
    items.find(|item| item.member("method").is_some()).and_then(|item| item.member("id")).and_then(Id::of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{Form, pair};

    /// Clients over HTTP, and the server in whose place a test speaks.
    struct Desk {
        clients: Connection,
        server: Connection,
    }

    impl Desk {
        fn new() -> Self {
            let ((clients, near), (far, server)) = (pair(), pair());
            tokio::spawn(lobby(near, far, "s-1".to_owned()));
            Self { clients, server }
        }

        async fn ask(&self, exchange: u64, verb: Verb, body: &'static str) {
            let carrier = Carrier::Request { verb, headers: Headers::new() };
            self.send(exchange, carrier, body).await;
        }

        async fn send(&self, exchange: u64, carrier: Carrier, body: &'static str) {
            let frame = Frame { exchange: Exchange(exchange), carrier, body: body.into() };
            self.clients.outgoing.send(frame).await.unwrap();
        }

        async fn say(&self, line: &'static str) {
            self.server.outgoing.send(Frame::line(Exchange::NONE, line)).await.unwrap();
        }

        async fn asked(&mut self) -> String {
            String::from_utf8(self.server.incoming.recv().await.unwrap().body.to_vec()).unwrap()
        }

        /// What clients hear next: on which exchange, in which form, with which status.
        async fn heard(&mut self) -> (u64, Form, u16, String) {
            let frame = self.clients.incoming.recv().await.unwrap();
            let Carrier::Reply { head, form, .. } = &frame.carrier else { unreachable!("{frame:?}") };
            (frame.exchange.0, *form, head.status, String::from_utf8(frame.body.to_vec()).unwrap())
        }
    }

    #[tokio::test]
    async fn what_is_said_unasked_goes_on_one_stream() {
        const NOTE: &str = r#"{"method":"notifications/message"}"#;
        const PROGRESS: &str = r#"{"method":"notifications/progress","params":{"progressToken":"t"}}"#;
        const CALL: &str = r#"{"id":2,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}"#;
        let mut desk = Desk::new();
        // Nobody listens yet; whoever asks next hears it before the answer.
        desk.say(NOTE).await;
        desk.ask(1, Verb::Post, r#"{"method":"notifications/initialized"}"#).await;
        assert!(desk.asked().await.contains("initialized"));
        assert_eq!(desk.heard().await.2, 202);
        desk.ask(2, Verb::Post, CALL).await;
        assert_eq!(desk.asked().await, CALL);
        assert_eq!(desk.heard().await, (2, Form::Event, 200, NOTE.to_owned()));
        // Its own stream takes what belongs to no request; progress stays with its own.
        desk.ask(3, Verb::Get, "").await;
        assert_eq!(desk.heard().await.0, 3);
        for (said, exchange) in [(PROGRESS, 2), (NOTE, 3)] {
            desk.say(said).await;
            assert_eq!(desk.heard().await, (exchange, Form::Event, 200, said.to_owned()));
        }
        desk.say(r#"{"id":2,"result":{}}"#).await;
        assert_eq!(desk.heard().await, (2, Form::Event, 200, r#"{"id":2,"result":{}}"#.to_owned()));
        assert_eq!((desk.heard().await.1, desk.clients.incoming.try_recv().is_err()), (Form::End, true));
        // The end of a session is that of the server's input.
        desk.ask(4, Verb::Delete, "").await;
        assert_eq!(desk.heard().await.2, 200);
        assert_eq!((desk.heard().await.1, desk.server.incoming.recv().await), (Form::End, None));
    }

    #[tokio::test]
    async fn who_belongs_to_no_session_and_leaves_wants_no_answer() {
        const ASK: &str =
            r#"{"id":7,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let mut desk = Desk::new();
        for exchange in [1, 2] {
            desk.ask(exchange, Verb::Post, ASK).await;
            desk.asked().await;
        }
        desk.send(1, Carrier::Gone, "").await;
        assert!(desk.asked().await.contains(r#"cancelled","params":{"requestId":7"#));
        desk.say(r#"{"id":7,"error":{"code":-32601,"message":"no"}}"#).await;
        let (exchange, form, status, _) = desk.heard().await;
        assert_eq!((exchange, form, status), (2, Form::Whole, 404));
        // In a session, the answer is nobody's.
        desk.ask(3, Verb::Post, r#"{"id":8,"method":"x"}"#).await;
        desk.asked().await;
        desk.send(3, Carrier::Gone, "").await;
        // What comes after it on the same queue has been looked at by then.
        desk.ask(4, Verb::Post, r#"{"id":9,"method":"x"}"#).await;
        assert_eq!(desk.asked().await, r#"{"id":9,"method":"x"}"#);
        desk.say(r#"{"id":8,"result":{}}"#).await;
        // Whoever waits when the server goes is told.
        drop(desk.server);
        let frame = desk.clients.incoming.recv().await.unwrap();
        let message = Message::new(frame.body);
        assert!(message.error().is_some() && message.id() == Some(&9.into()));
        assert_eq!(desk.clients.incoming.recv().await, None);
    }
}
