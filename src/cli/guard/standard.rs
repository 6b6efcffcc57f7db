//! This program's standard streams, waited for without threads.
//!
//! A read of standard input on a thread of its own wakes two threads for every
//! message, which is most of what a small message costs. Pipes and sockets can be
//! waited for together with everything else, once they don't block. That is a trait
//! of what whoever else has the stream has as well: so a pipe is opened a second
//! time, and a socket blocks again in the end. A terminal or a file gets its thread.

use std::{
    io,
    os::{
        fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::{fs::FileTypeExt as _, net},
    },
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{UnixStream, unix::pipe},
};

/// Where a client's messages come from.
pub(super) type Input = Box<dyn AsyncRead + Send + Unpin>;

/// Where the client's messages go.
pub(super) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input. To be called within a runtime.
pub(super) fn input() -> Input {
    let found = || -> io::Result<Option<Input>> {
        Ok(match Kind::of(io::stdin().as_fd())? {
            Kind::Pipe(path) => Some(Box::new(pipe::OpenOptions::new().open_receiver(path)?)),
            Kind::Socket(own) => Some(Box::new(Socket::new(own)?)),
            Kind::Other => None,
        })
    };
    found().ok().flatten().unwrap_or_else(|| Box::new(tokio::io::stdin()))
}

/// Standard output. To be called within a runtime.
pub(super) fn output() -> Output {
    let found = || -> io::Result<Option<Output>> {
        Ok(match Kind::of(io::stdout().as_fd())? {
            Kind::Pipe(path) => Some(Box::new(pipe::OpenOptions::new().open_sender(path)?)),
            Kind::Socket(own) => Some(Box::new(Socket::new(own)?)),
            Kind::Other => None,
        })
    };
    found().ok().flatten().unwrap_or_else(|| Box::new(tokio::io::stdout()))
}

/// What a stream is, as far as it can be waited for.
enum Kind {
    /// A pipe, by the name under which it can be opened again.
    Pipe(String),
    Socket(OwnedFd),
    Other,
}

impl Kind {
    fn of(stream: BorrowedFd<'_>) -> io::Result<Self> {
        let own = std::fs::File::from(stream.try_clone_to_owned()?);
        let kind = own.metadata()?.file_type();
        Ok(if kind.is_fifo() {
            Self::Pipe(format!("/proc/self/fd/{}", stream.as_raw_fd()))
        } else if kind.is_socket() {
            Self::Socket(own.into())
        } else {
            Self::Other
        })
    }
}

/// A socket that others may have as well.
#[derive(Debug)]
struct Socket {
    stream: UnixStream,
    /// The same one, for the end.
    own: net::UnixStream,
}

impl Socket {
    fn new(own: OwnedFd) -> io::Result<Self> {
        let own = net::UnixStream::from(own);
        let stream = own.try_clone()?;
        own.set_nonblocking(true)?;
        Ok(Self { stream: UnixStream::from_std(stream)?, own })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Where that fails it is closed, and nobody's concern.
        let _ = self.own.set_nonblocking(false);
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // It is closed with this program, for everybody else's sake.
        Poll::Ready(Ok(()))
    }
}
