//! One trial as the score sees it.

use std::sync::Arc;

use serde::Serialize;

use crate::{
    case::{Case, Kind},
    gate::{CheckId, CheckSet},
    judge::{Status, Verdict, judge},
    plan::{Arm, Trial},
    protocol::Revision,
    runner::{Ended, Played},
    transcript::{Trail, Transcript},
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
    /// The checks that act in this arm under the case's policy; `None` where there
    /// is no reference gate.
    pub enforced: Option<CheckSet>,
    /// The checks that acted, or would have acted had they been enforced in this
    /// arm. What any other check is set to makes no difference to this trial.
    pub spoke: CheckSet,
    /// The transcript and the trail, kept where they are worth a look.
    pub evidence: Option<(Transcript, Trail)>,
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
            enforced: trial.arm.checks(trial.prepared.rules.checks()),
            spoke: CheckSet::none(),
            evidence: None,
        };
        match ended {
            Ended::NotPlayed(reason) => record.untested = Some(reason),
            Ended::Played(Played { transcript, trail }) => {
                record.stopped_by = trail.stoppers().into_iter().map(str::to_owned).collect();
                record.spoke = trail.speakers().into_iter().filter_map(CheckId::parse).collect();
                record.verdict = Some(judge(&record.case, &transcript));
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

    /// Whether an attack that was stopped was stopped for the reason that its case names.
    pub fn attribution(&self) -> Option<Attribution> {
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
