//! `gateproof guard` where clients and servers speak in different ways.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

#[path = "common/http.rs"]
mod http;
#[path = "common/lines.rs"]
mod lines;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use http::{Listening, Said};
use lines::Session;

const POLICY: &str = r#"schema = 1
title = "The desk may be read"

[servers.desk]
allow = ["read", "ask", "die"]
"#;

const OPENING: &str = r#"{"jsonrpc":"2.0","id":"o","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

fn call(id: u32, tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#)
}

/// A guard that listens before a server that is started for every session.
struct Guard {
    folder: TempDir,
    listening: Listening,
}

impl Guard {
    fn start(words: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
        std::fs::write(folder.path().join("server.sh"), include_str!("common/server.sh")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
        command.current_dir(folder.path()).args(["guard", "--policy", "policy.toml", "--audit", "log"]).args(words);
        let server = ["sh", "server.sh", "seen", "desk", "read", "ask", "die", "burn"];
        command.args(["--listen", "127.0.0.1:0", "--"]).args(server);
        Self { folder, listening: Listening::start(&mut command) }
    }

    fn ask(&self, session: &str, body: &str) -> Said {
        self.listening.ask("POST", &[("mcp-session-id", session)], body)
    }

    /// Opens a session; its id, and the process that it is served by.
    fn open(&self) -> (String, u32) {
        let before = servers(self.folder.path());
        let opened = self.listening.ask("POST", &[], OPENING);
        assert_eq!(opened.status(), 200, "{}", opened.body);
        assert!(opened.body.starts_with(r#"{"jsonrpc":"2.0","id":"o", "result":"#), "{}", opened.body);
        let id = opened.header("mcp-session-id").unwrap().to_owned();
        assert_eq!(self.ask(&id, READY).status(), 202);
        let listed = self.ask(&id, LIST).body;
        assert!(listed.contains("\"read\"") && !listed.contains("burn"), "{listed}");
        let mut new = servers(self.folder.path()).into_iter().filter(|pid| !before.contains(pid));
        (id, new.next().unwrap())
    }

    /// Ends it by a signal; the exit code, and what the log's check says.
    fn end(self) -> (Option<i32>, String) {
        self.listening.end(self.folder.path())
    }
}

/// The processes that wrote down what they heard.
fn servers(folder: &Path) -> Vec<u32> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_prefix("seen-")?.parse().ok()).collect()
}

fn is_running(pid: u32) -> bool {
    Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

/// Waits until a process has ended.
fn ends(pid: u32) {
    let until = Instant::now() + Duration::from_secs(20);
    while is_running(pid) {
        assert!(Instant::now() < until, "{pid} is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn every_session_over_http_has_a_process_of_its_own() {
    let guard = Guard::start(&[]);
    let (ours, our_process) = guard.open();
    let (theirs, their_process) = guard.open();
    assert_ne!((&ours, our_process), (&theirs, their_process));
    for session in [&ours, &theirs] {
        let said = guard.ask(session, &call(3, "read"));
        assert_eq!(said.body, r#"{"jsonrpc":"2.0","id":3, "result":{"content":[{"type":"text","text":"by desk"}]}}"#);
        assert!(guard.ask(session, &call(4, "burn")).body.contains("tool-allowlist"));
    }
    let seen = |pid: u32| std::fs::read_to_string(guard.folder.path().join(format!("seen-{pid}"))).unwrap();
    assert_eq!(seen(our_process), format!("{OPENING}\n{READY}\n{LIST}\n{}\n", call(3, "read")));
    assert_eq!(guard.listening.ask("POST", &[], &call(5, "read")).status(), 400);
    assert_eq!(guard.ask("made-up", &call(5, "read")).status(), 404);
    assert!(guard.ask(&ours, "{").body.contains("-32700"));
    let elsewhere = [("mcp-session-id", ours.as_str()), ("origin", "http://page.example")];
    assert_eq!(guard.listening.ask("POST", &elsewhere, &call(6, "read")).status(), 403);
    // The end of a session is that of its process, and of no other.
    assert_eq!(guard.listening.ask("DELETE", &[("mcp-session-id", &ours)], "").status(), 200);
    ends(our_process);
    assert_eq!(guard.ask(&ours, &call(7, "read")).status(), 404);
    // So is the end of the process.
    assert!(guard.ask(&theirs, &call(8, "die")).body.contains("ended before it answered"));
    ends(their_process);
    let until = Instant::now() + Duration::from_secs(20);
    while guard.ask(&theirs, &call(9, "read")).status() != 404 {
        assert!(Instant::now() < until);
    }
    let (last, process) = guard.open();
    assert_eq!(guard.ask(&last, &call(10, "read")).status(), 200);
    let (code, said) = guard.end();
    assert!(code == Some(0) && said.contains("intact") && !said.contains("without an end"), "{code:?} {said}");
    assert!(!is_running(process));
}

#[test]
fn what_a_server_asks_during_a_call_comes_on_the_answer_of_the_call() {
    let guard = Guard::start(&[]);
    let (session, process) = guard.open();
    let stream = http::send(&guard.listening.at, "POST", &[("mcp-session-id", &session)], &call(3, "ask"));
    let mut reader = BufReader::new(&stream);
    let (first, headers) = http::head(&mut reader);
    assert!(first.contains("200") && headers.iter().any(|(_, value)| value == "text/event-stream"), "{headers:?}");
    let mut data = || loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(data) = line.strip_prefix("data:") {
            return data.trim().to_owned();
        }
    };
    assert_eq!(data(), r#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#);
    assert_eq!(guard.ask(&session, r#"{"jsonrpc":"2.0","id":"q","result":{}}"#).status(), 202);
    assert!(data().contains("asked"));
    let seen = std::fs::read_to_string(guard.folder.path().join(format!("seen-{process}"))).unwrap();
    assert!(seen.ends_with("{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{}}\n"), "{seen}");
    assert_eq!(guard.end().0, Some(0));
}

#[test]
fn the_number_of_processes_is_bounded() {
    let guard = Guard::start(&["--sessions", "2"]);
    let (first, process) = guard.open();
    let (second, _) = guard.open();
    guard.open();
    ends(process);
    assert_eq!(guard.ask(&first, &call(3, "read")).status(), 404);
    assert_eq!(guard.ask(&second, &call(3, "read")).status(), 200);
    assert_eq!(guard.end().0, Some(0));
}

/// A server over HTTP, and the requests that reached it: method, session, body.
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", socket.local_addr().unwrap());
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in socket.incoming() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(&stream.unwrap(), &kept));
            }
        });
        Self { url, seen }
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().join("\n")
    }
}

fn serve(mut stream: &TcpStream, seen: &Mutex<Vec<String>>) {
    while let Some(asked) = Said::read(stream) {
        let verb = asked.first.split(' ').next().unwrap().to_owned();
        let header = |name: &str| asked.header(name).unwrap_or("-");
        let (session, version) = (header("mcp-session-id"), header("mcp-protocol-version"));
        seen.lock().unwrap().push(format!("{verb} {session} {version} {}", asked.body));
        let value: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let result = match (verb.as_str(), value["method"].as_str(), value["params"]["name"].as_str()) {
            ("POST", Some("initialize"), _) => {
                r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"desk","version":"1"}}"#
            }
            ("POST", Some("tools/list"), _) => {
                r#"{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"name":"ask","inputSchema":{"type":"object"}},{"name":"burn","inputSchema":{"type":"object"}}]}"#
            }
            ("POST", Some("tools/call"), Some("read")) => r#"{"content":[]}"#,
            _ => "",
        };
        let body = format!(r#"{{"jsonrpc":"2.0","id":{}, "result":{result}}}"#, value["id"]);
        let (status, body) = match (verb.as_str(), value["params"]["name"].as_str()) {
            ("GET", _) => ("405 Method Not Allowed", ""),
            ("POST", Some("ask")) => ("404 Not Found", ""),
            ("POST", _) if result.is_empty() => ("202 Accepted", ""),
            ("DELETE", _) => ("200 OK", ""),
            _ => ("200 OK", body.as_str()),
        };
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\nmcp-session-id: s-1\r\n" };
        let text = format!("HTTP/1.1 {status}\r\n{kind}content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
    }
}

/// A guard in lines before a server at a URL, and the folder of its policy.
fn before(url: &str) -> (TempDir, Session) {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
    command.current_dir(folder.path()).args(["guard", "--policy", "policy.toml", "--upstream", url]);
    let session = Session::start(&mut command);
    (folder, session)
}

/// The same, opened and listed.
fn in_lines(server: &Server) -> (TempDir, Session) {
    let (folder, mut session) = before(&server.url);
    let opened = session.ask(OPENING);
    assert!(opened.starts_with(r#"{"jsonrpc":"2.0","id":"o", "result":"#), "{opened}");
    session.say(READY);
    let listed = session.ask(LIST);
    assert!(listed.contains("\"read\"") && !listed.contains("burn"), "{listed}");
    (folder, session)
}

#[test]
fn a_host_that_speaks_in_lines_reaches_a_server_over_http() {
    let server = Server::start();
    let (_folder, mut session) = in_lines(&server);
    assert_eq!(session.ask(&call(3, "read")), r#"{"jsonrpc":"2.0","id":3, "result":{"content":[]}}"#);
    assert!(session.ask(&call(4, "burn")).contains("tool-allowlist"));
    let (said, code, complained) = session.close();
    assert_eq!((said.as_str(), code, complained.as_str()), ("", 0, ""));
    let seen = server.seen();
    assert!(seen.contains(&format!("POST - - {OPENING}")), "{seen}");
    assert!(seen.contains(&format!("POST s-1 2025-06-18 {READY}")), "{seen}");
    assert!(seen.contains(&format!("POST s-1 2025-06-18 {}", call(3, "read"))), "{seen}");
    assert!(seen.ends_with("DELETE s-1 2025-06-18 ") && !seen.contains("burn"), "{seen}");
}

#[test]
fn a_session_that_the_server_has_forgotten_ends_with_an_answer() {
    let server = Server::start();
    let (_folder, mut session) = in_lines(&server);
    session.say(&call(3, "ask"));
    let (said, code, complained) = session.rest();
    assert!(said.contains(r#""id":3"#) && said.contains("has ended the session"), "{said}");
    assert!(code == 1 && complained.contains("has ended"), "{code} {complained}");
}

#[test]
fn a_server_that_cannot_be_reached_is_told_to_whoever_asks() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (_folder, mut session) = before(&format!("http://{gone}/mcp"));
    let refused = session.ask(OPENING);
    assert!(refused.contains(r#""id":"o","error""#), "{refused}");
    assert_eq!(session.close().1, 0);
}

/// A request of the revision without sessions.
const STATELESS: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

#[test]
fn clients_without_sessions_are_served_over_http() {
    let guard = Guard::start(&[]);
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let said = guard.listening.ask("POST", &headers, STATELESS);
    assert_eq!((said.status(), said.header("mcp-session-id")), (200, None), "{}", said.body);
    assert!(said.body.contains("\"id\":7") && said.body.contains("\"read\""), "{}", said.body);
    assert!(!said.body.contains("burn"), "{}", said.body);
    assert_eq!(guard.end().0, Some(0));
}

#[test]
fn clients_without_sessions_are_served_in_lines() {
    let server = Server::start();
    let (_folder, mut session) = before(&server.url);
    let listed = session.ask(STATELESS);
    assert!(listed.contains("\"id\":7") && listed.contains("\"read\"") && !listed.contains("burn"), "{listed}");
    assert_eq!(session.close().1, 0);
    assert_eq!(server.seen(), format!("POST - 2026-07-28 {STATELESS}"));
}

#[test]
fn which_server_is_meant_is_said_once() {
    let folder = TempDir::new().unwrap();
    let path: PathBuf = folder.path().join("policy.toml");
    std::fs::write(&path, POLICY).unwrap();
    for (words, said) in [
        (&[][..], "which server?"),
        (&["--upstream", "http://127.0.0.1:9/mcp", "--", "true"], "leave the command or --upstream away"),
        (&["--config", "x.toml", "--", "true"], "leave the command and --upstream away"),
        (&["--config", "x.toml"], "x.toml"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
        let output = command.current_dir(folder.path()).args(["guard", "--policy", "policy.toml"]).args(words).output();
        let output = output.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && stderr.contains(said), "{words:?}: {stderr}");
    }
}
