//! A scripted server on HTTP that can write every byte of a response itself.
//!
//! hyper reads the requests. A response that a case scripts is written below it;
//! every other one is written as usual. Responses may wait for later requests, and
//! a GET has a stream.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use hyper::{
    Request,
    body::{Frame as Piece, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncWriteExt, join},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::{
    Said, Script, Served,
    web::{Face, Response, verb},
};
use crate::{
    case::is_framing,
    protocol::{Direction, Message},
    transcript::Dress,
    transport::http::{
        exact::{LAST_CHUNK, Mute, Tap, body, chunk, framing, line},
        sse,
    },
};

/// What went wrong with a connection, for nobody in particular.
type Ended = io::Error;
type Body = BoxBody<Bytes, Ended>;

/// The server, for every connection.
#[derive(Debug)]
struct Server {
    face: Face,
    /// How many messages have come.
    heard: watch::Sender<u32>,
    streams: Mutex<Streams>,
}

/// The stream of the GET that came last, and what waits for one.
#[derive(Debug, Default)]
struct Streams {
    open: Option<mpsc::UnboundedSender<Bytes>>,
    unsent: Vec<Bytes>,
}

/// Serves until the task is dropped.
pub async fn serve(face: Face, listener: TcpListener, mut unasked: mpsc::UnboundedReceiver<Bytes>) {
    let server = Arc::new(Server { face, heard: watch::channel(0).0, streams: Mutex::default() });
    // Dropped with this task, and every connection with it.
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    clients.spawn(attend(Arc::clone(&server), stream));
                }
                Err(_) => return,
            },
            Some(said) = unasked.recv() => server.on_get(&said),
            Some(_) = clients.join_next() => {}
        }
    }
}

async fn attend(server: Arc<Server>, stream: TcpStream) {
    // Only latency is at stake.
    let _ = stream.set_nodelay(true);
    let (read, write) = stream.into_split();
    let own = Tap::new(write);
    let mute = Arc::<Mute>::default();
    let io = TokioIo::new(join(read, own.muted_by(&mute)));
    let service = service_fn(|request| {
        mute.set(false);
        answer(Arc::clone(&server), request, own.clone(), Arc::clone(&mute))
    });
    // A client that broke off is no trouble of ours.
    let _ = http1::Builder::new().serve_connection(io, service).await;
}

async fn answer(
    server: Arc<Server>,
    request: Request<Incoming>,
    own: Tap,
    mute: Arc<Mute>,
) -> Result<hyper::Response<Body>, Ended> {
    let verb = verb(request.method().as_str());
    let headers: Vec<_> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let text = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let (message, mut served) = if verb == "POST" {
        let heard = server.face.hear(&headers, text);
        server.heard.send_modify(|count| *count += 1);
        heard
    } else {
        let served = server.face.stage.server().notified(verb, &headers);
        if served == Served::default() {
            return if verb == "GET" { server.stream() } else { whole(200, &[], Bytes::new()) };
        }
        (Message::new(Bytes::new()), served)
    };
    let heard = *server.heard.borrow();
    server.until(heard + served.hold).await;
    if let Some(said) = served.web.on_get.take() {
        server.on_get(&said);
    }
    let (script, interim) = (served.script.take(), std::mem::take(&mut served.web.interim));
    let response = server.face.dress(&message, served);
    let frames = response.headers.iter().any(|(name, _)| is_framing(name));
    if script.is_none() && interim.is_empty() && !frames {
        server.face.respond(&response);
        return whole(response.status, &response.headers, response.body().into());
    }
    let script = script.unwrap_or_else(|| {
        let body: Bytes = response.body().into();
        Script(vec![Said { writes: Some(vec![body.clone()]), ..Said::from(body) }])
    });
    mute.set(true);
    server.write(&response, &interim, script, own).await?;
    whole(200, &[], Bytes::new())
}

impl Server {
    /// Waits until so many messages have come.
    async fn until(&self, heard: u32) {
        let _ = self.heard.subscribe().wait_for(|count| *count >= heard).await;
    }

    /// Writes a response as the script has it. An error closes the connection.
    async fn write(&self, response: &Response, interim: &[u16], script: Script, mut own: Tap) -> Result<(), Ended> {
        for status in interim {
            own.write_each(&[format!("HTTP/1.1 {status} Interim\r\n\r\n").into()]).await?;
        }
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", response.status).into_bytes();
        for (name, value) in response.headers.iter().filter(|(name, _)| !is_framing(name)) {
            line(&mut head, name, value.as_bytes());
        }
        let is_framed = !framing(&response.headers).is_empty();
        let head = body(head, &response.headers, &[]);
        own.write_each(&head[..1]).await?;
        let dress = Dress { status: Some(response.status), headers: response.headers.clone(), verb: None };
        let mut heard = *self.heard.borrow();
        for said in script.0 {
            self.until(heard + said.after).await;
            heard = *self.heard.borrow();
            if !said.bytes.is_empty() {
                self.face.record(Direction::Replyward, Message::new(said.bytes), dress.clone());
            }
            let writes = said.writes.unwrap_or_default();
            let writes: Vec<_> = if is_framed { writes } else { writes.iter().map(|bytes| chunk(bytes)).collect() };
            own.write_each(&writes).await?;
            if said.end.is_some() {
                own.shutdown().await?;
                return Err(io::Error::other("the script ends here"));
            }
        }
        if is_framed { Ok(()) } else { own.write_each(&[Bytes::from_static(LAST_CHUNK)]).await }
    }

    /// Says something on the stream of a GET, or once there is one.
    fn on_get(&self, said: &Bytes) {
        self.face.record(Direction::Replyward, Message::new(said.clone()), Dress::default());
        let event = sse::encode(said);
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if streams.open.as_ref().is_none_or(|open| open.send(event.clone()).is_err()) {
            streams.unsent.push(event);
        }
    }

    /// Opens the stream of a GET.
    fn stream(&self) -> Result<hyper::Response<Body>, Ended> {
        let (open, events) = mpsc::unbounded_channel();
        {
            let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            for event in streams.unsent.drain(..) {
                let _ = open.send(event);
            }
            streams.open = Some(open);
        }
        let events = futures_util::stream::unfold(events, async |mut events| {
            events.recv().await.map(|event| (Ok(Piece::data(event)), events))
        });
        hyper::Response::builder()
            .header("content-type", sse::MEDIA_TYPE)
            .body(BodyExt::boxed(StreamBody::new(events)))
            .map_err(io::Error::other)
    }
}

fn whole(status: u16, headers: &[(String, String)], body: Bytes) -> Result<hyper::Response<Body>, Ended> {
    let mut response = hyper::Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(name.as_str(), value.as_str());
    }
    let body = http_body_util::Full::new(body).map_err(|never| match never {}).boxed();
    response.body(body).map_err(io::Error::other)
}
