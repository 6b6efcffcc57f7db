//! What each check is worth: leave it out, or leave it alone.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Rate, Record};
use crate::{
    case::Kind,
    gate::{CheckId, CheckSet, checks},
    judge::Status,
    plan::Arm,
};

/// One check's part. Each case counts on its home transport.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ablation {
    /// The check.
    pub check: &'static str,
    /// Attacks that the gate stops without it.
    pub without: Rate,
    /// How many attacks fewer that is than with every check on. 0: the check
    /// changes nothing on this corpus.
    pub change: usize,
    /// Attacks that it stops alone.
    pub only: Rate,
    /// Attacks that nothing else stops: it stops them alone, and without it
    /// they succeed.
    pub exclusive: Vec<String>,
    /// Honest cases that are served without it and not with every check on.
    pub exclusive_alarms: Vec<String>,
}

/// The ablation of every check whose two arms were played.
pub fn ablation(records: &[Record]) -> Vec<Ablation> {
    let guarded = Tally::of(records, Arm::Guarded);
    checks::ALL.iter().filter_map(|check| row(records, check.docs().id, &guarded)).collect()
}

fn row(records: &[Record], check: CheckId, guarded: &Tally<'_>) -> Option<Ablation> {
    let without = Tally::of(records, Arm::Without(CheckSet::one(check)));
    let only = Tally::of(records, Arm::Only(CheckSet::one(check)));
    if guarded.attacks.total == 0 || without.attacks.total == 0 || only.attacks.total == 0 {
        return None;
    }
    // What could not be judged without the check is not lost to it.
    let lost: Vec<_> = guarded.stopped.intersection(&without.succeeded).copied().collect();
    Some(Ablation {
        check: check.as_str(),
        without: without.attacks,
        change: lost.len(),
        only: only.attacks,
        exclusive: lost.into_iter().filter(|id| only.stopped.contains(id)).map(str::to_owned).collect(),
        exclusive_alarms: guarded.alarms.intersection(&without.served).map(|id| (*id).to_owned()).collect(),
    })
}

/// What one arm did with each case, on the case's home transport.
#[derive(Default)]
struct Tally<'a> {
    attacks: Rate,
    stopped: BTreeSet<&'a str>,
    succeeded: BTreeSet<&'a str>,
    served: BTreeSet<&'a str>,
    alarms: BTreeSet<&'a str>,
}

impl<'a> Tally<'a> {
    fn of(records: &'a [Record], arm: Arm) -> Self {
        let mut tally = Self::default();
        for record in records.iter().filter(|record| record.arm == arm && record.transport == record.case.home()) {
            let Some(verdict) = record.verdict.as_ref().filter(|verdict| verdict.status != Status::Blocked) else {
                continue;
            };
            let id = record.case.id.as_str();
            match record.case.body.kind {
                Kind::Attack => {
                    tally.attacks.count(verdict.stopped);
                    if verdict.stopped { &mut tally.stopped } else { &mut tally.succeeded }.insert(id);
                }
                Kind::Benign => {
                    let served = verdict.status == Status::Pass;
                    if served { &mut tally.served } else { &mut tally.alarms }.insert(id);
                }
                Kind::Robustness => {}
            }
        }
        tally
    }
}
