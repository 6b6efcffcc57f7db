//! What one trial says of other sets of checks is what is seen when they are played.

use std::{collections::BTreeSet, path::Path};

use gateproof::{
    gate::CheckSet,
    plan::{Arm, Selection, Suite, Trial},
    runner::{self, Schedule},
    score::{Games, Record, missing},
    transport,
};

fn play(trials: &[Trial]) -> Vec<Record> {
    let schedule = Schedule { jobs: 2, ..Schedule::default() };
    runner::run(trials, &schedule, |numbered, ended| Record::new(&numbered.trial, ended), |_| {})
}

/// Everything that is said of a trial, but for what its checks say of themselves.
fn seen(record: &Record) -> String {
    format!("{:?} {:?}", record.verdict, record.untested)
}

#[test]
fn deduced_trials_are_what_played_ones_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A package without its corpus has nothing to compare.
    if !root.join("cases").is_dir() {
        return;
    }
    let suite = Suite::load(root).unwrap();
    let selection = Selection::new([Arm::Guarded], transport::Kind::ALL);
    // One variant of each file, in memory.
    let mut bases = BTreeSet::new();
    let mut cases = selection.trials_at_home(&suite);
    cases.retain(|trial| {
        trial.transport == transport::Kind::Memory && bases.insert(trial.prepared.case.id.base().to_owned())
    });
    let mut records = Vec::new();
    loop {
        let trials = missing(&cases, &records);
        if trials.is_empty() {
            break;
        }
        records.extend(play(&trials));
    }
    let games = Games::new(&records);
    assert!(games.0.len() > 700, "{}", games.0.len());
    // Of each case one check in turn, left out and left alone, that no trial was
    // played for.
    let mut deduced = Vec::new();
    for (index, game) in games.0.iter().enumerate() {
        let trial = cases.iter().find(|trial| trial.prepared.case.id == game.case.id).unwrap();
        let check = game.on.iter().nth(index % game.on.len().max(1)).unwrap();
        for enforced in [game.on.with(check, false), CheckSet::one(check)] {
            let known = game.with(enforced).unwrap();
            if known.enforced != Some(enforced) {
                deduced.push((Trial { arm: Arm::Only(enforced), ..trial.clone() }, seen(known)));
            }
        }
    }
    assert!(deduced.len() > 1000, "{}", deduced.len());
    let trials: Vec<_> = deduced.iter().map(|(trial, _)| trial.clone()).collect();
    let played = play(&trials);
    assert_eq!(played.len(), deduced.len());
    for (record, (_, expected)) in played.iter().zip(&deduced) {
        assert_eq!(seen(record), *expected, "{} {}", record.case.id, record.arm);
    }
}
