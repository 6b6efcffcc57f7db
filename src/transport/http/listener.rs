//! The endpoint that clients reach over HTTP.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, mpsc, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    super::{Carrier, Connection, Frame, Verb, ledger::Outlet},
    BODY_CAP,
    desk::{Body, Desk, refusal},
    headers,
};

/// The one path that is served.
const PATH: &str = "/mcp";

/// How long clients may take to read what was already answered, once the owner
/// is gone.
const FLUSH: Duration = Duration::from_secs(1);

/// The pause after a connection could not be accepted (no descriptor left).
const PAUSE: Duration = Duration::from_millis(10);

/// A listener on the loopback interface, and the owner's end of it.
///
/// Each request arrives as a frame with an exchange of its own, counted from 1,
/// and waits until the owner answers on that exchange:
///
/// - [`super::whole`] or [`super::accepted`]: a whole response; a bare
///   [`Carrier::Line`] is one of status 200 in JSON;
/// - [`super::event`] starts an event stream or goes on with it, and
///   [`super::end`] ends it; one with neither bytes nor a mark
///   ([`super::open_stream`]) only starts it. A GET is answered so, or with a whole response;
/// - [`super::super::Form::Stopped`], or a whole response after events, breaks
///   the connection off.
///
/// A client that leaves too much of its stream unread is broken off.
/// A client that goes away before its answer has ended is told as [`Carrier::Gone`]
/// on its exchange.
///
/// A frame on no exchange goes to the GET stream that was opened last, and waits
/// for one if there is none. Frames on an exchange that is over, or whose
/// client went away, are dropped. Dropping the connection closes the listener
/// after what was answered has been sent.
#[derive(Debug)]
pub struct Listener {
    /// Where it is reached.
    pub url: String,
    /// Requests in, answers out.
    pub connection: Connection,
}

impl Listener {
    /// Listens on a free port.
    ///
    /// # Errors
    /// Where there is none.
    pub async fn bind() -> io::Result<Self> {
        Self::bind_at(0).await
    }

    /// Listens on this port.
    ///
    /// # Errors
    /// Where it is taken.
    pub async fn bind_at(port: u16) -> io::Result<Self> {
        Self::bind_to((Ipv4Addr::LOCALHOST, port).into()).await
    }

    /// Listens at this address, which need not be on the loopback interface.
    ///
    /// # Errors
    /// Where it is taken, or not this machine's.
    pub async fn bind_to(address: SocketAddr) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let url = format!("http://{}{PATH}", socket.local_addr()?);
        let (connection, from_owner, to_owner) = Connection::new();
        // Ends by itself, so that answers already accepted are sent.
        tokio::spawn(serve(socket, from_owner, to_owner));
        Ok(Self { url, connection })
    }
}

async fn serve(socket: TcpListener, mut from_owner: mpsc::Receiver<Frame>, to_owner: mpsc::Sender<Frame>) {
    let to_owner = Arc::new(Outlet::new(to_owner));
    let desk = Arc::<Desk>::default();
    let (stop, stopping) = watch::channel(false);
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            frame = from_owner.recv() => match frame {
                Some(frame) => desk.answer(frame),
                None => break,
            },
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => {
                    clients.spawn(attend(stream, Arc::clone(&desk), Arc::clone(&to_owner), stopping.clone()));
                }
                Err(_) => sleep(PAUSE).await,
            },
            () = to_owner.closed() => break,
            Some(_) = clients.join_next() => {}
        }
    }
    drop(socket);
    while let Ok(frame) = from_owner.try_recv() {
        desk.answer(frame);
    }
    desk.close();
    stop.send_replace(true);
    let _ = timeout(FLUSH, async { while clients.join_next().await.is_some() {} }).await;
}

async fn attend(stream: TcpStream, desk: Arc<Desk>, to_owner: Arc<Outlet>, mut stopping: watch::Receiver<bool>) {
    // Only latency is at stake.
    let _ = stream.set_nodelay(true);
    let hang_up = Arc::<Notify>::default();
    let service = service_fn(|request| handle(request, &desk, &to_owner, &hang_up));
    let mut connection =
        pin!(http1::Builder::new().header_read_timeout(None).serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        // What it has not read is dropped with the connection.
        () = hang_up.notified() => return,
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        // A client that broke off is no trouble of ours.
        _ = connection => {}
        () = hang_up.notified() => {}
    }
}

/// The client gets no answer: its connection is closed.
#[derive(Debug, thiserror::Error)]
#[error("the request is not answered")]
struct Unanswered;

async fn handle(
    request: Request<Incoming>,
    desk: &Arc<Desk>,
    to_owner: &Outlet,
    hang_up: &Arc<Notify>,
) -> Result<Response<Body>, Unanswered> {
    if request.uri().path() != PATH {
        return Ok(refusal(StatusCode::NOT_FOUND));
    }
    let verb = match *request.method() {
        Method::POST => Verb::Post,
        Method::GET => Verb::Get,
        Method::DELETE => Verb::Delete,
        _ => return Ok(refusal(StatusCode::METHOD_NOT_ALLOWED)),
    };
    let headers = headers::carried(request.headers());
    if request.body().size_hint().lower() > BODY_CAP as u64 {
        return Ok(refusal(StatusCode::PAYLOAD_TOO_LARGE));
    }
    let body = match Limited::new(request.into_body(), BODY_CAP).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => return Ok(refusal(StatusCode::PAYLOAD_TOO_LARGE)),
        Err(_) => return Err(Unanswered),
    };
    let (ticket, answer) = desk.open(verb, hang_up, to_owner.queue()).ok_or(Unanswered)?;
    let frame = Frame { exchange: ticket.exchange, carrier: Carrier::Request { verb, headers }, body };
    to_owner.send(frame).await.map_err(|_| Unanswered)?;
    let response = answer.await.map_err(|_| Unanswered)?;
    Ok(response.map(|body| body.holding(ticket)))
}
