//! Messages as lines over two byte streams.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};

use super::super::{Carrier, Close, Connection, Exchange, Frame, ledger::Outlet};

/// The longest line in bytes. A careless reader has no bound at all; this one
/// only keeps the harness alive.
pub const LINE_CAP: usize = 64 << 20;

/// A byte order mark in UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// How much is asked for in one read.
const CHUNK: usize = 16 << 10;

/// How much at least.
const LEAST: usize = 2 << 10;

/// A connection that reads and writes one message a line.
///
/// Lines go out with a line feed; one before the line end that came in is taken
/// off together with a carriage return, and the byte order mark that some writers
/// begin a stream with. Empty lines are no message. A line feed
/// inside an outgoing message (legal white space in JSON, not in this framing)
/// becomes a space; nothing else is changed.
///
/// When the owner drops the connection, or the last sender into it, whatever
/// was accepted is still written, and then the write side is closed.
pub fn over<R, W>(reader: R, writer: W) -> Connection
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (mut connection, from_owner, to_owner) = Connection::new();
    let close = Arc::clone(&connection.close);
    spawn_writer(writer, from_owner);
    connection.tasks.keep(tokio::spawn(async move {
        let outlet = Outlet::new(to_owner);
        let end = read(reader, &outlet).await;
        // Set before the outlet is dropped: whoever sees the end can ask why.
        let _ = close.set(end);
    }));
    connection
}

/// Writes until the owner is gone. Not one of the connection's tasks, because
/// those are aborted with it and would lose what was accepted.
pub(super) fn spawn_writer<W>(mut writer: W, mut from_owner: mpsc::Receiver<Frame>)
where
    W: AsyncWrite + Send + Unpin + 'static,
{
    tokio::spawn(async move {
        while let Some(frame) = from_owner.recv().await {
            let written = async {
                let Carrier::Exact(exact) = &frame.carrier else {
                    writer.write_all(&line(&frame.body)).await?;
                    return writer.flush().await;
                };
                for bytes in &exact.writes {
                    writer.write_all(bytes).await?;
                    writer.flush().await?;
                }
                Ok(())
            };
            // The reader says why the connection is over; here is only to stop.
            if written.await.is_err() {
                break;
            }
        }
        let _ = writer.shutdown().await;
    });
}

/// A message in its framing, so that it goes out in one write.
fn line(body: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(body.len() + 1);
    line.extend_from_slice(body);
    for at in memchr::memchr_iter(b'\n', body) {
        line[at] = b' ';
    }
    line.push(b'\n');
    line
}

/// Hands on every line until the stream, or the owner, ends; says which way.
pub(super) async fn read<R>(mut reader: R, to_owner: &Outlet) -> Close
where
    R: AsyncRead + Unpin,
{
    let mut buffer = BytesMut::new();
    let mut begun = false;
    // No line feed lies before this offset.
    let mut searched = 0;
    loop {
        while let Some(length) = memchr::memchr(b'\n', &buffer[searched..]) {
            let line = buffer.split_to(searched + length + 1).freeze();
            searched = 0;
            if !deliver(line, &mut begun, to_owner).await {
                return Close::Ended;
            }
        }
        searched = buffer.len();
        if searched > LINE_CAP {
            return Close::Broken(format!("a line is longer than {LINE_CAP} bytes"));
        }
        // Lines share what they were read into, so that small ones cost no buffer each.
        if buffer.capacity() - buffer.len() < LEAST {
            buffer.reserve(CHUNK);
        }
        match reader.read_buf(&mut buffer).await {
            Ok(0) => {
                deliver(buffer.freeze(), &mut begun, to_owner).await;
                return Close::Ended;
            }
            Ok(_) => {}
            Err(error) => return Close::Broken(error.to_string()),
        }
    }
}

/// Hands on one line; false when nobody wants it.
async fn deliver(mut line: Bytes, begun: &mut bool, to_owner: &Outlet) -> bool {
    if !std::mem::replace(begun, true) && line.starts_with(MARK) {
        line = line.slice(MARK.len()..);
    }
    for end in [b"\n", b"\r"] {
        if line.ends_with(end) {
            line.truncate(line.len() - 1);
        }
    }
    line.is_empty() || to_owner.send(Frame::line(Exchange::NONE, line)).await.is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{duplex, split};

    use super::*;

    async fn bodies(mut connection: Connection) -> Vec<Bytes> {
        let mut bodies = Vec::new();
        while let Some(frame) = connection.incoming.recv().await {
            assert_eq!(frame.exchange, Exchange::NONE);
            bodies.push(frame.body);
        }
        bodies
    }

    /// What arrives when `wire` is read in pieces of the given sizes.
    async fn received(wire: &[u8], sizes: &[usize]) -> Vec<Bytes> {
        let mut reader = pieces(wire, sizes);
        let (to_owner, incoming) = mpsc::channel(1024);
        assert_eq!(read(&mut reader, &Outlet::new(to_owner)).await, Close::Ended);
        let (mut connection, _from_owner, _to_owner) = Connection::new();
        connection.incoming = incoming;
        bodies(connection).await
    }

    /// A reader that gives at most the next of `sizes` bytes a time.
    fn pieces(wire: &[u8], sizes: &[usize]) -> impl AsyncRead + Unpin {
        let mut chained: Box<dyn AsyncRead + Unpin> = Box::new(tokio::io::empty());
        let mut rest = wire;
        for size in sizes.iter().chain([&usize::MAX]) {
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            chained = Box::new(chained.chain(std::io::Cursor::new(piece.to_vec())));
            rest = after;
        }
        chained
    }

    #[tokio::test]
    async fn every_line_that_is_not_empty() {
        let got = received(b"{}\r\n\n\r\n[1]\nServer started\nlast", &[]).await;
        assert_eq!(got, ["{}", "[1]", "Server started", "last"]);
    }

    #[tokio::test]
    async fn flushes_what_was_accepted_and_then_closes() {
        let (near, mut far) = duplex(8);
        let (reader, writer) = split(near);
        let connection = over(reader, writer);
        connection.outgoing.send(Frame::line(Exchange(7), "{\n\"much\": \"longer than the pipe\"}")).await.unwrap();
        drop(connection);
        let mut wire = String::new();
        far.read_to_string(&mut wire).await.unwrap();
        assert_eq!(wire, "{ \"much\": \"longer than the pipe\"}\n");
    }

    #[tokio::test]
    async fn ends_when_the_other_end_does() {
        let (near, far) = duplex(64);
        let (reader, writer) = split(near);
        let mut connection = over(reader, writer);
        drop(far);
        assert_eq!(connection.incoming.recv().await, None);
        assert_eq!(connection.close_reason(), Close::Ended);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_lines(
            lines in prop::collection::vec("[a-zé漢🦀\r]{0,9}", 0..8),
            sizes in prop::collection::vec(1_usize..5, 0..40),
        ) {
            let wire = lines.join("\n");
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let expected: Vec<&str> =
                lines.iter().map(|line| line.strip_suffix('\r').unwrap_or(line)).filter(|line| !line.is_empty()).collect();
            let got = runtime.block_on(received(wire.as_bytes(), &sizes));
            prop_assert_eq!(got, expected);
        }
    }
}
