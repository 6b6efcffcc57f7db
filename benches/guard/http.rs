//! Clients on HTTP: one connection, and a pool of them.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::words;

/// What every request in a session says.
pub(crate) const IN_SESSION: &str = "mcp-session-id: shelf\r\nmcp-protocol-version: 2025-11-25\r\n";

/// A connection that is kept.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Connection {
    /// Connects; whoever waits longer than `patience` gives up.
    pub(crate) fn open(address: &str, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Self { stream: BufReader::new(stream), address: address.to_owned() })
    }

    /// Sends a message and reads its whole response.
    pub(crate) fn post(&mut self, body: &str, headers: &str) -> io::Result<Answer> {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "no HTTP response");
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(broken)?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(':') else { return Err(broken()) };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().map_err(|_| broken())?,
                "transfer-encoding" => chunked = true,
                _ => {}
            }
        }
        let mut body = Vec::new();
        if !chunked {
            self.take(length, &mut body)?;
        }
        while chunked {
            let length = usize::from_str_radix(&self.line()?, 16).map_err(|_| broken())?;
            self.take(length, &mut body)?;
            self.line()?;
            chunked = length > 0;
        }
        Ok(Answer { status, body: String::from_utf8(body).map_err(|_| broken())? })
    }

    fn take(&mut self, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let at = into.len();
        into.resize(at + length, 0);
        self.stream.read_exact(&mut into[at..])
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}

/// Opens a session; gives what the server listed.
pub(crate) fn open_session(connection: &mut Connection) -> io::Result<String> {
    connection.post(words::OPEN, "")?;
    connection.post(words::READY, IN_SESSION)?;
    Ok(connection.post(words::LIST, IN_SESSION)?.body)
}

/// A client whose server must answer.
pub(crate) struct Client {
    connection: Connection,
    last: usize,
}

impl Client {
    /// Opens a session.
    pub(crate) fn open(address: &str) -> Self {
        let mut client = Self::connect(address);
        let listed = open_session(&mut client.connection).expect("a session");
        assert!(listed.contains("find"), "the server lists its tool: {listed}");
        client
    }

    /// A connection in the session that is open already.
    fn connect(address: &str) -> Self {
        let connection = Connection::open(address, Duration::from_secs(30)).expect("the server listens");
        Self { connection, last: 1 }
    }

    /// One call; how long its reply took.
    pub(crate) fn call(&mut self) -> Duration {
        self.last += 1;
        self.numbered(self.last)
    }

    fn numbered(&mut self, id: usize) -> Duration {
        let message = words::call(id);
        let begun = Instant::now();
        let answer = self.connection.post(&message, IN_SESSION).expect("an answer");
        let taken = begun.elapsed();
        assert!(words::answers(&answer.body, id), "{}: {}", answer.status, answer.body);
        taken
    }
}

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
