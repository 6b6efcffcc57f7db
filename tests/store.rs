//! A process that keeps approvals is killed over and over.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant, SystemTime},
};

use gateproof::{
    gate::{Change, Definition, How, Owner, PinKind, PinStore as _, Place},
    pins::FileStore,
    protocol::strict,
};

/// Where the child keeps its approvals; set for the child alone.
const STORE: &str = "GATEPROOF_TEST_STORE";

fn owner() -> Owner {
    Owner { place: Place::Argv(vec!["desk".to_owned()]), name: "desk".into() }
}

fn approval(name: &str) -> Change {
    let text = format!(r#"{{"name":"{name}"}}"#);
    let definition = Definition::of(text.as_bytes(), &strict::parse(text.as_bytes()).unwrap().root);
    let mut change = Change::new(How::Approved);
    change.put.push(((PinKind::Tool, name.to_owned()), definition));
    change
}

/// What the child runs: approves one tool after another until it is killed, and
/// says of each once it counts. As a test of its own it has nothing to do.
#[test]
fn approves_until_it_is_killed() {
    let Some(path) = std::env::var_os(STORE) else { return };
    let store = FileStore::new(path, "child", SystemTime::now);
    let first = store.load(&owner()).unwrap().pins.all.len();
    let mut out = std::io::stdout().lock();
    for n in first.. {
        store.save(&owner(), &approval(&format!("{n:05}"))).unwrap();
        writeln!(out, "saved {n}").unwrap();
    }
}

#[test]
fn a_kill_at_any_moment_loses_nothing_that_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::new(folder.path().join("pins.json"), "parent", SystemTime::now);
    let until = Instant::now() + Duration::from_secs(2);
    let (mut rounds, mut counted) = (0_u64, 0);
    while Instant::now() < until || rounds < 3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "approves_until_it_is_killed", "--nocapture", "--test-threads=1"])
            .env(STORE, store.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut last = || {
            let line = said.next()?.ok()?;
            Some(line.rsplit_once("saved ").and_then(|(_, number)| number.parse::<usize>().ok()))
        };
        // It is at work once it has said so; then it is killed at some moment.
        while last().is_some_and(|number| number.is_none()) {}
        thread::sleep(Duration::from_micros(rounds * 7919 % 20_000));
        // SIGKILL: nothing is tidied up.
        child.kill().unwrap();
        child.wait().unwrap();
        while let Some(number) = last() {
            counted = number.map_or(counted, |number| number + 1);
        }
        let pins = store.load(&owner()).unwrap().pins;
        assert!(pins.all.len() >= counted, "{} kept of {counted} that counted", pins.all.len());
        let names: Vec<_> = pins.all.keys().map(|(_, name)| name.as_str()).collect();
        let expected: Vec<_> = (0..names.len()).map(|n| format!("{n:05}")).collect();
        assert_eq!(names, expected);
        rounds += 1;
    }
    assert!(counted > 0);
}
