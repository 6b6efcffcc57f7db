//! The quiet pass of a run: some honest trials again, one at a time, so that what
//! a call costs is the gate's doing and not that of the trials beside it.

use std::collections::{BTreeMap, BTreeSet};

use super::progress;
use crate::{
    case::{CaseId, Kind},
    plan::{Arm, Trial},
    report::Timing,
    runner::{self, Schedule, Stop},
    score::{Cost, Record, Standing, costs},
    transport,
};

/// Cases that are played again for each arm on each transport: enough for a
/// percentile, and over in seconds.
const MOST: usize = 60;

/// What was measured.
pub(super) struct Measured {
    /// What calls cost, as it is judged.
    pub(super) costs: Vec<Cost>,
    /// The same for the report, with each check's part.
    pub(super) timing: Timing,
}

/// Plays some of `trials` again and says what calls cost; `None` where none of
/// them calls anything. `records` are what came of all of them before: what did
/// not come out as it should is not played again, for it may take its time.
pub(super) fn measure(trials: &[Trial], records: &[Record], stop: &Stop) -> Option<Measured> {
    // Real servers and gates are never beside one another, and take their time to start.
    if trials.iter().any(|trial| trial.prepared.live.is_some() || trial.arm == Arm::Outside) {
        return Some(Measured { costs: costs(records), timing: Timing::of(records)? });
    }
    let chosen = chosen(trials, records);
    let program = std::env::current_exe().ok();
    let schedule = Schedule { at_once: 1, ..progress::schedule(Some(1), program, stop.clone()) };
    let made = |numbered: &runner::Numbered, ended| Record::new(&numbered.trial, ended);
    let measured = runner::run(&chosen, &schedule, made, |_| {});
    // A stopwatch takes time itself: the parts are measured apart from the whole.
    let first = chosen.first().map(|trial| trial.transport);
    let gated: Vec<_> =
        chosen.iter().filter(|trial| trial.arm == Arm::Guarded && Some(trial.transport) == first).cloned().collect();
    let settings = runner::Settings { stopwatch: true, ..schedule.settings.clone() };
    let taken_apart = runner::run(&gated, &Schedule { settings, ..schedule }, made, |_| {});
    let parts = Timing::of(&taken_apart).map(|timing| timing.parts).unwrap_or_default();
    let timing = Timing { parts, ..Timing::of(&measured)? };
    Some(Measured { costs: costs(&measured), timing })
}

/// The same cases for every arm on a transport: those that are honest, call
/// something, and came out as they should in each of these arms.
fn chosen(trials: &[Trial], records: &[Record]) -> Vec<Trial> {
    let mut good: BTreeMap<(transport::Kind, &CaseId), BTreeSet<Arm>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.case.body.kind == Kind::Benign && !record.calls.is_empty()) {
        if record.standing() == Standing::AsExpected {
            good.entry((record.transport, &record.case.id)).or_default().insert(record.arm);
        }
    }
    let is_asked = |trial: &&Trial| !trial.arm.is_ablation();
    let mut arms: BTreeMap<transport::Kind, BTreeSet<Arm>> = BTreeMap::new();
    for trial in trials.iter().filter(is_asked) {
        arms.entry(trial.transport).or_default().insert(trial.arm);
    }
    let mut cases: BTreeMap<transport::Kind, Vec<&CaseId>> = BTreeMap::new();
    for ((transport, case), of) in &good {
        if arms.get(transport).is_some_and(|asked| asked.is_subset(of)) {
            cases.entry(*transport).or_default().push(case);
        }
    }
    // Spread over the whole corpus, in which neighbours are alike.
    for cases in cases.values_mut() {
        let (all, every) = (cases.len(), cases.len().div_ceil(MOST).max(1));
        *cases = (0..all).step_by(every).filter_map(|index| cases.get(index).copied()).collect();
    }
    let mut seen = BTreeSet::new();
    let again = trials.iter().filter(is_asked).filter(|trial| {
        let case = &trial.prepared.case.id;
        let is_in = cases.get(&trial.transport).is_some_and(|cases| cases.contains(&case));
        // One revision of a case is enough.
        is_in && seen.insert((trial.arm, trial.transport, case.clone()))
    });
    again.cloned().collect()
}
