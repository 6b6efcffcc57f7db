//! Which technique has which cases, and which checks they are for.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{TECHNIQUES, technique::Technique};
use crate::{case::Kind, gate::checks, plan::Suite};

/// How many case files there are, and how many cases with their variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// As authored.
    pub files: usize,
    /// With every variant.
    pub cases: usize,
}

/// What there is for one technique.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Covered {
    /// Its id.
    pub technique: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Attacks.
    pub attacks: Count,
    /// Honest look-alikes: cases of the technique, and twins of its attacks.
    pub honest: Count,
    /// Malformed or unusual traffic with one right answer.
    pub robustness: Count,
    /// For each check how many of the attack files name it: those that the
    /// technique is for, and whatever else is named.
    pub checks: BTreeMap<String, usize>,
    /// What is missing, in plain words.
    pub holes: Vec<String>,
}

/// The whole table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Every technique, in the order of the catalogue.
    pub techniques: Vec<Covered>,
    /// Checks that no attack names.
    pub checks_without_attack: Vec<&'static str>,
}

impl Coverage {
    /// Every hole, with the technique that it is in.
    pub fn holes(&self) -> impl Iterator<Item = (&Covered, &str)> {
        self.techniques.iter().flat_map(|row| row.holes.iter().map(move |hole| (row, hole.as_str())))
    }
}

/// Counts a corpus's cases by technique and check.
pub fn coverage(suite: &Suite) -> Coverage {
    let techniques: Vec<_> = TECHNIQUES.iter().map(|technique| covered(suite, technique)).collect();
    let named = |id: &str| techniques.iter().any(|row| row.checks.get(id).is_some_and(|count| *count > 0));
    let checks_without_attack =
        checks::ALL.iter().map(|check| check.docs().id.as_str()).filter(|id| !named(id)).collect();
    Coverage { techniques, checks_without_attack }
}

fn covered(suite: &Suite, technique: &Technique) -> Covered {
    let files = || suite.corpus.files.iter().map(|(_, file)| file);
    let of = |kind: Kind| files().filter(move |file| file.kind == kind && file.technique == technique.id);
    let cases_of = |id: &str| suite.cases.iter().filter(|prepared| prepared.case.id.base() == id).count();
    let count = |ids: &[&str]| Count { files: ids.len(), cases: ids.iter().map(|id| cases_of(id)).sum() };

    let attacks: Vec<&str> = of(Kind::Attack).map(|file| file.id.as_str()).collect();
    let twins = of(Kind::Attack).filter_map(|file| file.twin.as_ref()).map(crate::case::CaseId::as_str);
    let mut honest: Vec<&str> = of(Kind::Benign).map(|file| file.id.as_str()).chain(twins).collect();
    honest.sort_unstable();
    honest.dedup();
    let robustness: Vec<&str> = of(Kind::Robustness).map(|file| file.id.as_str()).collect();

    let mut checks: BTreeMap<String, usize> = technique.checks.iter().map(|check| ((*check).to_owned(), 0)).collect();
    for by in of(Kind::Attack).filter_map(|file| file.by.clone()) {
        *checks.entry(by).or_default() += 1;
    }
    let mut holes = Vec::new();
    if attacks.is_empty() && !technique.checks.is_empty() {
        holes.push("no attack".to_owned());
    } else {
        let unnamed = checks.iter().filter(|(_, count)| **count == 0);
        holes.extend(unnamed.map(|(check, _)| format!("no attack that {check} should stop")));
    }
    if honest.is_empty() && robustness.is_empty() {
        holes.push("no honest look-alike".to_owned());
    }
    Covered {
        technique: technique.id,
        name: technique.name,
        attacks: count(&attacks),
        honest: count(&honest),
        robustness: count(&robustness),
        checks,
        holes,
    }
}
