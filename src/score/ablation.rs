//! What each check is worth: leave it out, or leave it alone.

use serde::Serialize;

use super::{
    Rate, Record,
    scorecard::{alarms_in, scorecard, stopped_in},
};
use crate::{
    gate::{CheckId, checks},
    plan::Arm,
    transport,
};

/// One check's part, on one transport.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ablation {
    /// The check.
    pub check: &'static str,
    /// On what.
    pub transport: transport::Kind,
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

/// The ablation of every check whose two arms were played on `transport`.
pub fn ablation(records: &[Record], transport: transport::Kind) -> Vec<Ablation> {
    let guarded = stopped_in(records, Arm::Guarded, transport);
    let alarms = alarms_in(records, Arm::Guarded, transport);
    checks::ALL.iter().filter_map(|check| row(records, transport, check.docs().id, &guarded, &alarms)).collect()
}

fn row(
    records: &[Record],
    transport: transport::Kind,
    check: CheckId,
    guarded: &std::collections::BTreeSet<&str>,
    alarms: &std::collections::BTreeSet<&str>,
) -> Option<Ablation> {
    let without = scorecard(records, Arm::Without(check), transport);
    let only = scorecard(records, Arm::Only(check), transport);
    if without.attacks.total == 0 || only.attacks.total == 0 {
        return None;
    }
    let stopped_without = stopped_in(records, Arm::Without(check), transport);
    let stopped_alone = stopped_in(records, Arm::Only(check), transport);
    let lost: Vec<_> = guarded.difference(&stopped_without).copied().collect();
    let alarms_without = alarms_in(records, Arm::Without(check), transport);
    Some(Ablation {
        check: check.as_str(),
        transport,
        without: without.attacks,
        change: lost.len(),
        only: only.attacks,
        exclusive: lost.into_iter().filter(|id| stopped_alone.contains(id)).map(str::to_owned).collect(),
        exclusive_alarms: alarms.difference(&alarms_without).map(|id| (*id).to_owned()).collect(),
    })
}
