//! Whether the harness finds out gates that are wrong on purpose.
//!
//! Reads the records of control gates and mutants, and of the reference gate as
//! the measure. A statement about nothing holds never.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Attribution, Rate, Record};
use crate::{
    case::{CaseId, Kind, Level, Stage},
    controls::{Control, Mutation},
    gate::CheckId,
    judge::Status,
    plan::Arm,
    protocol::Revision,
    transport,
};

/// What the harness makes of gates that are wrong on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The reference gate, which all is measured by, and each control gate.
    pub controls: Vec<Examined>,
    /// Each mutant of each check.
    pub mutants: Vec<Mutant>,
}

impl Diagnosis {
    /// Whether every control gate was found to be what it is, and every mutant killed.
    pub fn holds(&self) -> bool {
        let killed = self.mutants.iter().all(|mutant| mutant.killed_by.is_some());
        killed && !self.mutants.is_empty() && !self.controls.is_empty() && self.controls.iter().all(|row| row.holds)
    }

    /// The mutants that no case kills.
    pub fn survivors(&self) -> impl Iterator<Item = &Mutant> {
        self.mutants.iter().filter(|mutant| mutant.killed_by.is_none())
    }
}

/// A gate on some transport, and what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// The arm.
    pub gate: String,
    /// The transport; `home` for each case's cheapest.
    pub via: &'static str,
    /// What must come out.
    pub expected: &'static str,
    /// What came out.
    pub seen: Vec<Seen>,
    /// Whether that is so.
    pub holds: bool,
}

/// A count, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// What is counted.
    pub what: &'static str,
    /// How many, of how many.
    pub rate: Rate,
    /// Whether it must be all of them; none otherwise.
    pub all: bool,
    /// The cases that contradict, a few of them.
    pub against: Vec<String>,
}

impl Seen {
    /// Whether it is what it must be.
    pub fn holds(&self) -> bool {
        self.rate.total > 0 && self.rate.hits == if self.all { self.rate.total } else { 0 }
    }
}

/// The category of cases in which everything is spelled so that a gate which parses
/// and prints it changes it.
pub const FIDELITY: &str = "fidelity";

/// How many contradicting cases are named.
const MOST_AGAINST: usize = 5;

fn count<'a>(what: &'static str, all: bool, cases: impl Iterator<Item = (&'a Record, bool)>) -> Seen {
    let mut seen = Seen { what, rate: Rate::default(), all, against: Vec::new() };
    for (record, hit) in cases {
        seen.rate.count(hit);
        if hit != all && seen.against.len() < MOST_AGAINST {
            let reason = record.verdict.as_ref().and_then(|verdict| verdict.reasons.first());
            let reason = reason.or(record.untested.as_ref()).map(|reason| format!(" ({reason})"));
            let status = record.status().as_str();
            seen.against.push(format!("{}: {status}{}", record.case.id, reason.unwrap_or_default()));
        }
    }
    seen
}

/// What tells a trial from others of its arm.
type Key<'a> = (&'a str, transport::Kind, Revision);

fn key(record: &Record) -> Key<'_> {
    (record.case.id.as_str(), record.transport, record.revision)
}

/// Where a record counts: the transports apart from home are looked at alone.
fn via(record: &Record) -> &'static str {
    if record.transport == record.case.home() { "home" } else { record.transport.as_str() }
}

/// The reference gate and the control gates that were played, each against its
/// known answer.
pub fn controls(records: &[Record]) -> Vec<Examined> {
    let guarded = records.iter().filter(|record| record.arm == Arm::Guarded);
    let measure: BTreeMap<Key<'_>, &Record> = guarded.map(|record| (key(record), record)).collect();
    let arms = [Arm::Guarded].into_iter().chain(Control::ALL.map(Arm::Control));
    let mut out = Vec::new();
    for arm in arms {
        for place in ["home", "memory", "stdio", "http"] {
            let of_arm: Vec<_> = records.iter().filter(|record| record.arm == arm && via(record) == place).collect();
            if of_arm.is_empty() {
                continue;
            }
            let (expected, seen) = match arm {
                Arm::Control(control) => answer(control, &of_arm, &measure),
                _ => ("passes every must case", vec![must_pass(&of_arm)]),
            };
            let holds = seen.iter().all(Seen::holds);
            out.push(Examined { gate: arm.to_string(), via: place, expected, seen, holds });
        }
    }
    out
}

fn passes(record: &Record) -> bool {
    record.status() == Status::Pass
}

fn must_pass(records: &[&Record]) -> Seen {
    let must = records.iter().filter(|record| record.case.body.level == Level::Must);
    count("passed", true, must.map(|record| (*record, passes(record))))
}

/// A control gate's known answer, and what was seen.
fn answer(control: Control, records: &[&Record], measure: &BTreeMap<Key<'_>, &Record>) -> (&'static str, Vec<Seen>) {
    let each = || records.iter().copied();
    let of = |kind| each().filter(move |record| record.case.body.kind == kind);
    let known = || each().filter_map(|record| Some((record, *measure.get(&key(record))?)));
    match control {
        Control::PassThrough => {
            let succeeds = |record: &Record| record.verdict.as_ref().is_some_and(|verdict| verdict.harmed);
            (
                "stops no attack, serves the rest",
                vec![
                    count("attacks succeed", true, of(Kind::Attack).map(|record| (record, succeeds(record)))),
                    count("honest served", true, of(Kind::Benign).map(|record| (record, passes(record)))),
                ],
            )
        }
        Control::Retyping => {
            let spelled = of(Kind::Benign).filter(|record| record.case.id.category() == FIDELITY);
            (
                "fails wherever bytes count",
                vec![count("fidelity passed", false, spelled.map(|record| (record, passes(record))))],
            )
        }
        Control::DenyAll => {
            let useful = each().filter(|record| !record.case.body.expect.utility.is_empty());
            (
                "serves nothing",
                vec![
                    count("honest served", false, of(Kind::Benign).map(|record| (record, passes(record)))),
                    count("with a use passed", false, useful.map(|record| (record, passes(record)))),
                ],
            )
        }
        Control::Dead | Control::CannedYes | Control::Hanging => {
            let stopped = |record: &Record| record.verdict.as_ref().is_some_and(|verdict| verdict.stopped);
            (
                "passes nothing",
                vec![
                    count("passed", false, each().map(|record| (record, passes(record)))),
                    count("attacks stopped", false, of(Kind::Attack).map(|record| (record, stopped(record)))),
                ],
            )
        }
        Control::Leaky => {
            let due = known().filter(|(_, guarded)| denied_before(guarded));
            (
                "found wherever a denial was due",
                vec![count("leaks found", true, due.map(|(record, _)| (record, is_caught_leaking(record))))],
            )
        }
        Control::Mute => {
            let due = known().filter(|(_, guarded)| denied_before(guarded));
            (
                "fails wherever a denial was due",
                vec![count("passed", false, due.map(|(record, _)| (record, passes(record))))],
            )
        }
        Control::WrongReason => {
            let stopped = of(Kind::Attack).filter(|record| record.attribution().is_some());
            let as_named = |record: &Record| record.attribution() == Some(Attribution::AsNamed);
            let verdict = |record: &Record| {
                record.verdict.as_ref().map(|verdict| (verdict.status, verdict.outcome, verdict.stopped))
            };
            (
                "decides as guarded, none as named",
                vec![
                    count("stopped as named", false, stopped.map(|record| (record, as_named(record)))),
                    count(
                        "same verdict",
                        true,
                        known().map(|(record, guarded)| (record, verdict(record) == verdict(guarded))),
                    ),
                ],
            )
        }
    }
}

/// Whether a request had to be denied before the server in this case, and was.
pub fn denied_before(guarded: &Record) -> bool {
    let due = guarded.case.body.expect.refusal.as_ref().is_some_and(|refusal| refusal.stage == Stage::Request);
    let refused = guarded.verdict.as_ref().and_then(|verdict| verdict.refused_well) == Some(true);
    due && refused && passes(guarded)
}

fn is_caught_leaking(record: &Record) -> bool {
    record.verdict.as_ref().is_some_and(|verdict| verdict.status == Status::Fail && verdict.requests_for_denied > 0)
}

/// A mutant and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mutant {
    /// The arm.
    pub gate: String,
    /// The first case of level must that it fails and the reference gate passes.
    pub killed_by: Option<String>,
    /// How many such cases were played.
    pub tried: usize,
}

/// The cases that may kill a mutant, as indices into `guarded`, the likeliest first.
///
/// Where a check no longer acts, attacks that it stopped: alone, and named by the
/// case, before others. Where it acts too much, the honest twins of the attacks
/// that it is named for.
pub fn candidates(guarded: &[Record], mutation: Mutation, check: CheckId) -> Vec<usize> {
    let good = |record: &Record| record.case.body.level == Level::Must && passes(record);
    let named = |record: &Record| record.case.body.by.as_deref() == Some(check.as_str());
    let all = || guarded.iter().enumerate().filter(|(_, record)| good(record));
    match mutation {
        Mutation::Blind | Mutation::Hollow => {
            let acted = |record: &Record| record.stopped_by.iter().any(|by| by == check.as_str());
            let attacks = all().filter(|(_, record)| record.case.body.kind == Kind::Attack && acted(record));
            let mut found: Vec<_> =
                attacks.map(|(index, record)| (record.stopped_by.len(), !named(record), index)).collect();
            found.sort_unstable();
            found.into_iter().map(|(.., index)| index).collect()
        }
        Mutation::Zealous => {
            let twins: Vec<_> = guarded
                .iter()
                .filter(|record| named(record))
                .filter_map(|record| record.case.body.twin.as_ref())
                .map(CaseId::base)
                .collect();
            let honest = all().filter(|(_, record)| record.case.body.kind == Kind::Benign);
            honest.filter(|(_, record)| twins.contains(&record.case.id.base())).map(|(index, _)| index).collect()
        }
    }
}

/// Whether this trial of a mutant shows that it is one: it fails what the
/// reference gate passes. What can't be judged shows nothing.
pub fn kills(record: &Record) -> bool {
    record.status() == Status::Fail
}
