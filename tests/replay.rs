//! Transcripts that outlive a run: judged again, offline, and refused where they
//! are of something else.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

mod common;

use std::{path::PathBuf, process::Command};

use common::corpus;
use serde_json::Value;
use tempfile::TempDir;

struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Said {
    fn document(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }

    #[track_caller]
    fn is(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in\n{}", self.stderr);
        }
    }
}

/// A corpus of three cases, one of which fails, and its transcripts.
struct Saved {
    folder: TempDir,
    file: PathBuf,
    ran: Said,
}

impl Saved {
    fn new(words: &[&str]) -> Self {
        let folder = corpus();
        let file = folder.path().join("saved/transcripts.jsonl");
        let mut saved = Self { folder, file, ran: Said { code: 0, stdout: String::new(), stderr: String::new() } };
        saved.ran = saved.gateproof(&[words, &["--json", "--transcripts", "saved/transcripts.jsonl"]].concat());
        saved
    }

    fn gateproof(&self, words: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
        let output = command.current_dir(self.folder.path()).env("COLUMNS", "110").args(words).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        Said { code: output.status.code().unwrap(), stdout, stderr }
    }

    fn replay(&self, words: &[&str]) -> Said {
        self.gateproof(&[&["replay", "saved/transcripts.jsonl"], words].concat())
    }

    fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(&self.file).unwrap().lines().map(str::to_owned).collect()
    }

    /// The line of one trial, from 0.
    fn place(&self, case: &str, arm: &str) -> usize {
        let is_it = |line: &String| {
            let value: Value = serde_json::from_str(line).unwrap();
            value["case"] == case && value["arm"] == arm
        };
        self.lines().iter().position(is_it).unwrap()
    }

    fn write(&self, lines: &[String]) {
        std::fs::write(&self.file, lines.join("\n") + "\n").unwrap();
    }

    /// Changes the text of one line.
    fn change(&self, place: usize, from: &str, to: &str) {
        let mut lines = self.lines();
        let changed = lines[place].replacen(from, to, 1);
        assert_ne!(lines[place], changed, "there is no {from:?} in {}", lines[place]);
        lines[place] = changed;
        self.write(&lines);
    }

    /// Changes what one trial's line says.
    fn edit(&self, case: &str, arm: &str, how: impl FnOnce(&mut Value)) {
        let (place, mut lines) = (self.place(case, arm), self.lines());
        let mut value: Value = serde_json::from_str(&lines[place]).unwrap();
        how(&mut value);
        lines[place] = value.to_string();
        self.write(&lines);
    }
}

const QUICK: [&str; 4] = ["run", "--transport", "memory", "--no-ablation"];

#[test]
fn a_replay_makes_the_document_of_the_run() {
    // Over every transport, with ablation arms beside, of which nothing is kept.
    let saved = Saved::new(&["run"]);
    saved.ran.is(1, &["transcripts: saved/transcripts.jsonl"]);
    let header: Value = serde_json::from_str(&saved.lines()[0]).unwrap();
    let ran = saved.ran.document();
    let trials = ran["trials"].as_array().unwrap().len();
    assert_eq!((&header["schema"], &header["trials"]), (&"gateproof.transcripts/1".into(), &trials.into()));
    assert_eq!(header["corpus"], ran["corpus"]["sha256"]);
    assert_eq!((saved.lines().len(), trials), (1 + trials, 18));
    assert!(ran["unlisted_trials"].as_u64().unwrap() > 0);

    let replayed = saved.replay(&["--json"]);
    replayed.is(1, &["18 trials", "nothing was played", "every verdict is the one that was saved", "exit 1: 3 must"]);
    let again = replayed.document();
    for part in ["schema", "gateproof", "corpus", "switched_off", "arms", "trials", "not_tested"] {
        assert_eq!(again[part], ran[part], "{part}");
    }
    assert_eq!((again.get("ablation"), again.get("timing")), (None, None));

    let some = saved.replay(&["notes.read", "--json"]);
    some.is(0, &["6 trials", "exit 0"]);
    let of_it = |trial: &&Value| trial["case"] == "notes.read";
    let wanted: Vec<_> = ran["trials"].as_array().unwrap().iter().filter(of_it).cloned().collect();
    assert_eq!(some.document()["trials"], Value::from(wanted));
    saved.replay(&["-E", "not asked"]).is(0, &["12 trials"]);
    saved.replay(&["no-such-case"]).is(4, &["no trial of a case that matches"]);
    let shown = saved.replay(&[]);
    shown.is(1, &["FAIL notes.asked-to-delete · guarded · memory"]);
    assert!(shown.stdout.contains("attacks stopped"), "{}", shown.stdout);
}

#[test]
fn a_qualification_is_kept_too() {
    let saved = Saved::new(&["qualify", "--transport", "memory"]);
    assert_eq!(saved.ran.document()["admission"]["verdict"], "HOLD");
    let again = saved.replay(&["--json"]);
    assert_eq!(again.document()["trials"], saved.ran.document()["trials"]);
    again.is(1, &["every verdict is the one that was saved"]);
}

#[test]
fn a_replay_starts_no_gate() {
    let folder = TempDir::new().unwrap();
    let trace = folder.path().join("started");
    let script = format!("echo started >> '{}'; exec \"$@\"", trace.display());
    let gate = ["sh", "-c", &script, "sh", "{upstream}"].map(|word| format!("'{}'", word.replace('\'', "'\\''")));
    let saved = Saved::new(&["run", "--gate-command", &gate.join(" ")]);
    assert!(trace.exists(), "{}", saved.ran.stderr);
    std::fs::remove_file(&trace).unwrap();
    let header: Value = serde_json::from_str(&saved.lines()[0]).unwrap();
    assert_eq!(header["gate"], "command");
    let again = saved.replay(&["--json"]);
    assert_eq!(again.code, saved.ran.code, "{}", again.stderr);
    again.is(again.code, &["played through command", "every verdict is the one that was saved"]);
    let (ran, again) = (saved.ran.document(), again.document());
    assert!(ran["trials"].as_array().unwrap().iter().any(|trial| trial["arm"] == "outside"));
    for part in ["arms", "trials", "not_tested", "timing"] {
        assert_eq!(again[part], ran[part], "{part}");
    }
    assert!(!trace.exists());
}

#[test]
fn the_judge_reads_what_the_server_said() {
    let saved = Saved::new(&QUICK);
    saved.edit("notes.read", "guarded", |trial| {
        let crossed = trial["transcript"]["events"].as_array_mut().unwrap().iter_mut();
        let mut said = crossed
            .filter_map(|event| event.get_mut("crossed"))
            .filter(|crossed| crossed["leg"] == "upstream" && crossed["direction"] == "replyward")
            .filter(|crossed| crossed["raw"].as_str().unwrap().contains("content"));
        // One byte, and the client did not get what the server said.
        let raw = &mut said.next().unwrap()["raw"];
        *raw = raw.as_str().unwrap().replacen("content", "c0ntent", 1).into();
    });
    let said = saved.replay(&["notes.read"]);
    said.is(
        1,
        &["1 verdict differs", "notes.read · guarded · memory · 2025-06-18: was pass (forwarded), is fail (rewritten)"],
    );
}

#[test]
fn a_verdict_that_was_another_is_named() {
    let saved = Saved::new(&QUICK);
    let place = saved.place("notes.read", "guarded");
    saved.change(place, r#""status":"pass""#, r#""status":"fail""#);
    let said = saved.replay(&["notes.read"]);
    said.is(
        1,
        &[
            "1 verdict differs:",
            "notes.read · guarded · memory · 2025-06-18: was fail (forwarded), is pass (forwarded)",
        ],
    );
    said.is(1, &["exit 1: 1 verdict differs in must trials"]);
    saved.replay(&["notes.delete"]).is(0, &["every verdict is the one that was saved"]);
}

#[test]
fn the_trail_changes_no_verdict() {
    let saved = Saved::new(&QUICK);
    saved.edit("notes.delete", "guarded", |trial| trial["trail"][0]["check"] = "egress".into());
    let said = saved.replay(&["notes.delete", "--json"]);
    said.is(0, &["every verdict is the one that was saved"]);
    let document = said.document();
    let guarded = document["trials"].as_array().unwrap().iter().find(|trial| trial["arm"] == "guarded").unwrap();
    assert_eq!((&guarded["status"], &guarded["attribution"]), (&"pass".into(), &"otherwise".into()));
}

#[test]
fn what_is_not_of_this_corpus_is_refused() {
    let saved = Saved::new(&QUICK);
    let whole = saved.lines();
    let header: Value = serde_json::from_str(&whole[0]).unwrap();
    let digest = header["corpus"].as_str().unwrap();
    let other = "0".repeat(64);
    for (place, from, to, said) in [
        (0, digest, other.as_str(), [digest, &other, "--corpus DIR"]),
        (0, "transcripts/1", "transcripts/2", ["line 1", "gateproof.transcripts/2", "use the gateproof that wrote it"]),
        (2, r#""case":"notes."#, r#""case":"nots."#, ["line 3", "there is no case 'nots.", "nothing was judged"]),
        (1, r#""arm":"naive""#, r#""arm":"naiv""#, ["line 2", "unknown arm 'naiv'", "did you mean 'naive'"]),
        (1, "2025-06-18", "2024-11-05", ["line 2", "unknown revision '2024-11-05'", "expected one of"]),
        (1, r#""transport":"memory""#, r#""transport":"pigeon""#, ["line 2", "'pigeon'", "memory, stdio, http"]),
        (3, r#"{"trial":"#, r#"{"trail":"#, ["line 4 is damaged", "transcripts.jsonl", "nothing was judged"]),
    ] {
        saved.write(&whole);
        // Whichever trial ended first: the field itself, not what crossed.
        let place = if from.contains("naive") { saved.place("notes.read", "naive") } else { place };
        let line = format!("line {}", place + 1);
        saved.change(place, from, to);
        let found = saved.replay(&[]);
        let said = if from.contains("naive") { [line.as_str(), said[1], said[2]] } else { said };
        found.is(2, &said);
        assert_eq!(found.stdout, "");
    }
    // A corpus that went on since.
    saved.write(&whole);
    let case = saved.folder.path().join("cases/notes/read.toml");
    let text = std::fs::read_to_string(&case).unwrap();
    std::fs::write(&case, format!("{text}\n# changed\n")).unwrap();
    saved.replay(&[]).is(2, &["it is of another corpus", digest]);
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let saved = Saved::new(&QUICK);
    let whole = saved.lines();
    saved.write(&whole[..4]);
    saved.replay(&[]).is(2, &["line 5: the file is cut off: it holds 3 of 6 trials"]);
    std::fs::write(&saved.file, whole.join("\n")).unwrap();
    saved.replay(&[]).is(2, &["line 7: the file is cut off: it holds 5 of 6 trials"]);
    std::fs::write(&saved.file, "").unwrap();
    saved.replay(&[]).is(2, &["no file of transcripts"]);
    std::fs::remove_file(&saved.file).unwrap();
    saved.replay(&[]).is(2, &["transcripts.jsonl"]);
}

#[test]
fn a_file_that_cannot_be_written_fails_before_anything_is_played() {
    let saved = Saved::new(&QUICK);
    let words = |path| [&QUICK[..], &["--transcripts", path]].concat();
    for path in ["saved", "saved/transcripts.jsonl/below"] {
        let said = saved.gateproof(&words(path));
        said.is(2, &["can't write transcripts", path]);
        assert_eq!(said.stdout, "");
    }
    let said = saved.gateproof(&["run", "--live", "a,b", "--transcripts", "x.jsonl"]);
    said.is(2, &["one --live at a time"]);
    // Nothing half done is left beside it.
    assert_eq!(std::fs::read_dir(saved.file.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn what_was_not_played_says_why_again() {
    let saved = Saved::new(&QUICK);
    saved.edit("notes.read", "guarded", |trial| {
        let fields = trial.as_object_mut().unwrap();
        fields.remove("transcript");
        fields.insert("untested".into(), "the gate is not installed".into());
        fields.insert("verdict".into(), serde_json::json!({ "status": "untested", "outcome": "inconclusive" }));
    });
    let said = saved.replay(&["notes.read", "--json"]);
    said.is(3, &["every verdict is the one that was saved", "exit 3"]);
    assert_eq!(said.document()["not_tested"][0]["reason"], "the gate is not installed");
}
