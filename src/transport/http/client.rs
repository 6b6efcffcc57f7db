//! A client that trusts whatever it is told, unless a referee stops it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, JoinSet},
    time::timeout,
};
use url::{Position, Url};

use super::{
    super::{
        Carrier, Close, Connection, Exact, Exchange, Form, Frame, Go, Headers, Redirect, Referee, ReplyHead, Tasks,
        Verb, ledger::Outlet,
    },
    BODY_CAP, exact, headers,
    pool::{self, Lease, Pool, reason},
    reply, sse,
};
use crate::protocol::{Message, Shape};

/// The status of a response that no server gave: it could not be reached, or
/// broke off. The body says why, in plain text.
pub const UNREACHABLE: u16 = 599;

/// How many redirects a request follows.
const HOPS: usize = 10;

/// How long a message that asks for no reply holds those behind it back.
const ORDER: Duration = Duration::from_secs(1);

/// How many requests that are over may still be listed.
const SLACK: usize = 64;

/// How long a request may wait for its head after the owner is gone, so that
/// what was accepted has been sent.
const FLUSH: Duration = Duration::from_secs(1);

/// A connection to the endpoint at `url`. Each frame is one HTTP request, and
/// everything that answers it comes back under the frame's exchange, in order:
///
/// - a response that is no event stream, as one [`Form::Whole`], whatever its
///   status and media type;
/// - an event stream, as a [`Form::Event`] for each message or mark and one
///   [`Form::End`]; a GET first brings an event with no bytes, which says that
///   the stream is open ([`super::open_stream`]);
/// - [`Form::Stopped`], where the referee stopped it;
/// - [`Form::Whole`] with status [`UNREACHABLE`], also after events.
///
/// Requests run side by side. A notification or a response holds back what
/// comes after it until its head has arrived (at most a second), as a client
/// does that waits for its 202; otherwise they might overtake each other.
///
/// [`Carrier::Gone`] on an exchange calls it off.
///
/// Redirects are followed with the same method, body and headers, credentials
/// included, to any origin. A `host` header of the frame is sent as it stands
/// to the first server; `accept` and `content-type` are set unless present.
pub fn connect(url: &str, referee: Arc<dyn Referee>) -> Connection {
    let (connection, from_owner, to_owner) = Connection::new();
    match Url::parse(url) {
        Ok(url) => {
            let to_owner = Outlet::new(to_owner);
            let client = Arc::new(Client { url, referee, pool: Pool::default(), written: Mutex::default(), to_owner });
            // Ends by itself, so that requests already accepted are sent even
            // if the owner is gone.
            tokio::spawn(drive(client, from_owner));
        }
        Err(error) => {
            let _ = connection.close.set(Close::Broken(format!("{url:?} is no URL: {error}")));
        }
    }
    connection
}

#[derive(Debug)]
struct Client {
    url: Url,
    referee: Arc<dyn Referee>,
    pool: Pool,
    /// Conversations that were written byte for byte. They end with the owner: what
    /// stands behind a request is still read when that has its response.
    written: Mutex<Vec<Tasks>>,
    to_owner: Outlet,
}

/// What one frame asks for.
struct Order {
    exchange: Exchange,
    verb: Verb,
    headers: HeaderMap,
    body: Bytes,
}

/// Why an exchange ended before its last frame.
enum Failure {
    /// The owner is gone.
    Unwanted,
    /// The server can't be reached or broke off.
    Unreachable(String),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Unreachable(reason)
    }
}

async fn drive(client: Arc<Client>, mut from_owner: mpsc::Receiver<Frame>) {
    let mut running = JoinSet::new();
    let mut open: HashMap<Exchange, AbortHandle> = HashMap::new();
    while let Some(frame) = from_owner.recv().await {
        if frame.carrier == Carrier::Gone {
            // Its connection closes with it: that is how a server is told.
            if let Some(task) = open.remove(&frame.exchange) {
                task.abort();
            }
            continue;
        }
        let holds = matches!(Message::new(frame.body.clone()).shape(), Shape::Notification | Shape::Response);
        let (headed, head) = oneshot::channel();
        let exchange = frame.exchange;
        open.insert(exchange, running.spawn(Arc::clone(&client).serve(frame, headed)));
        while running.try_join_next().is_some() {}
        if open.len() > 2 * running.len() + SLACK {
            open.retain(|_, task| !task.is_finished());
        }
        if holds {
            let _ = timeout(ORDER, head).await;
        }
    }
    while running.join_next().await.is_some() {}
}

impl Client {
    /// `headed` is dropped when the head of the response has arrived.
    async fn serve(self: Arc<Self>, frame: Frame, headed: oneshot::Sender<()>) {
        let exchange = frame.exchange;
        let exact = if let Carrier::Exact(exact) = &frame.carrier { Some(Arc::clone(exact)) } else { None };
        let result = match (Order::new(frame), exact) {
            (Ok(order), None) => self.run(&order, headed).await,
            (Ok(order), Some(exact)) => self.write(&order, &exact, headed).await,
            (Err(reason), _) => Err(Failure::Unreachable(reason)),
        };
        if let Err(Failure::Unreachable(reason)) = result {
            let headers = vec![("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
            let _ = self.to_owner.send(reply::whole(exchange, UNREACHABLE, headers, reason)).await;
        }
    }

    async fn run(&self, order: &Order, headed: oneshot::Sender<()>) -> Result<(), Failure> {
        let mut url = self.url.clone();
        for hop in 0..=HOPS {
            let request = order.request(&url, hop == 0)?;
            let (response, lease) = tokio::select! {
                answer = self.pool.send(&url, request) => answer?,
                () = self.unwanted_for_long() => return Err(Failure::Unwanted),
            };
            let head = ReplyHead { status: response.status().as_u16(), headers: headers::carried(response.headers()) };
            let Some(to) = redirected(&url, &response) else {
                drop(headed);
                return self.receive(order, head, response.into_body(), Some(lease)).await;
            };
            let redirect = Redirect { from: url.into(), to: to.to_string(), status: head.status };
            if self.referee.redirect(order.exchange, &redirect) == Go::Stop {
                return self.deliver(order.exchange, &Arc::new(head), Form::Stopped, Bytes::new()).await;
            }
            url = to;
        }
        Err(Failure::Unreachable(format!("more than {HOPS} redirects")))
    }

    /// Writes a request byte for byte, on a connection of its own.
    async fn write(&self, order: &Order, exact: &Exact, headed: oneshot::Sender<()>) -> Result<(), Failure> {
        let request = order.request(&self.url, true)?;
        let writes = exact::request(&request, &exact.headers, &exact.writes);
        let stream = pool::connect(&self.url).await?;
        let (mut sender, own) = exact::converse(stream, writes).await?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(own);
        let response = sender.send_request(request).await.map_err(|error| reason(&error))?;
        drop(headed);
        let head = ReplyHead { status: response.status().as_u16(), headers: headers::carried(response.headers()) };
        self.receive(order, head, response.into_body(), None).await
    }

    async fn receive(
        &self,
        order: &Order,
        head: ReplyHead,
        body: Incoming,
        lease: Option<Lease>,
    ) -> Result<(), Failure> {
        let exchange = order.exchange;
        let (head, mut body) = (Arc::new(head), body);
        if self.referee.head(exchange, &head) == Go::Stop {
            return self.deliver(exchange, &head, Form::Stopped, Bytes::new()).await;
        }
        if !headers::announce_events(&head.headers) {
            let mut whole = BytesMut::new();
            while let Some(chunk) = self.chunk(&mut body).await? {
                whole.extend_from_slice(&chunk);
                within_cap(whole.len())?;
            }
            if let Some(lease) = lease {
                self.pool.give_back(lease);
            }
            return self.deliver(exchange, &head, Form::Whole, whole.freeze()).await;
        }
        if order.verb == Verb::Get {
            self.deliver(exchange, &head, Form::Event, Bytes::new()).await?;
        }
        let mut decoder = sse::Decoder::default();
        while let Some(chunk) = self.chunk(&mut body).await? {
            for event in decoder.feed(&chunk) {
                let mark = event.mark();
                let body = event.message().unwrap_or_default();
                if mark.is_some() || !body.is_empty() {
                    let carrier = Carrier::Reply { head: Arc::clone(&head), form: Form::Event, mark };
                    self.hand_over(Frame { exchange, carrier, body }).await?;
                }
            }
            within_cap(decoder.held())?;
        }
        if let Some(lease) = lease {
            self.pool.give_back(lease);
        }
        self.deliver(exchange, &head, Form::End, Bytes::new()).await
    }

    async fn chunk(&self, body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
        loop {
            let frame = tokio::select! {
                frame = body.frame() => frame,
                () = self.to_owner.closed() => return Err(Failure::Unwanted),
            };
            match frame.transpose().map_err(|error| reason(&error))?.map(hyper::body::Frame::into_data) {
                Some(Ok(data)) => return Ok(Some(data)),
                Some(Err(_trailers)) => {}
                None => return Ok(None),
            }
        }
    }

    async fn deliver(&self, exchange: Exchange, head: &Arc<ReplyHead>, form: Form, body: Bytes) -> Result<(), Failure> {
        let carrier = Carrier::Reply { head: Arc::clone(head), form, mark: None };
        self.hand_over(Frame { exchange, carrier, body }).await
    }

    async fn hand_over(&self, frame: Frame) -> Result<(), Failure> {
        self.to_owner.send(frame).await.map_err(|_| Failure::Unwanted)
    }

    async fn unwanted_for_long(&self) {
        self.to_owner.closed().await;
        tokio::time::sleep(FLUSH).await;
    }
}

impl Order {
    fn new(Frame { exchange, carrier, body }: Frame) -> Result<Self, String> {
        let (verb, given) = match carrier {
            Carrier::Request { verb, headers } => (verb, headers),
            Carrier::Exact(exact) => (exact.verb, exact.headers.clone()),
            Carrier::Line => (Verb::Post, Headers::new()),
            Carrier::Reply { .. } | Carrier::Gone => return Err("a response can't be sent as a request".to_owned()),
        };
        let mut headers = headers::map(&given)?;
        if verb == Verb::Get {
            headers::default(&mut headers, header::ACCEPT, sse::MEDIA_TYPE);
        } else {
            headers::default(&mut headers, header::ACCEPT, "application/json, text/event-stream");
        }
        if verb == Verb::Post || !body.is_empty() {
            headers::default(&mut headers, header::CONTENT_TYPE, "application/json");
        }
        Ok(Self { exchange, verb, headers, body })
    }

    fn request(&self, url: &Url, first: bool) -> Result<Request<Full<Bytes>>, String> {
        let method = match self.verb {
            Verb::Post => Method::POST,
            Verb::Get => Method::GET,
            Verb::Delete => Method::DELETE,
        };
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = method;
        *request.uri_mut() = url[Position::BeforePath..Position::AfterQuery]
            .parse()
            .map_err(|error| format!("{url}: can't be asked for: {error}"))?;
        *request.headers_mut() = self.headers.clone();
        if !first || !self.headers.contains_key(header::HOST) {
            let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort])
                .map_err(|error| format!("{url}: {error}"))?;
            request.headers_mut().insert(header::HOST, host);
        }
        Ok(request)
    }
}

/// Where a response sends its client, if anywhere.
fn redirected<B>(from: &Url, response: &Response<B>) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.headers().get(header::LOCATION)?.to_str().ok()?).ok()
}

fn within_cap(length: usize) -> Result<(), String> {
    if length > BODY_CAP { Err(format!("more than {BODY_CAP} bytes")) } else { Ok(()) }
}
