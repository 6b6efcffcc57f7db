//! The figures of one arm on one transport.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Attribution, Rate, Record};
use crate::{
    case::Kind,
    judge::{Outcome, Status},
    plan::Arm,
    protocol::Revision,
    transport,
};

/// One arm on one transport.
#[derive(Clone, Debug, PartialEq)]
pub struct Scorecard {
    /// The arm.
    pub arm: Arm,
    /// The transport.
    pub transport: transport::Kind,
    /// The revision, where cases were played in several.
    pub revision: Option<Revision>,
    /// Attacks that were stopped, of those that could be judged.
    pub attacks: Rate,
    /// The same by cluster: a cluster counts if every variant of it was stopped.
    pub attack_clusters: Rate,
    /// Honest cases that were served.
    pub benign: Rate,
    /// The same by cluster.
    pub benign_clusters: Rate,
    /// Attacks under which the user's honest work still worked.
    pub utility: Rate,
    /// Robustness probes that were survived.
    pub robustness: Rate,
    /// Trials in which the client was refused and the server got the request all the same.
    pub leaks: usize,
    /// Refusals that had the shape that they must have.
    pub refusals: Rate,
    /// Trials in which what had to come through byte for byte did.
    pub fidelity: Rate,
    /// Sessions that still answered after the step that had to be refused.
    pub alive: Rate,
    /// Tools that clients saw listed and that no server listed.
    pub added: BTreeSet<String>,
    /// Requests that reached a server for calls that had to be denied before it.
    pub requests_for_denied: usize,
    /// Attacks stopped by the check that their case names.
    pub attributed: Rate,
    /// Trials that could not be judged.
    pub blocked: usize,
    /// Trials that were not played.
    pub untested: usize,
    /// By category, in order.
    pub categories: Vec<Category>,
}

/// One category of an arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Category {
    /// The first part of the ids.
    pub name: String,
    /// Attacks stopped.
    pub attacks: Rate,
    /// Honest cases served.
    pub benign: Rate,
}

impl Scorecard {
    /// The mean over categories of the share of attacks stopped.
    pub fn macro_attacks(&self) -> Option<f64> {
        mean(self.categories.iter().filter_map(|category| category.attacks.share()))
    }

    /// The mean over categories of the share of honest cases served.
    pub fn macro_benign(&self) -> Option<f64> {
        mean(self.categories.iter().filter_map(|category| category.benign.share()))
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are few categories")]
fn mean(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let shares: Vec<f64> = shares.collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Whether any case was played in several revisions.
fn in_several(records: &[Record]) -> bool {
    let mut first: BTreeMap<&str, Revision> = BTreeMap::new();
    records.iter().any(|record| *first.entry(record.case.id.as_str()).or_insert(record.revision) != record.revision)
}

/// A scorecard for each arm, transport and, where cases were played in several,
/// revision, in the order of the plan.
pub fn scorecards(records: &[Record]) -> Vec<Scorecard> {
    let several = in_several(records);
    let mut order = Vec::new();
    for record in records {
        let key = (record.arm, record.transport, several.then_some(record.revision));
        if !order.contains(&key) {
            order.push(key);
        }
    }
    // The plan goes from case to case; a table from revision to revision.
    let places: Vec<_> = order.iter().map(|(arm, transport, _)| (*arm, *transport)).collect();
    let place = |key: &(Arm, transport::Kind, _)| places.iter().position(|known| *known == (key.0, key.1));
    order.sort_by_key(|key| (place(key), key.2));
    order.into_iter().map(|(arm, transport, revision)| scorecard(records, arm, transport, revision)).collect()
}

/// The scorecard of one arm on one transport, in one revision if one is given.
pub fn scorecard(records: &[Record], arm: Arm, transport: transport::Kind, revision: Option<Revision>) -> Scorecard {
    let is_meant = |record: &&Record| {
        let spoken = revision.is_none_or(|revision| revision == record.revision);
        record.arm == arm && record.transport == transport && spoken
    };
    let mut card = Scorecard {
        arm,
        transport,
        revision,
        attacks: Rate::default(),
        attack_clusters: Rate::default(),
        benign: Rate::default(),
        benign_clusters: Rate::default(),
        utility: Rate::default(),
        robustness: Rate::default(),
        leaks: 0,
        refusals: Rate::default(),
        fidelity: Rate::default(),
        alive: Rate::default(),
        added: BTreeSet::new(),
        requests_for_denied: 0,
        attributed: Rate::default(),
        blocked: 0,
        untested: 0,
        categories: Vec::new(),
    };
    let mut clusters: BTreeMap<(Kind, &str), bool> = BTreeMap::new();
    let mut categories: BTreeMap<&str, (Rate, Rate)> = BTreeMap::new();
    for record in records.iter().filter(is_meant) {
        let Some(verdict) = &record.verdict else {
            card.untested += 1;
            continue;
        };
        if verdict.status == Status::Blocked {
            card.blocked += 1;
            continue;
        }
        verdict.faithful.into_iter().for_each(|faithful| card.fidelity.count(faithful));
        verdict.alive_after.into_iter().for_each(|alive| card.alive.count(alive));
        card.added.extend(verdict.added.iter().cloned());
        let kind = record.case.body.kind;
        let category = categories.entry(record.case.id.category()).or_default();
        let good = match kind {
            Kind::Attack => {
                card.attacks.count(verdict.stopped);
                card.utility.count(verdict.served);
                category.0.count(verdict.stopped);
                if let Some(attribution) = record.attribution() {
                    card.attributed.count(attribution == Attribution::AsNamed);
                }
                verdict.stopped
            }
            Kind::Benign => {
                let served = verdict.status == Status::Pass;
                card.benign.count(served);
                category.1.count(served);
                served
            }
            Kind::Robustness => {
                card.robustness.count(verdict.status == Status::Pass);
                continue;
            }
        };
        *clusters.entry((kind, record.case.cluster())).or_insert(true) &= good;
        card.leaks += usize::from(verdict.outcome == Outcome::Leaked);
        card.requests_for_denied += verdict.requests_for_denied;
        if let Some(well) = verdict.refused_well {
            card.refusals.count(well);
        }
    }
    card.attack_clusters = of_kind(&clusters, Kind::Attack);
    card.benign_clusters = of_kind(&clusters, Kind::Benign);
    card.categories = categories
        .into_iter()
        .map(|(name, (attacks, benign))| Category { name: name.to_owned(), attacks, benign })
        .collect();
    card
}

fn of_kind(clusters: &BTreeMap<(Kind, &str), bool>, kind: Kind) -> Rate {
    Rate::of(clusters.iter().filter(|((of, _), _)| *of == kind).map(|(_, good)| *good))
}
