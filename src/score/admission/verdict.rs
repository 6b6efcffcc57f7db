//! The verdict: ADMIT, ADMIT WITH WAIVERS, or HOLD with every reason for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::Serialize;

use super::{Baseline, Day, Reason, Waiver, Waivers, Why};
use crate::{
    case::{Case, Kind, Level},
    judge::{Outcome, Status},
    plan::{Arm, Suite},
    score::{Cost, Record, Standing},
    transport,
};

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Every must case passed.
    #[serde(rename = "ADMIT")]
    Admit,
    /// Every must case passed, but for those that somebody answers for.
    #[serde(rename = "ADMIT WITH WAIVERS")]
    AdmitWithWaivers,
    /// Not now.
    #[serde(rename = "HOLD")]
    Hold,
}

impl Verdict {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "ADMIT",
            Self::AdmitWithWaivers => "ADMIT WITH WAIVERS",
            Self::Hold => "HOLD",
        }
    }
}

/// What is too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Honest cases, of any level, that the gate may get wrong.
    pub false_alarms: usize,
    /// How much it may add to a call at the 99th percentile, on every transport.
    pub added_p99: Option<Duration>,
}

/// Everything that the verdict is made of.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The corpus.
    pub suite: &'a Suite,
    /// The arm that is judged.
    pub arm: Arm,
    /// Every trial that was played, those of the control arm among them.
    pub records: &'a [Record],
    /// Whether only a shard of the cases was meant.
    pub is_shard: bool,
    /// What calls cost.
    pub costs: &'a [Cost],
    /// An earlier run, if there is one.
    pub baseline: Option<&'a Baseline>,
    /// Failures that somebody answers for.
    pub waivers: &'a Waivers,
    /// The day on which this is decided.
    pub today: Day,
    /// What is too much.
    pub limits: Limits,
}

/// A failure that was waived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waived {
    /// The case.
    pub case: String,
    /// What it came to.
    pub what: String,
    /// Why it may.
    pub reason: String,
    /// Who answers for it.
    pub owner: String,
    /// The last day on which it may.
    pub expires: String,
}

/// The verdict on a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Admission {
    /// What comes of it.
    pub verdict: Verdict,
    /// The arm that was judged.
    pub arm: String,
    /// Must cases of the corpus: those that passed wherever they were played.
    pub must_passed: usize,
    /// Of so many.
    pub must_total: usize,
    /// Everything that stands in its way, the worst first; empty for ADMIT.
    pub reasons: Vec<Reason>,
    /// What was waived.
    pub waived: Vec<Waived>,
}

/// Decides, in this order: HOLD without a verdict on the gate if a control failed,
/// a shard is missing, digests differ, there is no must case, or one is blocked or
/// untested (no waiver makes up for what was not selected or could not be judged;
/// one may cover what can't be played on this gate);
/// HOLD on any must failure that is not waived, any leak, a limit exceeded, a must
/// regression, or a waiver that holds no more; else ADMIT WITH WAIVERS, or ADMIT.
pub fn admission(evidence: &Evidence<'_>) -> Admission {
    let cases = cases(evidence);
    let mut reasons = controls(evidence);
    reasons.extend(scope(evidence, cases.len()));
    let mut waived = Vec::new();
    let mut used = BTreeSet::new();
    let mut passed = 0;
    for (id, trials) in &cases {
        let Some(reason) = of_case(id, trials, evidence) else {
            passed += 1;
            continue;
        };
        let covering = || evidence.waivers.0.iter().filter(|waiver| waiver.covers(id));
        used.extend(covering().map(|waiver| waiver.id.as_str()));
        let may_waive = reason.why != Why::Blocked && unplayed(trials, evidence).is_empty();
        match covering().find(|waiver| may_waive && waiver.expires >= evidence.today) {
            Some(waiver) => waived.push(of_waiver(waiver, &reason)),
            None => reasons.push(reason),
        }
    }
    reasons.extend(leaks(evidence));
    reasons.extend(limits(evidence));
    reasons.extend(regressions(evidence, &cases));
    reasons.extend(evidence.waivers.0.iter().filter_map(|waiver| odd(waiver, evidence, &used)));
    reasons.sort_by_key(|reason| reason.why);
    let verdict = match (reasons.is_empty(), waived.is_empty()) {
        (false, _) => Verdict::Hold,
        (true, false) => Verdict::AdmitWithWaivers,
        (true, true) => Verdict::Admit,
    };
    let must_total = cases.len();
    Admission { verdict, arm: evidence.arm.to_string(), must_passed: passed, must_total, reasons, waived }
}

/// Every must case of the corpus, with the trials of the judged arm: none, where it
/// was not selected.
fn cases<'a>(evidence: &Evidence<'a>) -> BTreeMap<&'a str, (&'a Case, Vec<&'a Record>)> {
    let is_must = |case: &Case| case.body.level == Level::Must;
    let all = evidence.suite.cases.iter().map(|prepared| &*prepared.case).filter(|case| is_must(case));
    let mut cases: BTreeMap<_, _> = all.map(|case| (case.id.as_str(), (case, Vec::new()))).collect();
    for record in evidence.records.iter().filter(|record| record.arm == evidence.arm) {
        if let Some((_, trials)) = cases.get_mut(record.case.id.as_str()) {
            trials.push(record);
        }
    }
    cases
}

/// With nothing in the way, attacks succeed and honest work works.
fn controls(evidence: &Evidence<'_>) -> Vec<Reason> {
    let controls = evidence.records.iter().filter(|record| record.arm.is_open());
    let must = controls.filter(|record| record.case.body.level == Level::Must);
    let odd = must.filter(|record| record.standing() != Standing::AsExpected && record.untested.is_none());
    odd.map(|record| Reason {
        why: Why::Control,
        case: record.case.id.to_string(),
        transports: vec![record.transport.as_str()],
        what: format!(
            "under {} it does not come out as it must where nothing stands in the way: {}",
            record.arm,
            words(record)
        ),
        next: "the harness, the case or this machine is at fault: `gateproof lint` says more".to_owned(),
    })
    .collect()
}

/// The transports that a must case is for and was not played on. A gate of somebody
/// else's has but the one that it is reached over.
fn unplayed((case, trials): &(&Case, Vec<&Record>), evidence: &Evidence<'_>) -> Vec<&'static str> {
    let due = match &evidence.suite.outside {
        Some(gate) => vec![gate.front()],
        None => case.body.transports.clone(),
    };
    let was_played = |kind: transport::Kind| trials.iter().any(|record| record.transport == kind);
    due.into_iter().filter(|kind| !was_played(*kind)).map(transport::Kind::as_str).collect()
}

fn scope(evidence: &Evidence<'_>, must_total: usize) -> Vec<Reason> {
    let reason = |why, what: String, next: &str| Reason {
        why,
        case: String::new(),
        transports: Vec::new(),
        what,
        next: next.to_owned(),
    };
    let mut reasons = Vec::new();
    if evidence.is_shard {
        let what = "only one shard of the cases was played".to_owned();
        reasons.push(reason(Why::Shard, what, "play all of them in one run, without --partition"));
    }
    if must_total == 0 {
        let what = "the corpus has no must case, so nothing speaks for the gate".to_owned();
        reasons.push(reason(Why::Untested, what, "name a corpus that has some (--corpus)"));
    }
    let corpus = evidence.suite.digest();
    if let Some(baseline) = evidence.baseline.filter(|baseline| !baseline.is_of(corpus)) {
        let short = |digest: &str| digest.get(..12).unwrap_or(digest).to_owned();
        let what = format!(
            "the baseline is of the corpus {}, this is {}: the same ids need not mean the same",
            short(&baseline.corpus),
            short(&corpus.to_string())
        );
        reasons.push(reason(Why::Digest, what, "make the baseline anew with this corpus"));
    }
    reasons
}

/// What a must case came to; `None` where it passed wherever it was played.
fn of_case(id: &str, known: &(&Case, Vec<&Record>), evidence: &Evidence<'_>) -> Option<Reason> {
    let (case, trials) = known;
    let look = format!("`gateproof explain {id}` tells what it is about");
    let missing = || {
        let transports = unplayed(known, evidence);
        (!transports.is_empty()).then(|| Reason {
            why: Why::Untested,
            case: id.to_owned(),
            transports: if trials.is_empty() { Vec::new() } else { transports },
            what: "it was not selected".to_owned(),
            next: "play it: leave filters and --transport out".to_owned(),
        })
    };
    let of = |status: Status| trials.iter().filter(move |record| record.status() == status).copied();
    // A failure weighs more than what is not known.
    let found = [(Why::Failed, Status::Fail), (Why::Blocked, Status::Blocked), (Why::Untested, Status::Untested)]
        .into_iter()
        .map(|(why, status)| (why, of(status).collect::<Vec<_>>()))
        .find(|(_, found)| !found.is_empty());
    let Some((why, found)) = found else { return missing() };
    let next = match (why, case.body.kind, case.body.by.as_deref()) {
        (Why::Failed, Kind::Attack, Some(by)) => {
            format!("the gate must stop it, as {by} would (`gateproof explain {by}`); {look}")
        }
        (Why::Failed, Kind::Attack, None) => format!("the gate must stop it; {look}"),
        (Why::Failed, ..) => format!("the gate must let it through; {look}"),
        (Why::Blocked, ..) => "what failed in the set-up must work; then it can be judged".to_owned(),
        _ => "it must be playable on this gate, or be waived".to_owned(),
    };
    let mut transports: Vec<_> = found.iter().map(|record| record.transport.as_str()).collect();
    transports.dedup();
    let what = found.first().map(|record| words(record)).unwrap_or_default();
    Some(Reason { why, case: id.to_owned(), transports, what, next })
}

/// Why a trial did not pass, in one line.
fn words(record: &Record) -> String {
    let judged = record.verdict.as_ref().and_then(|verdict| verdict.reasons.first().cloned());
    let nothing = || match record.case.body.kind {
        Kind::Attack if record.arm.is_open() => "the attack does not succeed".to_owned(),
        _ => "no reason is known".to_owned(),
    };
    judged.or_else(|| record.untested.clone()).unwrap_or_else(nothing)
}

fn of_waiver(waiver: &Waiver, reason: &Reason) -> Waived {
    Waived {
        case: reason.case.clone(),
        what: format!("{}: {}", reason.why.as_str(), reason.what),
        reason: waiver.reason.clone(),
        owner: waiver.owner.clone(),
        expires: waiver.expires.to_string(),
    }
}

/// No waiver covers a leak: a gate that says no and sends the request on lies.
fn leaks(evidence: &Evidence<'_>) -> Vec<Reason> {
    let judged = evidence.records.iter().filter(|record| record.arm == evidence.arm);
    let leaked =
        judged.filter(|record| record.verdict.as_ref().is_some_and(|verdict| verdict.outcome == Outcome::Leaked));
    let mut by_case: BTreeMap<&str, BTreeSet<&'static str>> = BTreeMap::new();
    for record in leaked {
        by_case.entry(record.case.id.as_str()).or_default().insert(record.transport.as_str());
    }
    let reason = |(id, transports): (&str, BTreeSet<_>)| Reason {
        why: Why::Leak,
        case: id.to_owned(),
        transports: transports.into_iter().collect(),
        what: "the client was told no, and the server got the request all the same".to_owned(),
        next: "what the gate denies must not be sent on; a leak can't be waived".to_owned(),
    };
    by_case.into_iter().map(reason).collect()
}

fn limits(evidence: &Evidence<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let judged = || evidence.records.iter().filter(|record| record.arm == evidence.arm);
    let alarms: BTreeSet<&str> = judged()
        .filter(|record| record.case.body.kind == Kind::Benign && record.status() == Status::Fail)
        .map(|record| record.case.id.as_str())
        .collect();
    if alarms.len() > evidence.limits.false_alarms {
        let names: Vec<_> = alarms.iter().copied().take(3).collect();
        reasons.push(Reason {
            why: Why::Limit,
            case: String::new(),
            transports: Vec::new(),
            what: format!(
                "honest cases that are not served: {}, allowed: {} ({}{})",
                alarms.len(),
                evidence.limits.false_alarms,
                names.join(", "),
                if alarms.len() > names.len() { ", …" } else { "" }
            ),
            next: "the gate must let honest work through, or the limit be raised (--max-false-alarms)".to_owned(),
        });
    }
    let Some(limit) = evidence.limits.added_p99 else { return reasons };
    let wanted = i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX);
    let mut measured = false;
    for cost in evidence.costs.iter().filter(|cost| cost.arm == evidence.arm) {
        let Some(added) = &cost.added else { continue };
        measured = true;
        if added.p99 > wanted {
            #[expect(clippy::cast_precision_loss, reason = "for people")]
            let millis = added.p99 as f64 / 1e6;
            reasons.push(Reason {
                why: Why::Limit,
                case: String::new(),
                transports: vec![cost.transport.as_str()],
                what: format!("a call takes {millis:.2} ms longer at the 99th percentile, {limit:?} is allowed"),
                next: "the gate must become faster, or the limit be raised (--max-added-p99)".to_owned(),
            });
        }
    }
    if !measured {
        reasons.push(Reason {
            why: Why::Untested,
            case: String::new(),
            transports: Vec::new(),
            what: "what a call costs could not be measured, and there is a limit on it".to_owned(),
            next: "play honest cases that call something, in this arm and in naive".to_owned(),
        });
    }
    reasons
}

fn regressions(evidence: &Evidence<'_>, cases: &BTreeMap<&str, (&Case, Vec<&Record>)>) -> Vec<Reason> {
    let corpus = evidence.suite.digest();
    let Some(baseline) = evidence.baseline.filter(|baseline| baseline.is_of(corpus)) else { return Vec::new() };
    let got_worse = cases.iter().filter(|(id, (_, trials))| {
        let now = !trials.is_empty() && trials.iter().all(|record| record.status() == Status::Pass);
        !now && baseline.passed.get(**id) == Some(&true)
    });
    got_worse
        .map(|(id, _)| Reason {
            why: Why::Regression,
            case: (*id).to_owned(),
            transports: Vec::new(),
            what: "it passed in the baseline".to_owned(),
            next: "see what changed in the gate since; a regression can't be waived".to_owned(),
        })
        .collect()
}

/// A waiver that does not hold, or that nothing needs.
fn odd(waiver: &Waiver, evidence: &Evidence<'_>, used: &BTreeSet<&str>) -> Option<Reason> {
    let reason = |what: String, next: &str| {
        Some(Reason { why: Why::Waiver, case: waiver.id.clone(), transports: Vec::new(), what, next: next.to_owned() })
    };
    if waiver.expires < evidence.today {
        return reason(
            format!("the waiver of {} has expired on {}", waiver.owner, waiver.expires),
            "mend the failure, or renew the waiver",
        );
    }
    if used.contains(waiver.id.as_str()) {
        return None;
    }
    let is_must = evidence
        .suite
        .cases
        .iter()
        .any(|known| waiver.covers(known.case.id.as_str()) && known.case.body.level == Level::Must);
    if !is_must {
        return reason("it waives a case below must level, which holds nothing up".to_owned(), "delete the waiver");
    }
    reason(format!("stale: what {} waives passes", waiver.owner), "delete the waiver")
}
