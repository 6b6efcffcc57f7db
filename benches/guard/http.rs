//! Clients on HTTP: one connection, and a pool of them.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::words;

/// A connection that is kept, in a session.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    last: usize,
    address: String,
}

impl Client {
    /// Opens a session.
    pub(crate) fn open(address: &str) -> Self {
        let mut client = Self::connect(address);
        client.post(words::OPEN, "");
        client.post(words::READY, IN_SESSION);
        let listed = client.post(words::LIST, IN_SESSION);
        assert!(listed.contains("find"), "the server lists its tool: {listed}");
        client
    }

    /// A connection in the session that is open already.
    fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        Self { stream: BufReader::new(stream), last: 1, address: address.to_owned() }
    }

    /// One call; how long its reply took.
    pub(crate) fn call(&mut self) -> Duration {
        self.last += 1;
        self.numbered(self.last)
    }

    fn numbered(&mut self, id: usize) -> Duration {
        let message = words::call(id);
        let begun = Instant::now();
        let reply = self.post(&message, IN_SESSION);
        let taken = begun.elapsed();
        assert!(words::answers(&reply, id), "{reply}");
        taken
    }

    fn post(&mut self, body: &str, headers: &str) -> String {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("the server reads");
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            assert!(self.stream.read_line(&mut line).expect("the server answers") > 0, "the server closed");
            let text = line.trim_end();
            if text.is_empty() {
                break;
            }
            if let Some((name, value)) = text.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a whole body");
        String::from_utf8(body).expect("text")
    }
}

const IN_SESSION: &str = "mcp-session-id: shelf\r\nmcp-protocol-version: 2025-11-25\r\n";

/// Connections in one session, used at once.
pub(crate) struct Pool {
    clients: Vec<Client>,
    last: AtomicUsize,
}

impl Pool {
    pub(crate) fn open(address: &str, connections: usize) -> Self {
        let first = Client::open(address);
        let more = (1..connections).map(|_| Client::connect(address));
        Self { clients: std::iter::once(first).chain(more).collect(), last: AtomicUsize::new(1) }
    }

    /// So many calls, each as soon as a connection is free.
    pub(crate) fn call(&mut self, calls: usize) {
        let most = *self.last.get_mut() + calls;
        let last = &self.last;
        thread::scope(|scope| {
            for client in &mut self.clients {
                scope.spawn(move || {
                    loop {
                        let id = last.fetch_add(1, Ordering::Relaxed) + 1;
                        if id > most {
                            break;
                        }
                        client.numbered(id);
                    }
                });
            }
        });
        self.last = AtomicUsize::new(most);
    }
}

/// How long so many calls take.
pub(crate) fn pool(address: &str, connections: usize, calls: usize) -> Duration {
    let mut pool = Pool::open(address, connections);
    let begun = Instant::now();
    pool.call(calls);
    begun.elapsed()
}
