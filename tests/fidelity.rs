//! What need not change comes through byte for byte: every honest session of the
//! corpus through a gate, held against the same with nothing in the middle.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

use std::{path::Path, sync::Arc};

use gateproof::{
    cli::fidelity::compare,
    controls::Control,
    judge::fidelity::Difference,
    plan::{Arm, Selection, Suite, Trial},
    runner::{Schedule, Settings},
    score::fidelity::{Passage, Session, counts},
    transport,
};

fn played(arm: Arm, via: &[transport::Kind], filter: &str) -> Vec<Session> {
    let suite = Suite::load(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let selection = Selection { filter: filter.parse().unwrap(), ..Selection::new([arm], via) };
    let direct = |trial: &Trial| Trial { arm: Arm::Direct, prepared: Arc::clone(&trial.prepared), ..*trial };
    let trials = selection.trials(&suite).into_iter().filter(counts);
    let pairs: Vec<_> = trials.map(|trial| (direct(&trial), trial)).collect();
    assert!(!pairs.is_empty(), "{filter}: nothing to compare");
    let settings = Settings { program: Some(env!("CARGO_BIN_EXE_gateproof").into()), ..Settings::default() };
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    compare(&pairs, &Schedule { jobs, settings, ..Schedule::default() })
}

#[test]
fn a_gate_that_does_nothing_changes_nothing() {
    for session in played(Arm::Naive, &[transport::Kind::Memory, transport::Kind::Http], "all()") {
        assert!(matches!(session.passage, Passage::Identical), "{session:#?}");
    }
}

#[test]
fn the_reference_gate_changes_what_a_check_accounts_for_and_nothing_else() {
    let sessions = played(Arm::Guarded, &[transport::Kind::Memory, transport::Kind::Http], "all()");
    for session in &sessions {
        assert!(matches!(session.passage, Passage::Identical | Passage::ByCheck(..)), "{session:#?}");
    }
    let spelled: Vec<_> = sessions.iter().filter(|session| session.case.category() == "fidelity").collect();
    assert!(spelled.iter().all(|session| matches!(session.passage, Passage::Identical)), "{spelled:#?}");
    let identical = sessions.iter().filter(|session| matches!(session.passage, Passage::Identical)).count();
    assert!(identical * 10 > sessions.len() * 8, "{identical} of {} sessions", sessions.len());
}

#[test]
fn over_stdio_too() {
    for session in played(Arm::Guarded, &[transport::Kind::Stdio], "id(fidelity.*)") {
        assert!(matches!(session.passage, Passage::Identical), "{session:#?}");
    }
}

/// The comparison can fail: a gate that writes every message anew is seen in each
/// session in which every byte counts.
#[test]
fn a_gate_that_types_anew_what_it_read_is_seen() {
    for session in played(Arm::Control(Control::Retyping), &[transport::Kind::Memory], "id(fidelity.*)") {
        let Passage::Changed(changes) = &session.passage else { panic!("{session:#?}") };
        let bytes = |what: &Difference| matches!(what, Difference::Bytes { .. } | Difference::Lost(_));
        assert!(changes.iter().any(|change| bytes(&change.what)), "{session:#?}");
    }
}
