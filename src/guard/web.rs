//! A guard between clients and a server that speak over HTTP.
//!
//! Every session has a gate of its own, with its own connections to the server:
//! what a gate remembers of ids, versions and calls is one session's. A session
//! begins with an `initialize`, and is known by the `mcp-session-id` that the
//! server answers it with. Clients of a server that gives none are told apart by
//! the headers that name principals, and those who send the same share a session.

mod session;

use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    pin::pin,
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::mpsc;

use self::session::{Asked, Session};
use super::{Broken, Gated, Watch, line::CLOSED, lobby::SESSION};
use crate::{
    protocol::{Message, REFUSED, Shape, error_reply},
    transport::{Carrier, Connection, Exchange, Form, Frame, Headers, Tasks, Verb, header, http, pair},
};

/// How long clients may take to read their last answers.
const FLUSH: Duration = Duration::from_millis(1500);

/// A gate for one session, made ready and opened.
#[derive(Debug)]
pub struct Opened {
    /// The gate.
    pub gated: Gated,
    /// What it says of itself.
    pub watch: Watch,
    /// Whom it stands before.
    pub upstream: Upstream,
}

/// Whom a session's gate stands before.
#[derive(Debug)]
pub enum Upstream {
    /// A server at a URL.
    Url(String),
    /// One that takes HTTP requests here ([`lobby`](super::lobby)), started for this session alone.
    Here(Connection),
}

/// How clients are served.
#[derive(Clone, Debug)]
pub struct Web {
    /// The headers, in lower case, that name principals.
    pub principals: Vec<String>,
    /// Whether every session is given an id. Whoever names none then has none.
    pub ids: bool,
    /// How many sessions there may be; the one that was idle longest makes room.
    pub most: usize,
    /// How long answers are waited for at the end.
    pub grace: Duration,
}

/// Why a session is not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unopened {
    /// The server can't be reached, or may not be: what whoever asked is told.
    Refused(String),
    /// The gate broke, and nothing may pass any more.
    Broken(Broken),
}

/// Opens and closes sessions, by their numbers from 1.
pub trait Host {
    /// A gate for a new session.
    ///
    /// # Errors
    /// Where there is none, with why.
    fn open(&mut self, number: u64) -> Result<Opened, Unopened>;

    /// A session is over.
    ///
    /// # Errors
    /// Where that can't be logged.
    fn close(&mut self, number: u64, failed: bool) -> Result<(), Broken>;
}

/// What a session's tasks say.
enum Said {
    Frame(Frame),
    /// Whoever served it is gone.
    Over,
    Broken(Broken),
}

struct Front<'a, H> {
    web: &'a Web,
    host: H,
    to_clients: mpsc::Sender<Frame>,
    said: mpsc::Sender<(u64, Said)>,
    sessions: BTreeMap<u64, Session>,
    ids: HashMap<String, u64>,
    last: u64,
    clock: u64,
}

impl Web {
    /// Serves until `stop` resolves or a gate breaks; then why.
    ///
    /// # Errors
    /// Where a gate broke: everybody who waited was told, and nothing passed.
    pub async fn serve(
        &self,
        clients: Connection,
        host: impl Host,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Broken> {
        let Connection { outgoing: to_clients, mut incoming, tasks, .. } = clients;
        let (said, mut heard) = mpsc::channel(1);
        let (sessions, ids) = (BTreeMap::new(), HashMap::new());
        let mut front = Front { web: self, host, to_clients, said, sessions, ids, last: 0, clock: 0 };
        let mut stop = pin!(stop);
        let served = loop {
            let done = tokio::select! {
                biased;
                () = &mut stop => break Ok(()),
                Some((number, said)) = heard.recv() => front.heard(number, said).await,
                frame = incoming.recv() => match frame {
                    Some(frame) => front.asked(frame).await,
                    None => break Ok(()),
                },
            };
            if let Err(broken) = done {
                break Err(broken);
            }
        };
        let served = match served {
            Ok(()) => tokio::time::timeout(self.grace, front.flush(&mut heard)).await.unwrap_or(Ok(())),
            broken => broken,
        };
        front.close_all(served.is_err()).await;
        drop(front);
        // Ends with the listener, once clients have read what they were answered.
        let _ = tokio::time::timeout(FLUSH, async { while incoming.recv().await.is_some() {} }).await;
        drop(tasks);
        served
    }
}

impl<H: Host> Front<'_, H> {
    /// Carries on without new requests until nobody waits.
    async fn flush(&mut self, heard: &mut mpsc::Receiver<(u64, Said)>) -> Result<(), Broken> {
        while self.is_awaited() {
            let Some((number, said)) = heard.recv().await else { break };
            self.heard(number, said).await?;
        }
        Ok(())
    }

    fn is_awaited(&self) -> bool {
        self.sessions.values().any(Session::is_awaited)
    }

    /// A client asks.
    async fn asked(&mut self, frame: Frame) -> Result<(), Broken> {
        let Carrier::Request { verb, headers } = &frame.carrier else {
            if frame.carrier == Carrier::Gone {
                self.left(frame);
            }
            return Ok(());
        };
        let verb = *verb;
        let number = match header(headers, SESSION) {
            Some(id) => match self.ids.get(id).copied() {
                Some(number) => number,
                // Tells an honest client to begin afresh.
                None => return self.refuse(&frame, 404, "there is no such session").await,
            },
            None if self.web.ids && !begins(&frame) => {
                return self.refuse(&frame, 400, "the request names no session; open one with initialize").await;
            }
            None => match self.sessionless(&frame, headers) {
                Some(number) => number,
                None => match self.begin(&frame, principal(&self.web.principals, headers)).await? {
                    Some(number) => number,
                    None => return Ok(()),
                },
            },
        };
        self.clock += 1;
        let Some(session) = self.sessions.get_mut(&number) else { return Ok(()) };
        session.used = self.clock;
        let on = session.ask(&frame, verb);
        if session.to_gate.try_send(on).is_err() {
            session.open.remove(&frame.exchange);
            // Its queue is full: others are not held up for it.
            return self.refuse(&frame, 503, "the session has too many requests that wait").await;
        }
        Ok(())
    }

    /// A client went away before it was answered, which its server is told.
    fn left(&mut self, frame: Frame) {
        let exchange = frame.exchange;
        let Some(session) = self.sessions.values_mut().find(|session| session.open.contains_key(&exchange)) else {
            return;
        };
        // A session that begins, or ends, does so without the one who asked for it.
        let settles = session.opening == Some(exchange)
            || session.open.get(&exchange).is_some_and(|asked| asked.verb == Verb::Delete);
        if !settles {
            session.open.remove(&exchange);
            let to_gate = session.to_gate.clone();
            // Whoever would wait here holds up the others.
            tokio::spawn(async move { to_gate.send(frame).await });
        }
    }

    /// The session of a client that was given no id, unless it opens one now.
    fn sessionless(&self, frame: &Frame, headers: &Headers) -> Option<u64> {
        if Message::new(frame.body.clone()).method() == Some("initialize") {
            return None;
        }
        let who = principal(&self.web.principals, headers);
        let own = |session: &Session| session.id.is_none() && session.principal == who;
        self.sessions.iter().rev().find(|(_, session)| own(session)).map(|(number, _)| *number)
    }

    /// Begins a session; `None` where whoever asked was told that there is none.
    async fn begin(&mut self, frame: &Frame, principal: Vec<(String, String)>) -> Result<Option<u64>, Broken> {
        if self.sessions.len() >= self.web.most {
            // A stream may be open for a client that is long gone.
            let idle = self.sessions.iter().filter(|(_, session)| !session.is_awaited());
            let Some(number) = idle.min_by_key(|(_, session)| session.used).map(|(number, _)| *number) else {
                self.refuse(frame, 503, "all sessions are in use; come back later").await?;
                return Ok(None);
            };
            self.end(number).await?;
        }
        self.last += 1;
        let number = self.last;
        let Opened { gated, watch, upstream } = match self.host.open(number) {
            Ok(opened) => opened,
            Err(Unopened::Refused(why)) => {
                self.refuse(frame, 502, &why).await?;
                return Ok(None);
            }
            Err(Unopened::Broken(broken)) => {
                self.refuse(frame, 500, CLOSED).await?;
                return Err(broken);
            }
        };
        let (near, far) = pair();
        let serving = match upstream {
            Upstream::Url(url) => gated.before_url(far, &url),
            Upstream::Here(server) => gated.before(far, server),
        };
        let Connection { outgoing: to_gate, incoming: mut from_gate, .. } = near;
        let mut tasks = Tasks::default();
        tasks.keep(serving);
        let said = self.said.clone();
        tasks.keep(tokio::spawn(async move {
            loop {
                let next = tokio::select! {
                    biased;
                    () = watch.breaks() => watch.broken().map(Said::Broken),
                    frame = from_gate.recv() => Some(frame.map_or(Said::Over, Said::Frame)),
                };
                let Some(next) = next else { return };
                let over = matches!(next, Said::Broken(_) | Said::Over);
                if said.send((number, next)).await.is_err() || over {
                    return;
                }
            }
        }));
        let opens = Message::new(frame.body.clone()).method() == Some("initialize");
        let opening = opens.then_some(frame.exchange);
        let open = BTreeMap::new();
        let session = Session { to_gate, principal, id: None, open, opening, used: self.clock, tasks };
        self.sessions.insert(number, session);
        Ok(Some(number))
    }

    /// A session's gate lets something through to its client, or broke.
    async fn heard(&mut self, number: u64, said: Said) -> Result<(), Broken> {
        let mut frame = match said {
            Said::Frame(frame) => frame,
            Said::Over => return self.end(number).await,
            Said::Broken(broken) => return Err(broken),
        };
        let Some(session) = self.sessions.get_mut(&number) else { return Ok(()) };
        let head = frame.reply_head();
        let mut over = false;
        if session.opening == Some(frame.exchange) {
            session.opening = None;
            match head.and_then(|head| header(&head.headers, SESSION)).map(str::to_owned) {
                Some(id) => {
                    session.id = Some(id.clone());
                    let principal = session.principal.clone();
                    let known = self.ids.get(&id).and_then(|known| self.sessions.get(known));
                    if known.is_some_and(|known| known.principal != principal) {
                        return self.reissued(number, &frame).await;
                    }
                    self.ids.insert(id, number);
                }
                // An opening that failed opened nothing.
                None => {
                    over = head.is_none_or(|head| !(200..300).contains(&head.status))
                        || Message::new(frame.body.clone()).error().is_some();
                }
            }
        }
        let Some(session) = self.sessions.get_mut(&number) else { return Ok(()) };
        let ends = match &frame.carrier {
            Carrier::Reply { form, .. } => *form != Form::Event,
            Carrier::Line | Carrier::Request { .. } | Carrier::Exact(_) | Carrier::Gone => true,
        };
        frame.body = session.restored(&frame);
        if ends && let Some(asked) = session.open.remove(&frame.exchange) {
            let status = frame.reply_head().map_or(200, |head| head.status);
            over |= asked.verb == Verb::Delete && matches!(status, 200..300 | 404) && session.id.is_some();
        }
        let _ = self.to_clients.send(frame).await;
        if over { self.end(number).await } else { Ok(()) }
    }

    /// The server opens a session under an id that is another principal's. No
    /// gate sees both.
    async fn reissued(&mut self, number: u64, frame: &Frame) -> Result<(), Broken> {
        let session = self.sessions.get_mut(&number);
        if let Some(asked) = session.and_then(|session| session.open.remove(&frame.exchange)) {
            let why = "the server opened the session under the id of another one";
            let _ = self.to_clients.send(refusal(frame.exchange, &asked.body, 502, why)).await;
        }
        self.end(number).await
    }

    async fn end(&mut self, number: u64) -> Result<(), Broken> {
        let Some(session) = self.sessions.remove(&number) else { return Ok(()) };
        // Another session may have come by the same id since.
        if let Some(id) = session.id.as_ref().filter(|id| self.ids.get(*id) == Some(&number)) {
            self.ids.remove(id);
        }
        self.answer(&session, 404, "the session is over").await;
        self.host.close(number, false)
    }

    /// Answers whoever still waits in a session.
    async fn answer(&self, session: &Session, status: u16, why: &str) {
        for (exchange, Asked { verb, body, .. }) in &session.open {
            let frame = match verb {
                Verb::Get => http::end(*exchange),
                Verb::Post | Verb::Delete => refusal(*exchange, body, status, why),
            };
            let _ = self.to_clients.send(frame).await;
        }
    }

    async fn refuse(&self, frame: &Frame, status: u16, why: &str) -> Result<(), Broken> {
        let _ = self.to_clients.send(refusal(frame.exchange, &frame.body, status, why)).await;
        Ok(())
    }

    async fn close_all(&mut self, failed: bool) {
        let (status, why) = if failed { (500, CLOSED) } else { (503, "the gate was told to end") };
        for (number, session) in std::mem::take(&mut self.sessions) {
            self.answer(&session, status, why).await;
            drop(session);
            // What can't be logged now has been told by whatever broke.
            let _ = self.host.close(number, failed);
        }
    }
}

/// Whether a request needs no session: it opens one, or brings along what a
/// session would know.
fn begins(frame: &Frame) -> bool {
    let message = Message::new(frame.body.clone());
    message.method() == Some("initialize") || message.is_stateless()
}

/// An answer of the guard's own.
fn refusal(exchange: Exchange, asked: &Bytes, status: u16, why: &str) -> Frame {
    let message = Message::new(asked.clone());
    let id = message.id().filter(|_| message.shape() == Shape::Request);
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    http::whole(exchange, status, headers, error_reply(id, REFUSED, why, None))
}

/// What a client is told apart by where it was given no session id.
fn principal(names: &[String], headers: &Headers) -> Vec<(String, String)> {
    headers.iter().filter(|(name, _)| names.contains(name)).cloned().collect()
}

#[cfg(test)]
mod tests;
