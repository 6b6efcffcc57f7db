//! Which technique, which clause of the specification and which field report has
//! which cases.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{CLAUSES, Clause, FIELD_REPORTS, FieldReport, TECHNIQUES, technique::Technique};
use crate::{
    case::{CaseFile, CaseId, Kind},
    gate::checks,
    plan::Suite,
};

/// How many case files there are, and how many cases with their variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// As authored.
    pub files: usize,
    /// With every variant.
    pub cases: usize,
}

/// What there is of one sort of case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Attacks.
    pub attacks: Count,
    /// Honest look-alikes: cases of the sort, and twins of its attacks.
    pub honest: Count,
    /// Malformed or unusual traffic with one right answer.
    pub robustness: Count,
}

/// What there is for one clause of the specification or one field report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answered {
    /// Its number or numbers.
    pub number: String,
    /// How binding a clause is, or what a gate owes to the traffic of a report.
    pub weight: String,
    /// Where it holds, or was reported.
    pub place: String,
    /// What it says.
    pub says: &'static str,
    /// The cases that name it, and the twins of those that are attacks.
    pub cases: Counts,
    /// Why no case can be there for it, where none can.
    pub beyond: Option<&'static str>,
    /// What is missing, in plain words.
    pub holes: Vec<&'static str>,
}

/// What there is for one technique.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Covered {
    /// Its id.
    pub technique: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The cases of the technique, and the twins of its attacks.
    #[serde(flatten)]
    pub cases: Counts,
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
    /// Every clause of the specification that a middlebox meets, by number.
    pub clauses: Vec<Answered>,
    /// Every field report, by number.
    pub field_reports: Vec<Answered>,
}

impl Coverage {
    /// Every hole, with the technique that it is in.
    pub fn holes(&self) -> impl Iterator<Item = (&Covered, &str)> {
        self.techniques.iter().flat_map(|row| row.holes.iter().map(move |hole| (row, hole.as_str())))
    }
}

/// Counts a corpus's cases by technique and check, by clause and by field report.
pub fn coverage(suite: &Suite) -> Coverage {
    let techniques: Vec<_> = TECHNIQUES.iter().map(|technique| covered(suite, technique)).collect();
    let named = |id: &str| techniques.iter().any(|row| row.checks.get(id).is_some_and(|count| *count > 0));
    let checks_without_attack =
        checks::ALL.iter().map(|check| check.docs().id.as_str()).filter(|id| !named(id)).collect();
    let clauses = CLAUSES.iter().map(|clause| of_clause(suite, clause)).collect();
    let field_reports = FIELD_REPORTS.iter().map(|report| of_report(suite, report)).collect();
    Coverage { techniques, checks_without_attack, clauses, field_reports }
}

fn files(suite: &Suite) -> impl Iterator<Item = &CaseFile> {
    suite.corpus.files.iter().map(|(_, file)| file)
}

fn counts(suite: &Suite, is_of_it: impl Fn(&CaseFile) -> bool) -> Counts {
    let of = |kind: Kind| files(suite).filter(|file| is_of_it(file)).filter(move |file| file.kind == kind);
    let cases_of = |id: &str| suite.cases.iter().filter(|prepared| prepared.case.id.base() == id).count();
    let count = |ids: &[&str]| Count { files: ids.len(), cases: ids.iter().map(|id| cases_of(id)).sum() };
    let ids = |kind| of(kind).map(|file| file.id.as_str()).collect::<Vec<_>>();

    let twins = of(Kind::Attack).filter_map(|file| file.twin.as_ref()).map(CaseId::as_str);
    let mut honest: Vec<&str> = ids(Kind::Benign).into_iter().chain(twins).collect();
    honest.sort_unstable();
    honest.dedup();
    Counts { attacks: count(&ids(Kind::Attack)), honest: count(&honest), robustness: count(&ids(Kind::Robustness)) }
}

fn covered(suite: &Suite, technique: &Technique) -> Covered {
    let cases = counts(suite, |file| file.technique == technique.id);
    let mut checks: BTreeMap<String, usize> = technique.checks.iter().map(|check| ((*check).to_owned(), 0)).collect();
    let attacks = files(suite).filter(|file| file.kind == Kind::Attack && file.technique == technique.id);
    for by in attacks.filter_map(|file| file.by.clone()) {
        *checks.entry(by).or_default() += 1;
    }
    let mut holes = Vec::new();
    if cases.attacks.files == 0 && !technique.checks.is_empty() {
        holes.push("no attack".to_owned());
    } else {
        let unnamed = checks.iter().filter(|(_, count)| **count == 0);
        holes.extend(unnamed.map(|(check, _)| format!("no attack that {check} should stop")));
    }
    if cases.honest.files == 0 && cases.robustness.files == 0 {
        holes.push("no honest look-alike".to_owned());
    }
    Covered { technique: technique.id, name: technique.name, cases, checks, holes }
}

fn of_clause(suite: &Suite, clause: &'static Clause) -> Answered {
    let is_named = |reference: &String| Clause::named(reference).is_some_and(|named| named == clause);
    let cases = counts(suite, |file| file.refs.iter().any(is_named));
    Answered {
        number: clause.number(),
        weight: clause.force.as_str().to_owned(),
        place: format!("{}, {}", clause.page, clause.eras.as_str()),
        says: clause.says,
        holes: unanswered(&cases, clause.beyond).into_iter().collect(),
        beyond: clause.beyond,
        cases,
    }
}

fn of_report(suite: &Suite, report: &'static FieldReport) -> Answered {
    let is_named = |reference: &String| FieldReport::named(reference).is_some_and(|(named, _)| named == report);
    let cases = counts(suite, |file| file.refs.iter().any(is_named));
    let mut holes: Vec<_> = unanswered(&cases, report.beyond).into_iter().collect();
    if holes.is_empty() && report.beyond.is_none() {
        let is_free = cases.robustness.files > 0;
        if report.owes.deny && cases.attacks.files == 0 && !is_free {
            holes.push("nothing hostile, though a gate owes a denial");
        }
        if (report.owes.pass || report.owes.hop) && cases.honest.files == 0 && !is_free {
            holes.push("nothing honest, though a gate owes a passage");
        }
    }
    Answered {
        number: report.number.to_string(),
        weight: report.owes.words(),
        place: report.sources.join(", "),
        says: report.says,
        holes,
        beyond: report.beyond,
        cases,
    }
}

/// What is wrong with what there is, as a whole.
fn unanswered(cases: &Counts, beyond: Option<&str>) -> Option<&'static str> {
    let is_empty = cases.attacks.files + cases.honest.files + cases.robustness.files == 0;
    match (is_empty, beyond) {
        (true, None) => Some("no case"),
        (false, Some(_)) => Some("cases, and yet a reason why none can be"),
        _ => None,
    }
}
