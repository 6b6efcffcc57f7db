//! What clients see of a `gateproof guard` that listens on HTTP.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

#[path = "common/http.rs"]
mod http;

use std::{
    io::Write as _,
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::Value;
use tempfile::TempDir;

use http::{Listening, Said};

const POLICY: &str = r#"schema = 1
title = "The desk may be read"

[servers.desk]
allow = ["read"]
"#;

const OPENING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

/// How a server names its sessions.
#[derive(Clone, Copy)]
enum Ids {
    None,
    Own,
    Same,
}

/// A server over HTTP, and what reached it.
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(ids: Ids) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", socket.local_addr().unwrap());
        let (seen, opened) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicUsize>::default());
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in socket.incoming() {
                let (kept, opened) = (Arc::clone(&kept), Arc::clone(&opened));
                std::thread::spawn(move || serve(&stream.unwrap(), &kept, &opened, ids));
            }
        });
        Self { url, seen }
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().join("\n")
    }
}

fn serve(mut stream: &TcpStream, seen: &Mutex<Vec<String>>, opened: &AtomicUsize, ids: Ids) {
    while let Some(asked) = Said::read(stream) {
        seen.lock().unwrap().push(asked.body.clone());
        let value: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let mut session = String::new();
        let body = match value["method"].as_str() {
            Some("initialize") => {
                let number = opened.fetch_add(1, Ordering::SeqCst) + 1;
                session = match ids {
                    Ids::None => String::new(),
                    Ids::Own => format!("mcp-session-id: s-{number}\r\n"),
                    Ids::Same => "mcp-session-id: s-1\r\n".to_owned(),
                };
                r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"desk","version":"1"}}"#
            }
            Some("tools/list") => {
                r#"{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"name":"burn","inputSchema":{"type":"object"}}]}"#
            }
            Some("tools/call") => r#"{"content":[{"type":"text","text":"as it is"}]}"#,
            _ => "",
        };
        let (status, body) = match (asked.first.split(' ').next().unwrap(), body) {
            ("DELETE", _) => ("200 OK", String::new()),
            (_, "") => ("202 Accepted", String::new()),
            (_, body) => ("200 OK", format!(r#"{{"jsonrpc":"2.0","id":{},"result":{body}}}"#, value["id"])),
        };
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let text = format!("HTTP/1.1 {status}\r\n{kind}{session}content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
    }
}

struct Guard {
    folder: TempDir,
    listening: Listening,
}

impl Guard {
    fn start(upstream: &str) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
        command.current_dir(folder.path()).args(["guard", "--policy", "policy.toml", "--audit", "log"]);
        let listening = Listening::start(command.args(["--listen", "127.0.0.1:0", "--upstream", upstream]));
        Self { folder, listening }
    }

    fn ask(&self, verb: &str, headers: &[(&str, &str)], body: &str) -> Said {
        self.listening.ask(verb, headers, body)
    }

    /// Opens a session; its id, where the server gives one.
    fn open(&self, headers: &[(&str, &str)]) -> Option<String> {
        let opened = self.ask("POST", headers, OPENING);
        assert_eq!(opened.status(), 200, "{}", opened.body);
        let id = opened.header("mcp-session-id").map(str::to_owned);
        let session = id.as_deref().map(|id| ("mcp-session-id", id));
        let with: Vec<_> = headers.iter().copied().chain(session).collect();
        assert_eq!(self.ask("POST", &with, READY).status(), 202);
        let listed = self.ask("POST", &with, LIST).body;
        assert!(listed.contains("\"read\"") && !listed.contains("burn"), "{listed}");
        id
    }

    /// Ends it by a signal; the exit code, and what the log's check says.
    fn end(self) -> (Option<i32>, String) {
        self.listening.end(self.folder.path())
    }
}

fn call(id: u32, tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#)
}

#[test]
fn every_session_has_a_gate_of_its_own_and_its_owner() {
    let server = Server::start(Ids::Own);
    let guard = Guard::start(&server.url);
    let (rosa, marc) = (("authorization", "Bearer rosa-made-up"), ("authorization", "Bearer marc-made-up"));
    let ours = guard.open(&[rosa]).unwrap();
    let theirs = guard.open(&[marc]).unwrap();
    assert_ne!(ours, theirs);
    let (ours, theirs) = (("mcp-session-id", ours.as_str()), ("mcp-session-id", theirs.as_str()));
    // The same id in both, at the same time.
    std::thread::scope(|scope| {
        for with in [[rosa, ours], [marc, theirs]] {
            let guard = &guard;
            scope.spawn(move || {
                for id in 10..30 {
                    let said = guard.ask("POST", &with, &call(id, "read"));
                    assert!(said.status() == 200 && said.body.contains("as it is"), "{}", said.body);
                }
            });
        }
    });
    let refused = guard.ask("POST", &[rosa, ours], &call(40, "burn"));
    assert!(refused.body.contains("tool-allowlist") && refused.body.contains("\"id\":40"), "{}", refused.body);
    assert!(!server.seen().contains("burn"), "{}", server.seen());
    // Somebody else's session, one that never was, and one that is over.
    assert_eq!(guard.ask("POST", &[rosa, theirs], &call(41, "read")).status(), 404);
    assert_eq!(guard.ask("POST", &[rosa, ("mcp-session-id", "s-9")], &call(42, "read")).status(), 404);
    assert_eq!(guard.ask("DELETE", &[marc, theirs], "").status(), 200);
    assert_eq!(guard.ask("POST", &[marc, theirs], &call(43, "read")).status(), 404);
    assert_eq!(guard.ask("POST", &[rosa, ours], &call(44, "read")).status(), 200);
    // A page from elsewhere gets nothing.
    assert_eq!(guard.ask("POST", &[rosa, ours, ("origin", "http://page.example")], &call(45, "read")).status(), 403);
    let (code, said) = guard.end();
    assert_eq!(code, Some(0));
    assert!(said.contains("intact") && !said.contains("without an end"), "{said}");
}

#[test]
fn a_server_without_session_ids_is_served_by_principal() {
    let server = Server::start(Ids::None);
    let guard = Guard::start(&server.url);
    let rosa = ("authorization", "Bearer rosa-made-up");
    assert_eq!(guard.open(&[rosa]), None);
    assert_eq!(guard.open(&[]), None);
    // A host that starts again opens anew, under the ids that it used before.
    assert_eq!(guard.open(&[rosa]), None);
    for with in [&[rosa][..], &[]] {
        assert!(guard.ask("POST", with, &call(3, "read")).body.contains("as it is"));
        assert!(guard.ask("POST", with, &call(4, "burn")).body.contains("tool-allowlist"));
    }
    assert!(!server.seen().contains("burn"));
    assert_eq!(guard.end().0, Some(0));
}

#[test]
fn a_session_under_an_id_that_is_somebody_elses_is_not_opened() {
    let server = Server::start(Ids::Same);
    let guard = Guard::start(&server.url);
    let (rosa, marc) = (("authorization", "Bearer rosa-made-up"), ("authorization", "Bearer marc-made-up"));
    let id = guard.open(&[rosa]).unwrap();
    let refused = guard.ask("POST", &[marc], OPENING);
    assert_eq!((refused.status(), refused.header("mcp-session-id")), (502, None));
    let with = |who| [who, ("mcp-session-id", id.as_str())];
    assert_eq!(guard.ask("POST", &with(marc), &call(3, "read")).status(), 404);
    assert_eq!(guard.ask("POST", &with(rosa), &call(3, "read")).status(), 200);
    assert_eq!(guard.end().0, Some(0));
}

#[test]
fn more_sessions_than_there_is_room_for_push_out_the_oldest() {
    let server = Server::start(Ids::Own);
    let guard = Guard::start(&server.url);
    let sessions: Vec<_> = (0..70).map(|_| guard.open(&[]).unwrap()).collect();
    let status = |id: &str| guard.ask("POST", &[("mcp-session-id", id)], &call(3, "read")).status();
    assert_eq!((status(&sessions[0]), status(&sessions[69])), (404, 200));
    let (code, said) = guard.end();
    assert!(code == Some(0) && said.contains("intact") && !said.contains("without an end"), "{said}");
}

#[test]
fn what_can_be_reached_from_elsewhere_or_needs_tls_is_a_mistake() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
    for (words, said) in [
        (["--listen", "0.0.0.0:0", "--upstream", "http://127.0.0.1:9/mcp"], "--allow-exposed"),
        (["--listen", "127.0.0.1:0", "--upstream", "https://desk.example/mcp"], "TLS"),
        (["--listen", "127.0.0.1:0", "--upstream", "desk"], "no address"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
        let output = command.current_dir(folder.path()).args(["guard", "--policy", "policy.toml"]).args(words).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(said), "{stderr}");
    }
}
