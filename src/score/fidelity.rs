//! How many honest sessions come through a gate as they are with nothing in the middle.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use crate::{
    case::{Case, CaseId, Kind, Step},
    gate::CheckId,
    judge::{
        Status,
        fidelity::{Change, compare},
        judge,
    },
    plan::{Arm, Trial},
    protocol::{Revision, ServerName},
    runner::{Ended, Played},
    transcript::Act,
    transport,
};

use super::manner;

/// The category of cases whose wire is broken on purpose: what becomes of a broken hop
/// belongs to that hop, so there is nothing to hold against the next one.
const BROKEN: &str = "faults";

/// Whether every byte of an honest session has to come through. Requests that are sent
/// at once over HTTP reach a server in any order, and what it answers may hang on that:
/// two such sessions can't be compared.
pub fn counts(trial: &Trial) -> bool {
    let case = &trial.prepared.case;
    let is_in_order = trial.transport != transport::Kind::Http || !case.body.steps.iter().any(is_together);
    case.body.kind == Kind::Benign && case.id.category() != BROKEN && is_in_order
}

/// What became of a session.
#[derive(Debug)]
pub enum Passage {
    /// Every byte came through.
    Identical,
    /// Something differs, and these checks say that they acted on that server's
    /// messages. What they say explains a change and excuses none.
    ByCheck(Vec<String>, Vec<Change>),
    /// Something differs that no check accounts for.
    Changed(Vec<Change>),
    /// It could not be compared: says why.
    Open(String),
}

/// One honest session, played twice.
#[derive(Debug)]
pub struct Session {
    /// The case.
    pub case: CaseId,
    /// What stood in the middle the second time.
    pub arm: Arm,
    /// What it travelled on.
    pub transport: transport::Kind,
    /// What it was spoken in.
    pub revision: Revision,
    /// Messages that were received with nothing in the middle, on both sides.
    pub messages: usize,
    /// What became of it.
    pub passage: Passage,
}

/// The sessions of an arm on a transport, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// All of them.
    pub sessions: usize,
    /// Messages that were received with nothing in the middle.
    pub messages: usize,
    /// Those that came through byte for byte, both ways.
    pub identical: usize,
    /// Those that a check accounts for.
    pub by_check: usize,
    /// Those with a change that nothing accounts for.
    pub changed: usize,
    /// Those that could not be compared.
    pub open: usize,
}

impl Session {
    /// Holds a trial against the same with nothing in the middle.
    pub fn new(trial: &Trial, direct: &Ended, through: &Ended) -> Self {
        let case = &trial.prepared.case;
        let (messages, passage) = match (direct, through) {
            (Ended::Played(direct), Ended::Played(through)) => passage(trial, direct, through),
            (Ended::NotPlayed(why), _) | (_, Ended::NotPlayed(why)) => (0, Passage::Open(why.clone())),
        };
        let (arm, transport, revision) = (trial.arm, trial.transport, trial.revision);
        Self { case: case.id.clone(), arm, transport, revision, messages, passage }
    }
}

fn passage(trial: &Trial, direct: &Played, through: &Played) -> (usize, Passage) {
    let case: &Arc<Case> = &trial.prepared.case;
    let first = judge(case, &direct.transcript, manner(Arm::Direct));
    if first.status != Status::Pass {
        let why = first.reasons.first().map_or("it fails", String::as_str);
        return (0, Passage::Open(format!("with nothing in the middle: {why}")));
    }
    if let Some(trouble) = through.transcript.trouble() {
        return (0, Passage::Open(trouble.to_owned()));
    }
    // On HTTP each message travels on its own, and steps that are sent together
    // have no order anywhere.
    let in_order = trial.transport != transport::Kind::Http && !case.body.steps.iter().any(is_together);
    let compared = compare(&direct.transcript, &through.transcript, in_order);
    let passage = if compared.changes.is_empty() {
        Passage::Identical
    } else {
        let acted = |server: &ServerName| {
            through.trail.0.iter().any(|entry| entry.server == *server && !matches!(entry.act, Act::Noted | Act::Would))
        };
        if compared.changes.iter().all(|change| acted(&change.server)) {
            let checks = through.trail.stoppers().into_iter().map(str::to_owned).collect();
            Passage::ByCheck(checks, compared.changes)
        } else {
            Passage::Changed(compared.changes)
        }
    };
    (compared.messages, passage)
}

fn is_together(step: &Step) -> bool {
    matches!(step, Step::Together(_)) || step.inner().iter().any(is_together)
}

/// The sessions counted by arm and transport.
pub fn tally(sessions: &[Session]) -> BTreeMap<(Arm, transport::Kind), Tally> {
    let mut out: BTreeMap<_, Tally> = BTreeMap::new();
    for session in sessions {
        let tally = out.entry((session.arm, session.transport)).or_default();
        tally.sessions += 1;
        tally.messages += session.messages;
        match session.passage {
            Passage::Identical => tally.identical += 1,
            Passage::ByCheck(..) => tally.by_check += 1,
            Passage::Changed(_) => tally.changed += 1,
            Passage::Open(_) => tally.open += 1,
        }
    }
    out
}

/// In how many sessions each check accounts for a change, in the order of checks.
pub fn by_check(sessions: &[Session]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for session in sessions {
        if let Passage::ByCheck(checks, _) = &session.passage {
            for check in checks {
                *counts.entry(check).or_default() += 1;
            }
        }
    }
    let mut counts: Vec<_> = counts.into_iter().map(|(check, count)| (check.to_owned(), count)).collect();
    counts.sort_by_key(|(check, _)| CheckId::parse(check));
    counts
}
