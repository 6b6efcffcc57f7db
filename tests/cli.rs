//! What people and CI see of the command line: exit codes, messages, files.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

mod common;

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use common::corpus;
use serde_json::Value;

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
    command.current_dir(folder).env_remove("NO_COLOR").env("COLUMNS", "110").args(words);
    command
}

fn gateproof(folder: &Path, words: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(folder, words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[track_caller]
fn check(folder: &Path, words: &[&str], code: i32, said: &[&str]) {
    let (found, stdout, stderr) = gateproof(folder, words);
    assert_eq!(found, code, "{words:?}\n{stdout}\n{stderr}");
    for word in said {
        assert!(stdout.contains(word) || stderr.contains(word), "{word:?} is not in\n{stdout}\n{stderr}");
    }
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// Quick: naive and guarded in memory.
const QUICK: [&str; 4] = ["run", "--transport", "memory", "--no-ablation"];

#[test]
fn mistakes_on_the_command_line_exit_2() {
    let folder = corpus();
    let at = folder.path();
    check(at, &["frobnicate"], 2, &["unrecognized subcommand"]);
    check(at, &["run", "--arm", "without:tool-alowlist"], 2, &["did you mean 'tool-allowlist'"]);
    check(at, &["run", "--transport", "stdoi"], 2, &["did you mean 'stdio'"]);
    check(at, &["run", "-E", "knd(attack)"], 2, &["did you mean 'kind'"]);
    check(at, &["run", "--partition", "5/4"], 2, &["hash:M/N"]);
    check(at, &["explain", "notes.delte"], 2, &["did you mean 'notes.delete'"]);
    check(at, &["explain", "tool-alowlist"], 2, &["did you mean 'tool-allowlist'"]);
    check(at, &["--help"], 0, &["Exit codes"]);
}

#[test]
fn a_broken_case_is_pointed_at_and_nothing_is_touched() {
    let folder = corpus();
    let at = folder.path();
    write(at, "reports/latest/report.json", "as it was");
    let case = std::fs::read_to_string(at.join("cases/notes/read.toml")).unwrap();
    write(at, "cases/notes/read.toml", &case.replace("title", "titel"));
    write(at, "cases/notes/delete.toml", "schema = 1\nid = ");
    check(
        at,
        &["run"],
        2,
        &[
            "cases/notes/read.toml:3:1",
            "did you mean 'title'",
            "cases/notes/delete.toml:2",
            "╰──",
            "2 files with errors",
        ],
    );
    assert_eq!(std::fs::read_to_string(at.join("reports/latest/report.json")).unwrap(), "as it was");
    assert_eq!(std::fs::read_dir(at.join("reports/latest")).unwrap().count(), 1);
}

#[test]
fn nothing_selected_exits_4() {
    let folder = corpus();
    check(folder.path(), &["run", "no-such-case"], 4, &["no case matches"]);
    check(folder.path(), &["list", "no-such-case"], 4, &[]);
    assert!(!folder.path().join("reports").exists());
}

#[test]
fn a_run_exits_by_what_it_saw() {
    let folder = corpus();
    let at = folder.path();
    check(at, &[&QUICK[..], &["-E", "not asked"]].concat(), 0, &["exit 0", "reports: reports/latest"]);
    check(at, &QUICK, 1, &["FAIL notes.asked-to-delete · guarded · memory", "exit 1: 1 must trial failed"]);
    let case = std::fs::read_to_string(at.join("cases/notes/read.toml")).unwrap();
    let never = case.replace("[expect]\n", "[expect]\ncontrol = [{ server-got = { method = \"never/sent\" } }]\n");
    write(at, "cases/notes/read.toml", &never);
    check(at, &[&QUICK[..], &["notes.read"]].concat(), 3, &["Not tested: 2 trials", "never/sent", "exit 3"]);
}

#[test]
fn what_a_filter_names_must_be_there() {
    let folder = corpus();
    for (filter, said) in [
        ("by(tool-alowlist)", "did you mean 'tool-allowlist'"),
        ("not id(notes.delet)", "did you mean 'notes.delete'"),
        ("kind(attack) and technique(C99)", "no such technique"),
    ] {
        check(folder.path(), &[&QUICK[..], &["--no-reports", "-E", filter]].concat(), 2, &[said]);
    }
    // What is only searched for need not be there.
    check(folder.path(), &[&QUICK[..], &["--no-reports", "nothing-like-it"]].concat(), 4, &["no case matches"]);
    check(folder.path(), &[&QUICK[..], &["--no-reports", "-E", "id(none.*)"]].concat(), 4, &["no case matches"]);
}

#[test]
fn json_is_the_document_and_nothing_else() {
    let folder = corpus();
    let words = ["run", "--transport", "memory", "--json", "-E", "not asked"];
    let (code, stdout, stderr) = gateproof(folder.path(), &words);
    assert_eq!(code, 0, "{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(document["schema"], "gateproof.report/1");
    assert_eq!(document["corpus"]["sha256"].as_str().unwrap().len(), 64);
    let guarded = &document["arms"][1];
    assert_eq!((&guarded["name"], &guarded["transport"]), (&"guarded".into(), &"memory".into()));
    assert_eq!((&guarded["attacks"]["stopped"], &guarded["attacks"]["total"]), (&1.into(), &1.into()));
    assert_eq!((&guarded["benign"]["served"], &guarded["benign"]["total"]), (&1.into(), &1.into()));
    assert_eq!((&guarded["leaks"], &guarded["requests_for_denied"]), (&0.into(), &0.into()));
    assert_eq!(document["arms"][0]["requests_for_denied"], 1, "the naive arm sends what had to be denied");
    let rows = document["ablation"]["checks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["check"] == "tool-allowlist").unwrap();
    assert_eq!((&row["without"]["hits"], &row["only"]["hits"]), (&0.into(), &1.into()));
    assert_eq!(row["exclusive"], serde_json::json!(["notes.delete"]));
    let trials = document["trials"].as_array().unwrap();
    let trial = trials.iter().find(|trial| trial["case"] == "notes.delete" && trial["arm"] == "guarded").unwrap();
    assert_eq!(trial["transport"], "memory");
    assert_eq!(trial["revision"], "2025-06-18");
    assert_eq!(trial["outcome"], "denied");
    assert_eq!(trial["status"], "pass");
    assert_eq!(trial["stopped_by"], serde_json::json!(["tool-allowlist"]));
    let written = std::fs::read_to_string(folder.path().join("reports/latest/report.json")).unwrap();
    assert_eq!(written, stdout);
}

#[test]
fn reports_that_cannot_be_written_fail_before_anything_is_played() {
    let folder = corpus();
    write(folder.path(), "blocked", "a file, not a folder");
    let words = [&QUICK[..], &["--reports", "blocked/here"]].concat();
    check(folder.path(), &words, 2, &["can't write reports"]);
    let (_, stdout, _) = gateproof(folder.path(), &words);
    assert_eq!(stdout, "");
}

#[test]
fn colours_only_where_asked() {
    let folder = corpus();
    let (_, stdout, stderr) = gateproof(folder.path(), &QUICK);
    assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'));
    let (_, stdout, _) = gateproof(folder.path(), &[&QUICK[..], &["--color", "always"]].concat());
    assert!(stdout.contains('\u{1b}'));
}

#[test]
fn a_new_case_loads_passes_and_is_never_overwritten() {
    let folder = corpus();
    let at = folder.path();
    check(at, &["new", "notes.fresh.one"], 0, &["cases/notes/fresh/one.toml is written", "gateproof explain"]);
    check(at, &["explain", "notes.fresh.one"], 0, &["the client lists tools [tools]"]);
    check(at, &[&QUICK[..], &["notes.fresh"]].concat(), 0, &["exit 0"]);
    check(at, &["new", "notes.fresh.one"], 2, &["exists"]);
    check(at, &["new", "Notes.Fresh"], 2, &["a-z"]);
    check(at, &["new", "alone"], 2, &["a category"]);
}

#[test]
fn lists_are_json_on_request() {
    let folder = corpus();
    for what in ["cases", "checks", "techniques", "fixtures", "policies", "transforms", "arms"] {
        let (code, stdout, stderr) = gateproof(folder.path(), &["list", what, "--json"]);
        assert_eq!(code, 0, "{what}: {stderr}");
        assert!(!serde_json::from_str::<Vec<Value>>(&stdout).unwrap().is_empty(), "{what}");
    }
    let (code, stdout, stderr) = gateproof(folder.path(), &["list", "--coverage", "--json"]);
    let table: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(code, 0, "{stderr}");
    let covered = |id: &str| table["techniques"].as_array().unwrap().iter().find(|row| row["technique"] == id).unwrap();
    assert_eq!(covered("C12")["checks"]["tool-allowlist"], 1);
    assert_eq!(covered("C12")["holes"], serde_json::json!([]));
    assert_eq!(covered("D01")["holes"][0], "no attack");
    check(folder.path(), &["list", "--coverage"], 0, &["D01 tool poisoning: no attack", "Out of reach"]);
    check(folder.path(), &["list", "delete"], 0, &["notes.delete", "notes.asked-to-delete"]);
}

#[test]
fn lint_finds_what_a_corpus_lacks() {
    let folder = corpus();
    let at = folder.path();
    write(at, "fixtures/policies/spare.toml", "schema = 1\ntitle = \"Unused\"\n");
    let case = std::fs::read_to_string(at.join("cases/notes/delete.toml")).unwrap();
    let tame = case.replace("absent = true", "equals = '\"something else\"'");
    write(at, "cases/notes/tame.toml", &tame.replace("notes.delete\"", "notes.tame\"").replace("C12", "C99"));
    check(
        at,
        &["lint"],
        1,
        &[
            "fixtures/policies/spare.toml: no case uses it",
            "notes.tame: can't fail: the attack does not succeed under naive",
            "there is no technique 'C99'",
            "notes.asked-to-delete: fail under guarded",
            "reply-correlation: no attack is stopped by it",
            "D02 implicit poisoning: no attack",
        ],
    );
}

#[test]
fn the_published_reports_are_the_same_bytes_each_time() {
    let folder = corpus();
    std::fs::remove_file(folder.path().join("cases/notes/asked-to-delete.toml")).unwrap();
    let made = || {
        check(folder.path(), &["run", "--reference"], 0, &["reports/reference"]);
        ["report.json", "scorecard.md"].map(|name| {
            let path = folder.path().join("reports/reference").join(name);
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::remove_file(path).unwrap();
            text
        })
    };
    let first = made();
    assert!(!first[0].contains("timing"));
    assert!(first[0].contains("\"direct\"") && first[0].contains("\"http\"") && first[0].contains("\"stdio\""));
    assert_eq!(first, made());
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_so_and_overwrites_nothing() {
    use std::os::unix::process::ExitStatusExt as _;

    let folder = corpus();
    let at = folder.path();
    // A server that never answers keeps the run busy until it is interrupted.
    let case = std::fs::read_to_string(at.join("cases/notes/read.toml")).unwrap();
    let silent = "{ fixture = \"notes\", faults = [{ method = \"tools/call\", silent = true }] }";
    write(at, "cases/notes/read.toml", &case.replace("{ fixture = \"notes\" }", silent));
    write(at, "reports/latest/report.json", "as it was");
    let words = [&QUICK[..], &["notes.read", "--jobs", "1"]].concat();
    let piped = std::process::Stdio::piped;
    let child = command(at, &words).stdout(piped()).stderr(piped()).spawn().unwrap();
    // The report files are opened after the handler is in place, and before play.
    while std::fs::read_dir(at.join("reports/latest")).unwrap().count() < 3 {
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), None);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("left as they were") && stderr.contains("interrupted"), "{stderr}");
    assert_eq!(std::fs::read_to_string(at.join("reports/latest/report.json")).unwrap(), "as it was");
    assert_eq!(std::fs::read_dir(at.join("reports/latest")).unwrap().count(), 1);
}

/// Terminal tables or a report without what was measured, which differs from run to run.
fn unmeasured(text: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in text.lines() {
        inside = (inside || line == "What a call costs") && !line.is_empty();
        if !inside && !line.starts_with("  \"timing\": ") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.trim_end_matches('\n').to_owned() + "\n"
}

#[test]
fn a_run_says_what_calls_cost() {
    let folder = corpus();
    let (_, stdout, _) =
        gateproof(folder.path(), &[&QUICK[..], &["-E", "not asked", "--arm", "direct,guarded"]].concat());
    assert!(stdout.contains("What a call costs") && stdout.contains("Added: the difference"), "{stdout}");
    let report = std::fs::read_to_string(folder.path().join("reports/latest/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let calls = report["timing"]["calls"].as_array().unwrap();
    let [direct, guarded] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!((&direct["arm"], &guarded["arm"]), (&"direct".into(), &"guarded".into()));
    // One honest case, in which one call is made.
    assert_eq!((&direct["calls"], &guarded["calls"]), (&1.into(), &1.into()));
    assert!(direct["p50"].as_f64().unwrap() > 0.0 && direct["added"].is_null());
    let added = guarded["p99"].as_f64().unwrap() - direct["p99"].as_f64().unwrap();
    assert_eq!(guarded["added"]["over"], "direct");
    assert!((guarded["added"]["p99"].as_f64().unwrap() - added).abs() < 1e-6);
    let scorecard = std::fs::read_to_string(folder.path().join("reports/latest/scorecard.md")).unwrap();
    assert!(scorecard.contains("## Besides the verdict") && scorecard.contains("## What a call costs"));
}

/// What is printed, compared with `tests/golden`. Set `GATEPROOF_BLESS` to
/// accept what there is now.
#[test]
fn output_is_as_blessed() {
    let folder = corpus();
    let (_, stdout, stderr) = gateproof(folder.path(), &[&QUICK[..], &["--jobs", "1"]].concat());
    // The rate is the one thing that differs from run to run.
    let stderr: Vec<_> = stderr.lines().filter(|line| !line.ends_with("a second")).collect();
    let report = std::fs::read_to_string(folder.path().join("reports/latest/report.json")).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, found) in [
        ("tables.txt", unmeasured(&stdout)),
        ("failure.txt", stderr.join("\n") + "\n"),
        ("report.json", unmeasured(&report)),
    ] {
        let path = golden.join(name);
        if std::env::var_os("GATEPROOF_BLESS").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        let blessed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, blessed, "tests/golden/{name}");
    }
}
