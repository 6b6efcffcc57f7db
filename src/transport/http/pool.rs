//! Connections to servers, kept for the next request.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use url::{Host, Url};

/// A connection that lay idle for longer is not used again: servers close
/// theirs after five seconds, and a request that crosses the close is lost.
const IDLE: Duration = Duration::from_secs(2);

pub(super) type Sender = SendRequest<Full<Bytes>>;

/// A connection in use. Given back once its response has been read to the end;
/// dropped otherwise, which closes it.
#[derive(Debug)]
pub(super) struct Lease {
    origin: String,
    sender: Sender,
}

/// Idle connections by origin.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<BTreeMap<String, Vec<(Instant, Sender)>>>);

impl Pool {
    /// Sends `request` to the server of `url`; the error is for people.
    pub(super) async fn send(
        &self,
        url: &Url,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, Lease), String> {
        let origin = url.origin().ascii_serialization();
        while let Some(mut sender) = self.take(&origin) {
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((response, Lease { origin, sender })),
                // Closed before a byte of it was written: the next one will do.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(reason(error.error())),
                },
            }
        }
        let mut sender = dial(url).await?;
        let response = sender.send_request(request).await.map_err(|error| reason(&error))?;
        Ok((response, Lease { origin, sender }))
    }

    /// Keeps a connection for the next request.
    pub(super) fn give_back(&self, Lease { origin, sender }: Lease) {
        if !sender.is_closed() {
            let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            idle.entry(origin).or_default().push((Instant::now(), sender));
        }
    }

    fn take(&self, origin: &str) -> Option<Sender> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let senders = idle.get_mut(origin)?;
        senders.retain(|(since, sender)| since.elapsed() < IDLE && !sender.is_closed());
        senders.pop().map(|(_, sender)| sender)
    }
}

/// A connection to the server of `url`; the error is for people.
pub(super) async fn connect(url: &Url) -> Result<TcpStream, String> {
    if url.scheme() != "http" {
        return Err(format!("{url}: only http is spoken here"));
    }
    let port = url.port_or_known_default().unwrap_or(80);
    let stream = match url.host() {
        Some(Host::Domain(name)) => TcpStream::connect((name, port)).await,
        Some(Host::Ipv4(address)) => TcpStream::connect((address, port)).await,
        Some(Host::Ipv6(address)) => TcpStream::connect((address, port)).await,
        None => return Err(format!("{url}: names no host")),
    };
    let stream = stream.map_err(|error| format!("{url}: {error}"))?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    Ok(stream)
}

async fn dial(url: &Url) -> Result<Sender, String> {
    let stream = connect(url).await?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| reason(&error))?;
    // Ends when its sender is dropped; an error shows up at the request.
    tokio::spawn(connection);
    Ok(sender)
}

/// An error of hyper with its causes, which its own text leaves out.
pub(super) fn reason(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
