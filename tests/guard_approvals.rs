//! `gateproof guard` under a policy that asks the user.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

#[path = "common/lines.rs"]
mod lines;

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
    process::Command,
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

use lines::Session;

const POLICY: &str = r#"schema = 1
title = "The desk may be read, and cleared by who asks"

[servers.desk]
allow = ["read", "clear"]

[servers.desk.approval]
free = ["read"]
"#;

const OPENING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

fn call(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

fn desk() -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
    std::fs::write(folder.path().join("server.sh"), include_str!("common/server.sh")).unwrap();
    folder
}

fn gateproof(folder: &TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
    command.current_dir(folder.path()).arg("guard").args(words);
    command
}

const SERVER: [&str; 7] = ["--", "sh", "server.sh", "seen", "desk", "read", "clear"];

fn start(folder: &TempDir, words: &[&str]) -> Session {
    let words = [&["--policy", "policy.toml", "--audit", "log"], words, &SERVER].concat();
    let mut session = Session::start(&mut gateproof(folder, &words));
    session.ask(OPENING);
    session.say(READY);
    assert!(session.ask(LIST).contains("clear"));
    session
}

fn seen(folder: &TempDir) -> String {
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    let own = entries.filter(|entry| entry.file_name().to_str().unwrap().starts_with("seen-"));
    own.map(|entry| std::fs::read_to_string(entry.path()).unwrap()).collect()
}

/// `gateproof guard approve` with these words; its exit code and all that it says.
fn approve(folder: &TempDir, words: &[&str]) -> (i32, String) {
    let output = gateproof(folder, &[&["approve", "--approvals", "approvals"], words].concat()).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

/// The digest that a refusal names.
fn digest(refused: &str) -> String {
    assert!(refused.contains("\"needs\"") && refused.contains("gateproof guard approve --approvals "), "{refused}");
    let words = refused.split("guard approve --approvals ").nth(1).unwrap();
    words.split(['"', ' ']).nth(1).unwrap().to_owned()
}

#[test]
fn a_consent_from_another_terminal_is_for_one_call() {
    let folder = desk();
    let mut session = start(&folder, &["--approvals", "approvals"]);
    assert_eq!(approve(&folder, &[]).0, 4);
    assert!(session.ask(&call(3, "read", "{}")).contains("by desk"));
    let refused = session.ask(&call(4, "clear", r#"{"of":"marzipan"}"#));
    let digest = digest(&refused);
    let (code, listed) = approve(&folder, &[]);
    assert!(code == 0 && listed.contains(&digest) && listed.contains("desk clear"), "{listed}");
    assert!(listed.contains("\"of\": \"marzipan\""), "{listed}");
    assert_eq!(approve(&folder, &["0000"]).0, 2);
    let (code, said) = approve(&folder, &[&digest]);
    assert!(code == 0 && said.contains("marzipan") && said.contains("once"), "{said}");
    // Not for other arguments, and not twice.
    assert!(session.ask(&call(5, "clear", r#"{"of":"nougat"}"#)).contains("no-consent"));
    assert!(session.ask(&call(6, "clear", r#"{"of":"marzipan"}"#)).contains("by desk"));
    assert!(session.ask(&call(7, "clear", r#"{"of":"marzipan"}"#)).contains("no-consent"));
    assert_eq!(session.close().1, 0);
    let seen = seen(&folder);
    assert_eq!((seen.matches("marzipan").count(), seen.matches("nougat").count()), (1, 0), "{seen}");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("\"event\":\"consent\"") && !log.contains("marzipan"), "{log}");
}

/// A terminal: what is written to it can be read here, and the other way round.
fn terminal() -> (File, String) {
    let here: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&here).unwrap();
    unlockpt(&here).unwrap();
    let name = ptsname(&here, Vec::new()).unwrap().into_string().unwrap();
    (File::from(here), name)
}

fn read_until(terminal: &mut File, word: &str) -> String {
    let mut read = String::new();
    let mut bytes = [0; 1024];
    while !read.contains(word) {
        let length = terminal.read(&mut bytes).unwrap();
        read.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
    }
    read
}

#[test]
fn a_person_is_asked_while_everything_else_goes_on() {
    let folder = desk();
    let (mut person, name) = terminal();
    let mut session = start(&folder, &[&format!("--ask={name}")]);
    session.say(&call(3, "clear", r#"{"of":"mar\u202ezipan"}"#));
    session.say(&call(4, "clear", r#"{"of":"nougat"}"#));
    let asked = read_until(&mut person, "s): ");
    assert!(
        asked.contains("may desk run clear") && asked.contains(r"mar\u202ezipan") && !asked.contains("nougat"),
        "{asked}"
    );
    assert!(session.ask(&call(5, "read", "{}")).contains("\"id\":5"));
    person.write_all(b"y\n").unwrap();
    let heard = session.hear();
    assert!(heard.contains("\"id\":3") && heard.contains("by desk"), "{heard}");
    assert!(read_until(&mut person, "s): ").contains("nougat"));
    // Whatever is no yes is no.
    person.write_all(b"\n").unwrap();
    let heard = session.hear();
    assert!(heard.contains("\"id\":4") && heard.contains("no-consent"), "{heard}");
    // A call that is cancelled is not asked about any more, and not made.
    session.say(&call(6, "clear", r#"{"of":"truffle"}"#));
    assert!(read_until(&mut person, "s): ").contains("truffle"));
    session.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}"#);
    assert!(session.ask(&call(7, "read", "{}")).contains("\"id\":7"));
    person.write_all(b"y\n").unwrap();
    assert_eq!(session.close().1, 0);
    let seen = seen(&folder);
    assert!(seen.contains("zipan") && !seen.contains("nougat") && !seen.contains("truffle\"}"), "{seen}");
}

#[test]
fn where_nobody_answers_it_is_no() {
    let folder = desk();
    let (_person, name) = terminal();
    let mut session = start(&folder, &[&format!("--ask={name}"), "--ask-seconds", "0"]);
    assert!(session.ask(&call(3, "clear", "{}")).contains("no-consent"));
    assert_eq!(session.close().1, 0);
    assert!(!seen(&folder).contains("clear"));
}

#[test]
fn a_policy_that_asks_needs_somebody_to_ask() {
    let folder = desk();
    for (words, why) in [
        (&[][..], "--approvals FILE"),
        (&["--ask=/dev/null"], "it is no terminal"),
        (&["--ask=/no/such/terminal"], "nobody can be asked"),
        (&["--approvals", "policy.toml"], "no file of approvals"),
    ] {
        let words = [&["--policy", "policy.toml"], words, &SERVER].concat();
        let output = gateproof(&folder, &words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(why), "{said}");
    }
}
