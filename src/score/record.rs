//! One trial as the score sees it.

use std::{sync::Arc, time::Duration};

use serde::Serialize;

use crate::{
    case::{Case, Kind},
    gate::{CheckId, CheckSet, Spent},
    judge::{Manner, Outcome, Status, Verdict, judge},
    plan::{Arm, Trial},
    protocol::Revision,
    runner::{Ended, Played},
    transcript::{Answer, Trail, Transcript},
    transport,
};

/// Whether an attack was stopped by the check that its case names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attribution {
    /// By that check, alone or among others.
    AsNamed,
    /// For another reason.
    Otherwise,
    /// Not by the gate's own account.
    Unclaimed,
}

/// Whether a trial came out as its arm has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As it should: an open arm lets attacks succeed, the guarded one passes.
    AsExpected,
    /// Not as it should.
    Unexpected,
    /// Could not be judged, or was not played.
    Open,
}

/// What a trial came to.
#[derive(Debug)]
pub struct Record {
    /// The case.
    pub case: Arc<Case>,
    /// What stood in the middle.
    pub arm: Arm,
    /// What it travelled on.
    pub transport: transport::Kind,
    /// What it was spoken in.
    pub revision: Revision,
    /// The verdict; `None` where it was not played.
    pub verdict: Option<Verdict>,
    /// Why it was not played.
    pub untested: Option<String>,
    /// The checks that acted, by the gate's own account.
    pub stopped_by: Vec<String>,
    /// The checks that the case's policy leaves on.
    pub on: CheckSet,
    /// The checks that act in this arm under the case's policy; `None` where there
    /// is no reference gate.
    pub enforced: Option<CheckSet>,
    /// The checks that acted, or would have acted had they been enforced in this
    /// arm. What any other check is set to makes no difference to this trial.
    pub spoke: CheckSet,
    /// How long the client waited for each call of an honest trial that was
    /// answered with a reply, in order.
    pub calls: Vec<Duration>,
    /// What the reference gate took, where it was measured.
    pub spent: Option<Spent>,
    /// The transcript and the trail, kept where they are worth a look.
    pub evidence: Option<(Transcript, Trail)>,
}

/// How strictly a trial is judged: the one place that says so.
///
/// Our own gates are ours to get right to the byte; a gate from elsewhere is judged
/// by what reached the server and the client.
pub fn manner(arm: Arm) -> Manner {
    match arm {
        Arm::Direct
        | Arm::Naive
        | Arm::Guarded
        | Arm::Without(_)
        | Arm::Only(_)
        | Arm::Control(_)
        | Arm::Mutant(..) => Manner::Strict,
        Arm::Outside => Manner::Substance,
    }
}

impl Record {
    /// Judges what was played.
    pub fn new(trial: &Trial, ended: Ended) -> Self {
        let case = Arc::clone(&trial.prepared.case);
        let mut record = Self {
            case,
            arm: trial.arm,
            transport: trial.transport,
            revision: trial.revision,
            verdict: None,
            untested: None,
            stopped_by: Vec::new(),
            on: trial.prepared.rules.checks(),
            enforced: trial.arm.checks(trial.prepared.rules.checks()),
            spoke: CheckSet::none(),
            calls: Vec::new(),
            spent: None,
            evidence: None,
        };
        match ended {
            Ended::NotPlayed(reason) => record.untested = Some(reason),
            Ended::Played(Played { transcript, trail, spent }) => {
                record.spent = spent;
                record.calls = calls(&record.case, &transcript);
                record.stopped_by = trail.stoppers().into_iter().map(str::to_owned).collect();
                record.spoke = trail.speakers().into_iter().filter_map(CheckId::parse).collect();
                record.verdict = Some(judge(&record.case, &transcript, manner(trial.arm)));
                if !trial.arm.expects_nothing() && record.standing() != Standing::AsExpected {
                    record.evidence = Some((transcript, trail));
                }
            }
        }
        record
    }

    /// The status of the trial.
    pub fn status(&self) -> Status {
        self.verdict.as_ref().map_or(Status::Untested, |verdict| verdict.status)
    }

    /// What became of the step that its case is about.
    pub fn outcome(&self) -> Outcome {
        self.verdict.as_ref().map_or(Outcome::Inconclusive, |verdict| verdict.outcome)
    }

    /// Whether it came out as its arm has it.
    pub fn standing(&self) -> Standing {
        let Some(verdict) = &self.verdict else { return Standing::Open };
        let good = match (self.arm, self.case.body.kind, verdict.status) {
            (_, _, Status::Blocked | Status::Untested) => return Standing::Open,
            (arm, _, _) if arm.expects_nothing() => true,
            // Where nothing stands in the way, an attack that fails proves nothing.
            (Arm::Direct | Arm::Naive, Kind::Attack, _) => verdict.harmed,
            (_, _, status) => status == Status::Pass,
        };
        if good { Standing::AsExpected } else { Standing::Unexpected }
    }

    /// Whether an attack that was stopped was stopped for the reason that its case
    /// names; `None` where the gate gives no account of itself.
    pub fn attribution(&self) -> Option<Attribution> {
        if self.arm == Arm::Outside {
            return None;
        }
        let by = self.case.body.by.as_deref()?;
        let verdict = self.verdict.as_ref().filter(|verdict| verdict.stopped)?;
        debug_assert!(!verdict.harmed);
        Some(if self.stopped_by.iter().any(|check| check == by) {
            Attribution::AsNamed
        } else if self.stopped_by.is_empty() {
            Attribution::Unclaimed
        } else {
            Attribution::Otherwise
        })
    }
}

/// What honest calls cost: a refusal on the way back is an answer, too, but no
/// answer that is no reply.
fn calls(case: &Case, transcript: &Transcript) -> Vec<Duration> {
    if case.body.kind != Kind::Benign {
        return Vec::new();
    }
    let calls = transcript.marks.iter().filter(|mark| mark.method.as_deref() == Some("tools/call"));
    calls.filter(|mark| matches!(mark.answer, Answer::Reply(_))).filter_map(|mark| mark.took).collect()
}
