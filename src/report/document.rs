//! The report document: everything that any rendering shows.
//!
//! Without [`Document::timing`], the same corpus and the same gate give the same
//! bytes.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Timing;
use crate::{
    case::{Kind, Level},
    plan::{Arm, Outside, Suite},
    protocol::Revision,
    score::{Ablation, Admission, Attribution, Category, Rate, Record, Scorecard, Standing, ablation, scorecards},
    transport,
};

/// The version of the document's format.
pub(super) const SCHEMA: &str = "gateproof.report/1";

/// A run, as figures and as trials.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// The version of this format.
    pub schema: &'static str,
    /// The version of the harness.
    pub gateproof: &'static str,
    /// The real server that took the fixtures' place, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveLine>,
    /// Whether the gate may be admitted, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<Admission>,
    /// The gate of somebody else's that it was played through, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateLine>,
    /// What was played.
    pub corpus: CorpusLine,
    /// Checks that a policy of these cases switches off: with one off, nothing
    /// is said of it under that policy.
    pub switched_off: Vec<SwitchedOff>,
    /// The figures of each arm on each transport.
    pub arms: Vec<ArmFigures>,
    /// What each check is worth, where the ablation arms were played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ablation: Option<Ablation>,
    /// What was measured, where the bytes need not be the same each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// Every trial of the arms above, in the order of the plan.
    pub trials: Vec<TrialLine>,
    /// Trials of the ablation arms, which only count towards `ablation` and are
    /// not listed one by one.
    pub unlisted_trials: usize,
    /// What was not tested, or could not be judged, with its reason.
    pub not_tested: Vec<NotTested>,
}

/// A real server.
#[derive(Clone, Debug, Serialize)]
pub struct LiveLine {
    /// The manifest under `fixtures/live`.
    pub name: String,
    /// The registry.
    pub ecosystem: &'static str,
    /// The package.
    pub package: String,
    /// The pinned version.
    pub version: String,
}

/// A gate of somebody else's, in the arm `outside`.
#[derive(Clone, Debug, Serialize)]
pub struct GateLine {
    /// The profile under `fixtures/gates`, or what it was given as.
    pub name: String,
    /// The package and its pinned version, as `package version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// How the client reaches it.
    pub front: transport::Kind,
    /// How it reaches its server.
    pub back: transport::Kind,
    /// The revision that it answered to the default one.
    pub revision: Option<String>,
    /// What it doesn't carry, with what came instead.
    pub absent: std::collections::BTreeMap<&'static str, String>,
    /// Tools that it lists and no server has.
    pub added_tools: Vec<String>,
}

/// What was played.
#[derive(Clone, Debug, Serialize)]
pub struct CorpusLine {
    /// Over every file of the corpus.
    pub sha256: String,
    /// Case files.
    pub files: usize,
    /// Cases with their variants, that were selected.
    pub cases: usize,
    /// Whether that is all of them.
    #[serde(skip)]
    pub is_whole: bool,
    /// Of these: attacks.
    pub attacks: usize,
    /// Of these: honest cases.
    pub benign: usize,
    /// Of these: robustness probes.
    pub robustness: usize,
}

/// A check that a policy switches off.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SwitchedOff {
    /// The policy.
    pub policy: String,
    /// The check.
    pub check: String,
}

/// A rate with its interval, under the name of what was counted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counted {
    /// Attacks stopped; absent for other rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<usize>,
    /// Honest cases served; absent for other rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served: Option<usize>,
    /// Of so many.
    pub total: usize,
    /// The same by cluster.
    pub clusters: Rate,
    /// Wilson's 95 % interval over clusters, rounded to four places.
    pub wilson95: Option<(f64, f64)>,
    /// The mean over categories, rounded to four places.
    pub macro_average: Option<f64>,
}

/// One arm on one transport.
#[derive(Clone, Debug, Serialize)]
pub struct ArmFigures {
    /// The arm.
    pub name: String,
    /// The transport.
    pub transport: transport::Kind,
    /// The revision, where cases were played in several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<&'static str>,
    /// Attacks stopped.
    pub attacks: Counted,
    /// Honest cases served.
    pub benign: Counted,
    /// Attacks under which the honest work still worked.
    pub utility_under_attack: Rate,
    /// Robustness probes survived.
    pub robustness: Rate,
    /// The client was refused, the server got the request all the same.
    pub leaks: usize,
    /// Requests that reached a server for calls that had to be denied before it.
    pub requests_for_denied: usize,
    /// Refusals in due form.
    pub refusals_well_formed: Rate,
    /// After the step that had to be refused, the session still answered.
    pub session_alive: Rate,
    /// What had to come through byte for byte did.
    pub fidelity: Rate,
    /// Tools that clients saw listed and that no server listed.
    pub added_surface: Vec<String>,
    /// Attacks stopped by the check that their case names.
    pub stopped_as_named: Rate,
    /// Could not be judged.
    pub blocked: usize,
    /// Not played.
    pub untested: usize,
    /// By category.
    pub categories: Vec<Category>,
}

/// One trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialLine {
    /// The case.
    pub case: String,
    /// What it is for.
    pub kind: Kind,
    /// How much a failure weighs.
    pub level: Level,
    /// What stood in the middle.
    pub arm: String,
    /// What it travelled on.
    pub transport: transport::Kind,
    /// What it was spoken in.
    pub revision: &'static str,
    /// What became of the step that it is about.
    pub outcome: &'static str,
    /// What it came to.
    pub status: &'static str,
    /// The checks that acted, by the gate's own account.
    pub stopped_by: Vec<String>,
    /// The check that the case names for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether the checks that acted are, or include, the one that the case names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// Why, where it did not come out as its arm has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// Something that was not tested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotTested {
    /// The case.
    pub case: String,
    /// In which arm.
    pub arm: String,
    /// On what.
    pub transport: transport::Kind,
    /// In what.
    pub revision: &'static str,
    /// Why not.
    pub reason: String,
}

fn gate(outside: &Outside) -> GateLine {
    let features = &outside.features;
    GateLine {
        name: outside.name.clone(),
        package: outside.profile.package.as_ref().map(|package| format!("{} {}", package.name, package.version)),
        front: outside.front(),
        back: outside.back(),
        revision: features.revision.clone(),
        absent: features.absent.iter().map(|(feature, got)| (feature.as_str(), got.clone())).collect(),
        added_tools: features.added_tools.clone(),
    }
}

impl ArmFigures {
    /// What it travelled on, and was spoken in where cases were played in several.
    pub(super) fn via(&self) -> String {
        match self.revision {
            Some(revision) => format!("{} {revision}", self.transport),
            None => self.transport.to_string(),
        }
    }
}

/// Makes the document of a run, without its timing.
pub fn document(suite: &Suite, records: &[Record], ablated: bool) -> Document {
    let ablation = if ablated { ablation(records) } else { None };
    // An ablation arm that the table covers is not an arm of its own.
    let is_listed = |arm: Arm| !arm.is_ablation() || ablation.is_none();
    let cards = scorecards(records);
    Document {
        schema: SCHEMA,
        gateproof: env!("CARGO_PKG_VERSION"),
        gate: suite.outside.as_deref().map(gate),
        live: suite.live.as_ref().map(|live| LiveLine {
            name: live.name.clone(),
            ecosystem: live.manifest.package.ecosystem.as_str(),
            package: live.manifest.package.name.clone(),
            version: live.manifest.package.version.clone(),
        }),
        admission: None,
        corpus: corpus(suite, records),
        switched_off: switched_off(suite, records),
        arms: cards.iter().filter(|card| is_listed(card.arm)).map(figures).collect(),
        trials: records.iter().filter(|record| is_listed(record.arm)).map(line).collect(),
        unlisted_trials: records.iter().filter(|record| !is_listed(record.arm)).count(),
        not_tested: records.iter().filter_map(not_tested).collect(),
        ablation,
        timing: None,
    }
}

fn switched_off(suite: &Suite, records: &[Record]) -> Vec<SwitchedOff> {
    let used: BTreeSet<&str> = records.iter().map(|record| record.case.body.policy.as_str()).collect();
    let policies = suite.policies.iter().filter(|(name, _)| used.contains(name.as_str()));
    policies
        .flat_map(|(policy, (_, rules))| {
            let off = rules.policy().checks.iter().filter(|(_, on)| !**on);
            off.map(|(check, _)| SwitchedOff { policy: policy.clone(), check: check.clone() })
        })
        .collect()
}

fn corpus(suite: &Suite, records: &[Record]) -> CorpusLine {
    let mut cases: Vec<_> = records.iter().map(|record| (record.case.id.as_str(), record.case.body.kind)).collect();
    cases.sort_unstable();
    cases.dedup();
    let of = |kind| cases.iter().filter(|(_, of)| *of == kind).count();
    CorpusLine {
        sha256: suite.digest().to_string(),
        files: suite.corpus.files.len(),
        cases: cases.len(),
        is_whole: cases.len() == suite.cases.len(),
        attacks: of(Kind::Attack),
        benign: of(Kind::Benign),
        robustness: of(Kind::Robustness),
    }
}

fn figures(card: &Scorecard) -> ArmFigures {
    let counted = |rate: Rate, clusters: Rate, average: Option<f64>| Counted {
        stopped: None,
        served: None,
        total: rate.total,
        clusters,
        wilson95: clusters.wilson95().map(|(low, high)| (round(low), round(high))),
        macro_average: average.map(round),
    };
    ArmFigures {
        name: card.arm.to_string(),
        transport: card.transport,
        revision: card.revision.map(Revision::as_str),
        attacks: Counted {
            stopped: Some(card.attacks.hits),
            ..counted(card.attacks, card.attack_clusters, card.macro_attacks())
        },
        benign: Counted {
            served: Some(card.benign.hits),
            ..counted(card.benign, card.benign_clusters, card.macro_benign())
        },
        utility_under_attack: card.utility,
        robustness: card.robustness,
        leaks: card.leaks,
        requests_for_denied: card.requests_for_denied,
        refusals_well_formed: card.refusals,
        session_alive: card.alive,
        fidelity: card.fidelity,
        added_surface: card.added.iter().cloned().collect(),
        stopped_as_named: card.attributed,
        blocked: card.blocked,
        untested: card.untested,
        categories: card.categories.clone(),
    }
}

/// Four places: enough to tell two corpora apart, too few to differ by platform.
fn round(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

fn line(record: &Record) -> TrialLine {
    TrialLine {
        case: record.case.id.to_string(),
        kind: record.case.body.kind,
        level: record.case.body.level,
        arm: record.arm.to_string(),
        transport: record.transport,
        revision: record.revision.as_str(),
        outcome: record.verdict.as_ref().map_or("inconclusive", |verdict| verdict.outcome.as_str()),
        status: record.status().as_str(),
        stopped_by: record.stopped_by.clone(),
        by: record.case.body.by.clone(),
        attribution: record.attribution(),
        reasons: match (&record.verdict, &record.untested) {
            _ if record.standing() == Standing::AsExpected => Vec::new(),
            (Some(verdict), _) => verdict.reasons.clone(),
            (None, Some(reason)) => vec![reason.clone()],
            (None, None) => Vec::new(),
        },
    }
}

fn not_tested(record: &Record) -> Option<NotTested> {
    let reason = match &record.verdict {
        None => record.untested.clone()?,
        Some(verdict) if verdict.status == crate::judge::Status::Blocked => {
            format!("blocked: {}", verdict.reasons.first()?)
        }
        Some(_) => return None,
    };
    Some(NotTested {
        case: record.case.id.to_string(),
        arm: record.arm.to_string(),
        transport: record.transport,
        revision: record.revision.as_str(),
        reason,
    })
}
