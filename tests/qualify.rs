//! The verdict, as people and CI see it: what holds a gate up, and what waives it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

mod common;

use std::{path::Path, process::Command};

use common::corpus;
use serde_json::Value;
use tempfile::TempDir;

struct Said {
    code: i32,
    document: Option<Value>,
    all: String,
}

impl Said {
    /// The verdict with the kinds of its reasons, each once.
    fn verdict(&self) -> (String, Vec<String>) {
        let admission = &self.document.as_ref().unwrap()["admission"];
        let reasons = admission["reasons"].as_array().unwrap().iter();
        let mut whys: Vec<String> = reasons.map(|reason| reason["why"].as_str().unwrap().to_owned()).collect();
        whys.dedup();
        (admission["verdict"].as_str().unwrap().to_owned(), whys)
    }

    #[track_caller]
    fn is(&self, code: i32, verdict: &str, whys: &[&str]) {
        assert_eq!(self.code, code, "{}", self.all);
        let expected: Vec<String> = whys.iter().map(|why| (*why).to_owned()).collect();
        assert_eq!(self.verdict(), (verdict.to_owned(), expected), "{}", self.all);
    }
}

fn gateproof(folder: &Path, words: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
    let output = command.current_dir(folder).env("COLUMNS", "110").args(words).output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let document = serde_json::from_str(&stdout).ok();
    Said { code: output.status.code().unwrap(), document, all: format!("{stdout}\n{stderr}") }
}

fn qualify(folder: &Path, words: &[&str]) -> Said {
    gateproof(folder, &[&["qualify", "--transport", "memory,stdio,http", "--json"], words].concat())
}

fn waive(folder: &Path, id: &str, expires: &str) {
    let text = format!(
        "schema = 1\n[[waivers]]\nid = '{id}'\nreason = 'the policy is wrong'\nowner = 'rosa'\nexpires = '{expires}'\n"
    );
    std::fs::write(folder.join("waivers.toml"), text).unwrap();
}

/// The same corpus without the case that fails.
fn clean() -> TempDir {
    let folder = corpus();
    std::fs::remove_file(folder.path().join("cases/notes/asked-to-delete.toml")).unwrap();
    folder
}

#[test]
fn a_gate_that_gets_everything_right_is_admitted() {
    qualify(clean().path(), &[]).is(0, "ADMIT", &[]);
}

#[test]
fn a_must_failure_holds_and_says_what_would_change_it() {
    let folder = corpus();
    let said = qualify(folder.path(), &[]);
    said.is(1, "HOLD", &["failed", "limit"]);
    let reason = &said.document.as_ref().unwrap()["admission"]["reasons"][0];
    assert_eq!(reason["case"], "notes.asked-to-delete");
    assert_eq!(reason["transports"], serde_json::json!(["memory", "stdio", "http"]));
    assert!(reason["next"].as_str().unwrap().contains("must let it through"), "{reason}");
    let shown = gateproof(folder.path(), &["qualify"]);
    for word in
        ["HOLD · guarded: 2 of 3 must cases pass", "failed (1)", "notes.asked-to-delete", "→ the gate must let it"]
    {
        assert!(shown.all.contains(word), "{word:?} is not in\n{}", shown.all);
    }
    let scorecard = std::fs::read_to_string(folder.path().join("reports/qualify/scorecard.md")).unwrap();
    assert!(scorecard.contains("## Verdict: HOLD") && scorecard.contains("notes.asked-to-delete"), "{scorecard}");
}

#[test]
fn a_waiver_admits_until_its_day() {
    let folder = corpus();
    waive(folder.path(), "notes.asked-to-delete", "2999-12-31");
    let allowed = ["--max-false-alarms", "1"];
    let said = qualify(folder.path(), &allowed);
    said.is(0, "ADMIT WITH WAIVERS", &[]);
    let waived = &said.document.as_ref().unwrap()["admission"]["waived"][0];
    assert_eq!((&waived["owner"], &waived["expires"]), (&"rosa".into(), &"2999-12-31".into()));
    waive(folder.path(), "notes.asked-to-delete", "2026-01-31");
    let said = qualify(folder.path(), &allowed);
    said.is(1, "HOLD", &["failed", "waiver"]);
    assert!(said.all.contains("has expired on 2026-01-31"), "{}", said.all);
}

#[test]
fn a_waiver_that_nothing_needs_holds_the_gate_up() {
    let folder = clean();
    waive(folder.path(), "notes.read", "2999-12-31");
    let said = qualify(folder.path(), &[]);
    said.is(1, "HOLD", &["waiver"]);
    assert!(said.all.contains("stale"), "{}", said.all);
}

#[test]
fn a_waiver_of_no_case_is_a_mistake() {
    let folder = corpus();
    for (id, expires, said) in [
        ("notes.asked-to-delet", "2999-12-31", "did you mean 'notes.asked-to-delete'"),
        ("notes.asked-to-delete", "2999-02-30", "is no day"),
    ] {
        waive(folder.path(), id, expires);
        let found = qualify(folder.path(), &[]);
        assert_eq!(found.code, 2, "{}", found.all);
        assert!(found.all.contains(said) && found.all.contains("waivers.toml"), "{}", found.all);
    }
    let text = "schema = 1\n[[waivers]]\nid = 'notes.read'\nowner = 'rosa'\nexpires = '2999-12-31'\n";
    std::fs::write(folder.path().join("waivers.toml"), text).unwrap();
    assert_eq!(qualify(folder.path(), &[]).code, 2, "a waiver without a reason");
}

#[test]
fn what_is_not_played_is_no_pass() {
    let folder = clean();
    let said = qualify(folder.path(), &["notes.delete"]);
    said.is(3, "HOLD", &["untested"]);
    assert!(said.all.contains("it was not selected"), "{}", said.all);
    let shards: Vec<_> = ["hash:1/2", "hash:2/2"].map(|shard| qualify(folder.path(), &["--partition", shard])).into();
    for shard in shards.iter().filter(|shard| shard.document.is_some()) {
        assert_eq!((shard.code, shard.verdict().1.first().map(String::as_str)), (3, Some("shard")), "{}", shard.all);
    }
    assert!(shards.iter().any(|shard| shard.document.is_some()));
}

#[test]
fn one_transport_of_several_is_no_pass() {
    let folder = clean();
    let said = gateproof(folder.path(), &["qualify", "--transport", "memory", "--json"]);
    said.is(3, "HOLD", &["untested"]);
    let admission = &said.document.as_ref().unwrap()["admission"];
    assert_eq!(admission["reasons"][0]["transports"], serde_json::json!(["stdio", "http"]));
    assert_eq!((&admission["must_passed"], &admission["must_total"]), (&0.into(), &2.into()));
}

#[test]
fn a_corpus_without_must_cases_admits_nobody() {
    let folder = clean();
    for name in ["delete", "read"] {
        let path = folder.path().join(format!("cases/notes/{name}.toml"));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("kind = ", "level = \"should\"\nkind = ")).unwrap();
    }
    let said = qualify(folder.path(), &[]);
    said.is(3, "HOLD", &["untested"]);
    assert!(said.all.contains("no must case"), "{}", said.all);
}

#[test]
fn a_waiver_makes_up_for_no_evidence() {
    let folder = clean();
    let waive = |ids: &[&str]| {
        let each =
            |id: &&str| format!("[[waivers]]\nid = '{id}'\nreason = 'r'\nowner = 'rosa'\nexpires = '2999-12-31'\n");
        let text: String = ids.iter().map(each).collect();
        std::fs::write(folder.path().join("waivers.toml"), format!("schema = 1\n{text}")).unwrap();
    };
    // Whatever is waived, what was not played is unknown.
    waive(&["notes.delete"]);
    qualify(folder.path(), &["notes.read"]).is(3, "HOLD", &["untested"]);
    // Nor does a gate that doesn't even start come in by waivers.
    waive(&["notes.delete", "notes.read"]);
    let gate = ["--gate-command", "false {upstream} {allowed_tools}"];
    let said = gateproof(folder.path(), &[&["qualify", "--json", "--no-reports"], gate.as_slice()].concat());
    said.is(3, "HOLD", &["blocked"]);
}

#[test]
fn a_baseline_tells_what_got_worse() {
    let folder = corpus();
    qualify(folder.path(), &[]).is(1, "HOLD", &["failed", "limit"]);
    let path = folder.path().join("reports/qualify/report.json");
    let mut document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let write = |name: &str, document: &Value| std::fs::write(folder.path().join(name), document.to_string()).unwrap();
    write("same.json", &document);
    qualify(folder.path(), &["--baseline", "same.json"]).is(1, "HOLD", &["failed", "limit"]);
    for trial in document["trials"].as_array_mut().unwrap() {
        trial["status"] = "pass".into();
    }
    write("better.json", &document);
    qualify(folder.path(), &["--baseline", "better.json"]).is(1, "HOLD", &["failed", "limit", "regression"]);
    document["corpus"]["sha256"] = "0".repeat(64).into();
    write("other.json", &document);
    let said = qualify(folder.path(), &["--baseline", "other.json"]);
    said.is(1, "HOLD", &["digest", "failed", "limit"]);
    assert!(said.all.contains("the baseline is of the corpus 000000000000"), "{}", said.all);
    std::fs::write(folder.path().join("broken.json"), "{}").unwrap();
    assert_eq!(qualify(folder.path(), &["--baseline", "broken.json"]).code, 2);
    assert_eq!(qualify(folder.path(), &["--baseline", "missing.json"]).code, 2);
}

#[test]
fn a_harness_that_contradicts_itself_gives_no_verdict() {
    // An attack that comes to nothing where nothing stands in its way.
    let folder = clean();
    let path = folder.path().join("cases/notes/delete.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("/notes/milk\", absent", "/notes\", absent")).unwrap();
    let said = qualify(folder.path(), &[]);
    said.is(3, "HOLD", &["control"]);
}
