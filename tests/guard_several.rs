//! `gateproof guard --config`: several servers as one.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

#[path = "common/http.rs"]
mod http;
#[path = "common/lines.rs"]
mod lines;

use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use http::Listening;
use lines::Session;

const POLICY: &str = r#"schema = 1
title = "Notes and tickets"

[servers.notes]
allow = ["read", "die", "slow"]

[servers.tickets]
allow = ["my_read", "list", "ask", "Read"]
"#;

const SERVERS: &str = r#"schema = 1

[[servers]]
name = "notes"
command = ["sh", "server.sh", "notes", "notes", "read", "ask", "die", "burn", "slow"]

[[servers]]
name = "tickets"
command = ["sh", "server.sh", "tickets", "tickets", "my_read", "list", "ask", "Read"]
rename = { list = "tickets_list" }
"#;

const OPENING: &str = r#"{"jsonrpc":"2.0","id":"o","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

fn call(id: &str, tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#)
}

fn desk(policy: &str, servers: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("policy.toml", policy);
    write("servers.toml", servers);
    write("server.sh", include_str!("common/server.sh"));
    folder
}

fn guard(folder: &TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
    command
        .current_dir(folder.path())
        .args(["guard", "--policy", "policy.toml", "--config", "servers.toml"])
        .args(words);
    command
}

/// What servers of this name heard.
fn seen(folder: &TempDir, name: &str) -> String {
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    let own = entries.filter(|entry| entry.file_name().to_str().unwrap().starts_with(&format!("{name}-")));
    own.map(|entry| std::fs::read_to_string(entry.path()).unwrap()).collect()
}

fn names(listed: &str) -> Vec<String> {
    let listed: Value = serde_json::from_str(listed).unwrap();
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn open(session: &mut Session) -> Vec<String> {
    let opened: Value = serde_json::from_str(&session.ask(OPENING)).unwrap();
    assert_eq!(opened["id"], "o");
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(opened["result"]["capabilities"], serde_json::json!({ "tools": { "listChanged": true } }));
    session.say(READY);
    names(&session.ask(LIST))
}

#[test]
fn several_servers_are_one_list_behind_one_gate() {
    let folder = desk(POLICY, SERVERS);
    let mut session = Session::start(&mut guard(&folder, &["--audit", "log"]));
    // `ask` and `burn` are not allowed on notes; `Read` looks like what it owns.
    assert_eq!(open(&mut session), ["read", "die", "slow", "my_read", "tickets_list", "ask"]);
    for (id, tool, by) in [("0", "read", "notes"), ("\"0\"", "my_read", "tickets"), ("1", "tickets_list", "tickets")] {
        let said = session.ask(&call(id, tool));
        assert_eq!(
            said,
            format!(r#"{{"jsonrpc":"2.0","id":{id}, "result":{{"content":[{{"type":"text","text":"by {by}"}}]}}}}"#)
        );
    }
    for tool in ["burn", "Read", "list", "notes_read"] {
        let refused = session.ask(&call("7", tool));
        assert!(refused.contains("-32602") && refused.contains("\"id\":7"), "{refused}");
    }
    // What a server asks has an id of its own, and its answer finds back.
    session.say(&call("8", "ask"));
    assert_eq!(session.hear(), r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    session.say(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert!(session.hear().contains("asked"));
    // The last reply is delivered after standard input closed.
    session.say(&call("9", "slow"));
    let (said, code, _) = session.close();
    assert!(code == 0 && said.contains("\"id\":9") && said.contains("late"), "{code} {said}");
    assert!(seen(&folder, "tickets").contains(r#"{"jsonrpc":"2.0","id":"q","result":{}}"#));
    assert!(seen(&folder, "tickets").contains(&call("1", "list")));
    let notes = seen(&folder, "notes");
    assert!(notes.starts_with(&format!("{OPENING}\n{READY}\n")) && !notes.contains("my_read"), "{notes}");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let of = |server: &str| log.lines().filter(|line| line.contains(&format!("\"server\":\"{server}\""))).count();
    assert!(of("notes") > 5 && of("tickets") > 5 && of("notes+tickets") == 2, "{log}");
}

#[test]
fn a_server_that_dies_takes_its_tools_along_and_nothing_else() {
    let folder = desk(POLICY, SERVERS);
    let mut session = Session::start(&mut guard(&folder, &[]));
    open(&mut session);
    let refused = session.ask(&call("3", "die"));
    assert!(refused.contains("\"id\":3") && refused.contains("ended before it answered"), "{refused}");
    assert_eq!(session.hear(), r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert_eq!(names(&session.ask(LIST)), ["my_read", "tickets_list", "ask"]);
    assert!(session.ask(&call("4", "my_read")).contains("by tickets"));
    assert!(session.ask(&call("5", "read")).contains("-32602"));
    let (_, code, complained) = session.close();
    assert!(code == 0 && complained.contains("notes is gone"), "{code} {complained}");
}

#[test]
fn one_that_does_not_start_is_told_and_the_rest_is_served() {
    let servers = SERVERS.replacen("\"sh\"", "\"/no/such/program\"", 1);
    let folder = desk(POLICY, &servers);
    let mut session = Session::start(&mut guard(&folder, &[]));
    assert_eq!(open(&mut session), ["my_read", "tickets_list", "ask", "Read"]);
    let (_, code, complained) = session.close();
    assert!(code == 0 && complained.contains("notes can't be started: /no/such/program"), "{code} {complained}");
    let folder = desk(POLICY, &SERVERS.replace("\"sh\"", "\"/no/such/program\""));
    let output = guard(&folder, &[]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no server could be started"));
}

#[test]
fn several_servers_are_served_over_http_too() {
    let folder = desk(POLICY, SERVERS);
    let mut command = guard(&folder, &["--audit", "log", "--listen", "127.0.0.1:0"]);
    let guard = Listening::start(&mut command);
    let rosa = ("authorization", "Bearer rosa-made-up");
    let opened = guard.ask("POST", &[rosa], OPENING);
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    let with = [rosa, ("mcp-session-id", id.as_str())];
    let ask = |body: &str| guard.ask("POST", &with, body);
    assert_eq!(ask(READY).status(), 202);
    assert_eq!(names(&ask(LIST).body), ["read", "die", "slow", "my_read", "tickets_list", "ask"]);
    assert!(ask(&call("3", "read")).body.contains("by notes"));
    // The door: pages from elsewhere, other principals, unknown sessions.
    let elsewhere = [rosa, with[1], ("origin", "http://page.example")];
    assert_eq!(guard.ask("POST", &elsewhere, &call("4", "read")).status(), 403);
    assert_eq!(guard.ask("POST", &with[1..], &call("5", "read")).status(), 404);
    assert!(!seen(&folder, "notes").contains("\"id\":4") && !seen(&folder, "notes").contains("\"id\":5"));
    assert_eq!(guard.ask("DELETE", &with, "").status(), 200);
    assert_eq!(ask(&call("6", "read")).status(), 404);
    let (code, said) = guard.end(folder.path());
    assert!(code == Some(0) && said.contains("intact") && !said.contains("without an end"), "{code:?} {said}");
}

#[test]
fn slips_in_the_file_of_servers_are_told() {
    let folder = desk(POLICY, &SERVERS.replace("command", "comand"));
    let output = guard(&folder, &[]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("servers.toml:5") && said.contains("comand"), "{said}");
    let folder = desk(&POLICY.replace("servers.tickets", "servers.desk"), SERVERS);
    let output = guard(&folder, &[]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("the policy names no server 'tickets'"), "{said}");
}
