//! A writer that says when it is done.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{io::AsyncWrite, sync::oneshot};

/// A writer whose end somebody waits for: a program that exits before its last
/// reply is written has lost it.
#[derive(Debug)]
pub struct Told<W> {
    writer: W,
    /// Dropped with the writer.
    _done: oneshot::Sender<()>,
}

/// The same writer, and what resolves (with an error, on purpose) once it was dropped.
pub fn told<W>(writer: W) -> (Told<W>, oneshot::Receiver<()>) {
    let (done, dropped) = oneshot::channel();
    (Told { writer, _done: done }, dropped)
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Told<W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}
