//! HTTP as it stands on the wire.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

/// A guard that listens, and where.
pub(crate) struct Listening {
    child: Child,
    pub(crate) at: String,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

impl Listening {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let at = line.trim().strip_prefix("listening on http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
        Self { child, at }
    }

    pub(crate) fn ask(&self, verb: &str, headers: &[(&str, &str)], body: &str) -> Said {
        Said::read(&send(&self.at, verb, headers, body)).unwrap()
    }

    /// Ends it by a signal; the exit code, and what `guard audit verify` says of
    /// its log in this folder.
    pub(crate) fn end(mut self, folder: &Path) -> (Option<i32>, String) {
        assert!(Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap().success());
        let code = self.child.wait().unwrap().code();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
        let output = command.current_dir(folder).args(["guard", "audit", "verify", "log"]).output().unwrap();
        (code, String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    }
}

/// One side's view of a message: the first line, the headers, the body.
pub(crate) struct Said {
    pub(crate) first: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Said {
    pub(crate) fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let (first, headers) = head(&mut reader);
        let length = headers.iter().find(|(name, _)| name == "content-length").map_or("0", |(_, value)| value);
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        (!first.is_empty()).then(|| Self { first, headers, body: String::from_utf8(body).unwrap() })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn status(&self) -> u16 {
        self.first.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

/// The first line and the headers.
pub(crate) fn head(reader: &mut BufReader<&TcpStream>) -> (String, Vec<(String, String)>) {
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let first = line();
    let mut headers = Vec::new();
    loop {
        let text = line();
        let Some((name, value)) = text.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    (first, headers)
}

/// Sends a request to the guard that listens at `at`.
pub(crate) fn send(at: &str, verb: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    let mut text = format!("{verb} /mcp HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n");
    text.push_str("content-type: application/json\r\naccept: application/json, text/event-stream\r\n");
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    write!(text, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}
