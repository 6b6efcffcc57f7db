//! The harness qualifies itself: every control gate comes out as it must, and no
//! mutant of a check survives.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use gateproof::{
    cli::doctor::examine,
    judge::{Outcome, Status},
    plan::{Arm, Selection, Suite},
    runner::{self, Schedule, Settings},
    score::{Attribution, Record},
    transport,
};

fn schedule() -> Schedule {
    let settings = Settings { program: Some(env!("CARGO_BIN_EXE_gateproof").into()), ..Settings::default() };
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    Schedule { jobs, settings, ..Schedule::default() }
}

/// Three cases, one of which the reference gate fails.
fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/corpus")
}

/// What an attack that has to be denied before the server comes to under a gate.
fn under(arm: &str) -> Record {
    let suite = Suite::load(&golden()).unwrap();
    let arm: Arm = arm.parse().unwrap();
    let selection =
        Selection { filter: "id(notes.delete)".parse().unwrap(), ..Selection::new([arm], [transport::Kind::Memory]) };
    let trials = selection.trials(&suite);
    let made = |numbered: &runner::Numbered, ended| Record::new(&numbered.trial, ended);
    runner::run(&trials, &schedule(), made, |_| {}).pop().unwrap()
}

#[test]
fn a_denial_that_reaches_the_server_is_a_leak() {
    let record = under("control:leaky");
    let verdict = record.verdict.as_ref().unwrap();
    assert_eq!((verdict.status, verdict.outcome), (Status::Fail, Outcome::Leaked), "{verdict:?}");
    assert_eq!((verdict.refused_well, verdict.requests_for_denied), (Some(true), 1), "{verdict:?}");
    assert!(verdict.harmed && !verdict.stopped, "{verdict:?}");
    let guarded = under("guarded").verdict.unwrap();
    assert_eq!((guarded.status, guarded.requests_for_denied), (Status::Pass, 0), "{guarded:?}");
}

#[test]
fn a_success_that_is_made_up_stops_no_attack() {
    for gate in ["canned-yes", "deny-all", "dead"] {
        let verdict = under(&format!("control:{gate}")).verdict.unwrap();
        assert!(!verdict.stopped && verdict.status == Status::Fail, "{gate}: {verdict:?}");
    }
    assert_eq!(under("control:canned-yes").verdict.unwrap().outcome, Outcome::Fabricated);
}

#[test]
fn what_a_gate_claims_changes_no_verdict() {
    let hollow = under("mutant:hollow:tool-allowlist");
    assert_eq!(hollow.stopped_by, ["tool-allowlist"]);
    assert_eq!(hollow.status(), Status::Fail);
    let wrong = under("control:wrong-reason");
    assert_eq!((wrong.status(), wrong.attribution()), (Status::Pass, Some(Attribution::Otherwise)));
}

#[test]
fn a_corpus_that_can_tell_too_little_is_told_so() {
    let run = |corpus: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
        let output = command.args(["doctor", "--corpus"]).arg(corpus).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = run(&golden());
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("guarded (home): passed 2/3, must be all\n  notes.asked-to-delete: fail"), "{said}");
    assert!(said.contains("survives mutant:blind:egress: no case could tell"), "{said}");
    assert!(!said.contains("survives mutant:blind:tool-allowlist"), "{said}");
    assert_eq!(run(&golden().join("no-such-folder")).0, 2);
}

#[test]
fn gates_that_are_wrong_on_purpose_are_found_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A package without its corpus has nothing to play.
    if !root.join("cases").is_dir() {
        return;
    }
    let suite = Suite::load(root).unwrap();
    let diagnosis = examine(&suite, &schedule(), &mut |_| {}).unwrap();
    let wrong: Vec<_> = diagnosis.controls.iter().filter(|control| !control.holds).collect();
    assert!(wrong.is_empty(), "these control gates do not come out as they must: {wrong:#?}");
    let survivors: Vec<_> = diagnosis.survivors().map(|mutant| &mutant.gate).collect();
    assert!(survivors.is_empty(), "no case kills these mutants: {survivors:?}");
    assert!(diagnosis.holds(), "nothing was examined");
}
