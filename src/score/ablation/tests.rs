//! Games that are made up, each of a kind that the tables must tell apart.

use std::sync::Arc;

use super::{Ablation, ablation};
use crate::{
    case::{self, Case, CaseId},
    fixture::Source,
    gate::{CheckId, CheckSet, checks},
    judge::{Outcome, Status, Verdict},
    plan::Arm,
    protocol::Revision,
    score::Record,
    transport,
};

/// A case with this id, which may be that of a variant.
fn made(id: &str, kind: &str) -> Arc<Case> {
    let (twin, harm) = match kind {
        "attack" => ("twin = \"a.twin\"\n", "harm = [{ client-got = { text = \"x\" } }]\n"),
        _ => ("", ""),
    };
    let base = id.split('#').next().unwrap_or(id);
    let text = format!(
        "schema = 1\nid = \"{base}\"\ntitle = \"t\"\nkind = \"{kind}\"\ntechnique = \"C12\"\npolicy = \"p\"\n{twin}\
         servers = [{{ fixture = \"s\" }}]\nsteps = [{{ open = {{}} }}]\n[expect]\n{harm}\
         utility = [{{ reply = {{ of = \"open-1\", ok = true }} }}]\n"
    );
    let path = base.replace('.', "/");
    let source = Source::new(format!("{path}.toml"), text);
    let file = case::load(&source, &path).unwrap();
    let case = case::expand(&source, &file, None).unwrap().remove(0);
    Arc::new(Case { id: CaseId(id.to_owned()), ..case })
}

/// Every trial of a case among the first `n` checks, where `good` says what comes of it.
fn played(id: &str, kind: &str, n: usize, good: impl Fn(&[bool]) -> bool) -> Vec<Record> {
    let case = made(id, kind);
    let ids: Vec<CheckId> = checks::ALL.iter().take(n).map(|check| check.docs().id).collect();
    let all: CheckSet = ids.iter().copied().collect();
    let record = |set: CheckSet| {
        let good = good(&ids.iter().map(|id| set.contains(*id)).collect::<Vec<_>>());
        let status = if good { Status::Pass } else { Status::Fail };
        let verdict = Verdict {
            status,
            outcome: Outcome::Denied,
            harmed: !good,
            stopped: good,
            served: true,
            refused_well: None,
            requests_for_denied: 0,
            faithful: None,
            alive_after: None,
            added: std::collections::BTreeSet::new(),
            reasons: Vec::new(),
        };
        let arm = if set == all { Arm::Guarded } else { Arm::Only(set) };
        Record {
            case: Arc::clone(&case),
            arm,
            transport: transport::Kind::Memory,
            revision: Revision::V2025_06_18,
            verdict: Some(verdict),
            untested: None,
            stopped_by: Vec::new(),
            on: all,
            enforced: Some(set),
            spoke: all,
            calls: Vec::new(),
            spent: None,
            evidence: None,
        }
    };
    all.subsets().into_iter().map(record).collect()
}

fn table(records: &[Record]) -> Ablation {
    ablation(records).unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

#[test]
fn either_of_two_is_enough() {
    let table = table(&played("a.either", "attack", 3, |on| on[0] || on[1]));
    let [a, b, c, ..] = table.checks.as_slice() else { panic!("there are rows") };
    assert_eq!((a.change, a.exclusive.len(), a.only.hits), (0, 0, 1));
    assert!(near(a.shapley, 0.5) && near(b.shapley, 0.5) && near(c.shapley, 0.0));
    let [pair] = table.pairs.as_slice() else { panic!("one pair: {:?}", table.pairs) };
    assert_eq!((pair.checks, pair.covered.as_slice()), ([a.check, b.check], &["a.either".to_owned()][..]));
    assert_eq!(table.interactions, []);
}

#[test]
fn one_that_stands_alone() {
    let table = table(&played("a.alone", "attack", 2, |on| on[1]));
    let [a, b, ..] = table.checks.as_slice() else { panic!("there are rows") };
    assert_eq!((a.change, b.change, b.exclusive.as_slice()), (0, 1, &["a.alone".to_owned()][..]));
    assert!(near(b.shapley, 1.0));
    assert_eq!((table.pairs.len(), table.interactions.len()), (0, 0));
}

#[test]
fn two_that_need_one_another_are_an_interaction() {
    let table = table(&played("a.both", "attack", 3, |on| on[0] && on[1]));
    let [a, b, ..] = table.checks.as_slice() else { panic!("there are rows") };
    assert_eq!((a.change, a.only.hits, a.exclusive.len()), (1, 0, 0));
    assert!(near(a.shapley, 0.5) && near(b.shapley, 0.5));
    let [found] = table.interactions.as_slice() else { panic!("{:?}", table.interactions) };
    assert!(found.alone.is_empty() && found.contradicted[0].contains("with every check: stopped"), "{found:?}");
}

#[test]
fn one_that_stands_in_the_way_is_an_interaction() {
    let table = table(&played("a.way", "attack", 2, |on| on[0] && !on[1]));
    let [a, b, ..] = table.checks.as_slice() else { panic!("there are rows") };
    assert_eq!((a.only.hits, b.in_the_way, b.change), (1, 1, 0));
    let [found] = table.interactions.as_slice() else { panic!("{:?}", table.interactions) };
    assert!(found.contradicted[0].contains("with every check: not stopped"), "{found:?}");
}

#[test]
fn alarms_are_whose_they_are() {
    let table = table(&played("a.honest", "benign", 2, |on| !on[0]));
    let [a, b, ..] = table.checks.as_slice() else { panic!("there are rows") };
    assert_eq!((a.alarms.len(), a.exclusive_alarms.len()), (1, 1));
    assert_eq!((b.alarms.len(), b.exclusive_alarms.len()), (0, 0));
}

#[test]
fn clusters_count_once() {
    let mut records = Vec::new();
    for id in ["a.x#n=1", "a.x#n=2"] {
        records.extend(played(id, "attack", 1, |on| on[0]));
    }
    let table = table(&records);
    let row = &table.checks[0];
    assert_eq!((row.change, row.clusters.lost, row.clusters.gained), (2, 1, 0));
    assert!(near(row.p, 1.0), "one cluster proves nothing");
}
