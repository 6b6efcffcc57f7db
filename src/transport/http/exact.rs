//! HTTP that is written byte for byte, below hyper.
//!
//! hyper reads what the other end says, as it does everywhere else. What it would
//! write is thrown away where an author writes the bytes himself.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt, join},
    net::{TcpStream, tcp::OwnedWriteHalf},
    sync::Notify,
};

use super::{
    super::{Headers, Tasks},
    pool::{Sender, reason},
};

/// One of several writers to a socket.
#[derive(Clone, Debug)]
pub struct Tap {
    half: Arc<Mutex<OwnedWriteHalf>>,
    mute: Option<Arc<Mute>>,
}

/// Silences a writer: what it writes while this is set is thrown away.
#[derive(Debug, Default)]
pub struct Mute {
    on: AtomicBool,
    used: Notify,
}

impl Mute {
    /// Silent from now on, or no longer.
    pub fn set(&self, on: bool) {
        self.on.store(on, Ordering::Release);
    }
}

impl Tap {
    /// Writes to `half`.
    pub fn new(half: OwnedWriteHalf) -> Self {
        Self { half: Arc::new(Mutex::new(half)), mute: None }
    }

    /// Another writer to the same socket, silenced by `mute`.
    #[must_use]
    pub fn muted_by(&self, mute: &Arc<Mute>) -> Self {
        Self { half: Arc::clone(&self.half), mute: Some(Arc::clone(mute)) }
    }

    /// Writes each of these by itself.
    ///
    /// # Errors
    /// Where the other end is gone.
    pub async fn write_each(&mut self, writes: &[Bytes]) -> io::Result<()> {
        for bytes in writes {
            self.write_all(bytes).await?;
            self.flush().await?;
        }
        Ok(())
    }

    fn is_muted(&self) -> bool {
        self.mute.as_ref().is_some_and(|mute| mute.on.load(Ordering::Acquire))
    }

    fn lock(&self) -> MutexGuard<'_, OwnedWriteHalf> {
        self.half.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncWrite for Tap {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_muted() {
            self.mute.iter().for_each(|mute| mute.used.notify_one());
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut *self.lock()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_muted() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut *self.lock()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_muted() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut *self.lock()).poll_shutdown(context)
    }
}

/// The head and the body of `request` as they are written: its headers and those of
/// `given` that frame the body. Where none does, each write is a chunk.
pub(super) fn request<B>(request: &Request<B>, given: &Headers, writes: &[Bytes]) -> Vec<Bytes> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method(), request.uri()).into_bytes();
    for (name, value) in request.headers() {
        line(&mut head, name.as_str(), value.as_bytes());
    }
    body(head, given, writes)
}

/// A head without its end, and a body: framed as `given` say, or in chunks.
pub fn body(mut head: Vec<u8>, given: &Headers, writes: &[Bytes]) -> Vec<Bytes> {
    let framing = framing(given);
    for (name, value) in &framing {
        line(&mut head, name, value.as_bytes());
    }
    if framing.is_empty() {
        line(&mut head, "transfer-encoding", b"chunked");
    }
    head.extend_from_slice(b"\r\n");
    let mut all = vec![head.into()];
    if framing.is_empty() {
        all.extend(writes.iter().map(|bytes| chunk(bytes)));
        all.push(Bytes::from_static(LAST_CHUNK));
    } else {
        all.extend(writes.iter().cloned());
    }
    all
}

/// What ends a body in chunks.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Bytes as a chunk; none as nothing, because an empty one is the last.
pub fn chunk(bytes: &[u8]) -> Bytes {
    if bytes.is_empty() {
        return Bytes::new();
    }
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat().into()
}

/// Appends a header to a head.
pub fn line(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
}

/// The headers that say how the body is framed.
pub fn framing(headers: &Headers) -> Headers {
    let frames = |name: &str| matches!(name, "content-length" | "transfer-encoding");
    headers.iter().filter(|(name, _)| frames(name)).cloned().collect()
}

/// Writes `writes` to `stream`, and gives the one who reads the response: whatever is
/// asked of it is not written. The tasks are the conversation.
pub(super) async fn converse(stream: TcpStream, writes: Vec<Bytes>) -> Result<(Sender, Tasks), String> {
    let (read, write) = stream.into_split();
    let mut own = Tap::new(write);
    let mute = Arc::<Mute>::default();
    mute.set(true);
    let io = TokioIo::new(join(read, own.muted_by(&mute)));
    let (sender, connection) = http1::handshake::<_, Full<Bytes>>(io).await.map_err(|error| reason(&error))?;
    let mut tasks = Tasks::default();
    tasks.keep(tokio::spawn(async move {
        let _ = connection.await;
    }));
    tasks.keep(tokio::spawn(async move {
        // hyper takes an answer before its question for an error.
        mute.used.notified().await;
        // A server that has heard enough closes; its response says why.
        let _ = own.write_each(&writes).await;
        std::future::pending::<()>().await;
    }));
    Ok((sender, tasks))
}
