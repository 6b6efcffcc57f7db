//! A scripted server on HTTP.
//!
//! Replies that are one whole body are served by wiremock, whose request log is
//! a second count of what arrived. A server that speaks unasked needs a stream
//! that stays open, and is served by the transport's own listener.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use tokio::sync::mpsc;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

use super::{Served, Stage, Web, stateless};
use crate::{
    protocol::{Direction, Era, HEADER_MISMATCH, Id, Leg, Message, ServerName, Shape, error_reply, meta},
    transcript::{Crossing, Dress, Event, Recorder},
    transport::{Carrier, Connection, Exchange, Frame, Verb, http},
};

/// Where redirects lead: the URLs of a case's servers, known once all are up.
pub type Urls = Arc<std::sync::OnceLock<BTreeMap<ServerName, String>>>;

/// A scripted server's HTTP face, without IO.
#[derive(Clone, Debug)]
pub struct Face {
    /// The server.
    pub stage: Stage,
    /// Its name in the case.
    pub server: ServerName,
    /// Where redirects lead.
    pub urls: Urls,
    /// What the session ids that it issues begin with; the number of the session follows.
    pub session: String,
    /// Where crossings are recorded.
    pub recorder: Recorder,
}

/// What goes back for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Headers, the media type included.
    pub headers: Vec<(String, String)>,
    /// One body, or one event each.
    pub bodies: Vec<Bytes>,
    /// Whether the bodies are events.
    pub events: bool,
    /// The stream stays open for what is said unasked to this `subscriptions/listen`.
    pub listens: Option<Id>,
}

impl Response {
    /// A status, and no body.
    fn bare(status: u16, headers: Vec<(String, String)>) -> Self {
        Self { status, headers, bodies: Vec::new(), events: false, listens: None }
    }
}

impl Face {
    /// Takes a request in; records both ways.
    pub fn answer(&self, verb: &'static str, headers: &[(String, String)], body: Bytes) -> Response {
        if verb != "POST" {
            let status = if verb == "DELETE" && self.has_sessions() { 200 } else { 405 };
            return Response::bare(status, Vec::new());
        }
        let (message, served) = self.hear(headers, body);
        let response = self.dress(&message, served);
        self.respond(&response);
        response
    }

    /// Takes a message in, records it, and says what comes of it.
    pub(super) fn hear(&self, headers: &[(String, String)], body: Bytes) -> (Message, Served) {
        let message = Message::new(body);
        let principal = self.principal(headers);
        let served = self.refusal(&message, headers);
        let dress = Dress { headers: headers.to_vec(), verb: Some("POST"), status: None };
        self.record(Direction::Requestward, message.clone(), dress);
        let served = served.unwrap_or_else(|| self.stage.server().arrive(&principal, headers, &message));
        (message, served)
    }

    /// Records a response.
    pub(super) fn respond(&self, response: &Response) {
        let dress = Dress { status: Some(response.status), headers: response.headers.clone(), verb: None };
        if response.bodies.is_empty() {
            self.record(Direction::Replyward, Message::new(Bytes::new()), dress);
        } else {
            for body in &response.bodies {
                self.record(Direction::Replyward, Message::new(body.clone()), dress.clone());
            }
        }
    }

    /// Whether it has sessions, and the streams that belong to them.
    fn has_sessions(&self) -> bool {
        self.stage.server().prototype().speaks_in(Era::Handshake)
    }

    /// What a server of the stateless era says where headers and body differ.
    fn refusal(&self, message: &Message, headers: &[(String, String)]) -> Option<Served> {
        if !message.is_stateless() || !self.stage.server().prototype().speaks_in(Era::Stateless) {
            return None;
        }
        let id = message.id().filter(|_| message.shape() == Shape::Request)?;
        let why = stateless::mismatch(message, headers)?;
        let web = Web { status: Some(400), ..Web::default() };
        Some(Served { says: vec![error_reply(Some(id), HEADER_MISMATCH, why, None)], web, ..Served::default() })
    }

    /// Who calls: by the token, unless the server takes the session for a proof.
    fn principal(&self, headers: &[(String, String)]) -> String {
        let server = self.stage.server();
        let session = headers.iter().find(|(name, _)| name == "mcp-session-id").map(|(_, value)| value.as_str());
        let nth = session.and_then(|id| id.strip_prefix(&self.session)?.strip_prefix('-')?.parse().ok());
        let opener = nth.and_then(|nth| server.opener(nth));
        opener.unwrap_or_else(|| server.prototype().principal_of_headers(headers)).to_owned()
    }

    pub(super) fn record(&self, direction: Direction, message: Message, dress: Dress) {
        self.recorder.event(Event::Crossed(Crossing {
            leg: Leg::Upstream,
            direction,
            server: self.server.clone(),
            message,
            dress,
        }));
    }

    /// What goes back for what a message came to.
    pub(super) fn dress(&self, request: &Message, served: Served) -> Response {
        let Served { says, web, opens, close, listens, .. } = served;
        let mut headers = Vec::new();
        if let Some(nth) = opens {
            headers.push(("mcp-session-id".to_owned(), format!("{}-{nth}", self.session)));
        }
        let Web { status, content_type, headers: more, redirect, .. } = web;
        headers.extend(more);
        if let Some(target) = redirect {
            let url = self.urls.get().and_then(|urls| urls.get(&target)).cloned().unwrap_or_default();
            headers.push(("location".to_owned(), url));
            return Response::bare(status.unwrap_or(307), headers);
        }
        if close {
            // HTTP has no connection to close that belongs to one request; a
            // server that dies answers nothing a client can use.
            return Response::bare(status.unwrap_or(502), headers);
        }
        if says.is_empty() {
            let accepted = !matches!(request.shape(), Shape::Request | Shape::Batch);
            let fallback = if accepted { 202 } else { 204 };
            return Response::bare(status.unwrap_or(fallback), headers);
        }
        // Several messages for one request can only travel as events.
        let content_type = content_type.unwrap_or_else(|| {
            if says.len() > 1 || listens.is_some() { "text/event-stream" } else { "application/json" }.to_owned()
        });
        let events = content_type == "text/event-stream";
        // An empty one stands for none at all.
        if !content_type.is_empty() {
            headers.push(("content-type".to_owned(), content_type));
        }
        Response { status: status.unwrap_or(200), headers, bodies: says, events, listens }
    }
}

impl Response {
    /// The bytes of its body.
    pub(super) fn body(&self) -> Vec<u8> {
        if !self.events {
            return self.bodies.concat();
        }
        self.bodies.iter().flat_map(|body| http::sse::encode(body)).collect()
    }
}

/// Whole bodies, from wiremock.
#[derive(Debug)]
struct Whole(Face);

impl Respond for Whole {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let headers: Vec<_> = request
            .headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let response = self.0.answer(verb(request.method.as_str()), &headers, request.body.clone().into());
        let mut template = ResponseTemplate::new(response.status);
        let mut content_type = None;
        for (name, value) in &response.headers {
            if name == "content-type" {
                content_type = Some(value.clone());
            } else {
                template = template.insert_header(name.as_str(), value.as_str());
            }
        }
        let body = response.body();
        match content_type {
            Some(media) => template.set_body_raw(body, &media),
            None => template.set_body_bytes(body),
        }
    }
}

/// The method by its name; whatever else there is asks for a stream.
pub(super) fn verb(method: &str) -> &'static str {
    match method {
        "POST" => "POST",
        "DELETE" => "DELETE",
        _ => "GET",
    }
}

/// A scripted server behind wiremock.
#[derive(Debug)]
pub struct WholeBody(MockServer);

impl WholeBody {
    /// Starts one on a free port of the loopback interface.
    pub async fn start(face: Face) -> Self {
        let server = MockServer::builder().start().await;
        Mock::given(any()).respond_with(Whole(face)).mount(&server).await;
        Self(server)
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.0.uri())
    }

    /// How many POST requests arrived, by wiremock's own count.
    pub async fn received(&self) -> usize {
        let requests = self.0.received_requests().await.unwrap_or_default();
        requests.iter().filter(|request| request.method.as_str() == "POST").count()
    }
}

/// Serves a scripted server that speaks unasked, on the listener's `connection`.
pub async fn stream(face: Face, connection: Connection, mut unasked: mpsc::UnboundedReceiver<Bytes>) {
    let Connection { outgoing, mut incoming, tasks, .. } = connection;
    let mut listening = Vec::new();
    loop {
        let frames = tokio::select! {
            biased;
            frame = incoming.recv() => match frame {
                Some(frame) => answer(&face, frame, &mut listening),
                None => break,
            },
            said = unasked.recv() => match said {
                Some(said) => {
                    let message = Message::new(said.clone());
                    let exchange = stream_of(&message, &listening);
                    face.record(Direction::Replyward, message, Dress::default());
                    vec![http::event(exchange, Vec::new(), said)]
                }
                None => break,
            },
        };
        for frame in frames {
            if outgoing.send(frame).await.is_err() {
                break;
            }
        }
    }
    drop(tasks);
}

/// The stream on which something is said unasked: that of the subscription which it
/// names; without one, the stream that was asked for last.
fn stream_of(message: &Message, listening: &[(Id, Exchange)]) -> Exchange {
    let named = message.in_meta(meta::SUBSCRIPTION).last().and_then(Id::of);
    let found = listening.iter().rev().find(|(id, _)| named.as_ref().is_none_or(|named| named == id));
    found.map_or(Exchange::NONE, |(_, exchange)| *exchange)
}

fn answer(face: &Face, frame: Frame, listening: &mut Vec<(Id, Exchange)>) -> Vec<Frame> {
    let Carrier::Request { verb, headers } = frame.carrier else { return Vec::new() };
    let verb = match verb {
        Verb::Get if !face.has_sessions() => "GET",
        Verb::Get => return vec![http::open_stream(frame.exchange, Vec::new())],
        Verb::Post => "POST",
        Verb::Delete => "DELETE",
    };
    let Response { status, headers, bodies, events, listens } = face.answer(verb, &headers, frame.body);
    if !events {
        return vec![http::whole(frame.exchange, status, headers, bodies.concat())];
    }
    let events = bodies.into_iter().map(|body| http::event(frame.exchange, headers.clone(), body));
    match listens {
        Some(id) => {
            listening.push((id, frame.exchange));
            events.collect()
        }
        None => events.chain([http::end(frame.exchange)]).collect(),
    }
}
