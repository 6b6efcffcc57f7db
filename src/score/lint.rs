//! Whether a corpus holds what it promises: every attack can succeed, every
//! check earns its place, nothing lies about unused.
//!
//! Reads the records of the arms direct, naive, guarded, `without:*` and
//! `only:*`, each case on its home transport.

use std::collections::BTreeSet;

use super::{Attribution, Clause, Coverage, FieldReport, Games, Record, ablation, clause, coverage, technique};
use crate::{
    case::{Kind, Level},
    fixture::suggest,
    gate::{CheckId, CheckSet, checks},
    judge::{Status, Verdict},
    plan::{Arm, Suite},
};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The corpus can't be relied on.
    Error,
    /// Worth knowing.
    Note,
}

/// Something that the corpus doesn't hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What should hold.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Where to look, relative to the corpus; empty where it is no file.
    pub file: String,
    /// What is wrong, in plain words.
    pub message: String,
}

/// Every finding, by rule. `whole` says that no case was left out: only then
/// can anything be said of what is missing.
pub fn lint(suite: &Suite, records: &[Record], whole: bool) -> Vec<Finding> {
    let mut findings = Findings::default();
    open_arms(records, &mut findings);
    transparency(records, &mut findings);
    guarded(records, &mut findings);
    twins(records, &mut findings);
    if whole {
        every_check(suite, records, &mut findings);
    }
    let coverage = coverage(suite);
    techniques(suite, &coverage, &mut findings);
    references(suite, &coverage, &mut findings);
    unused(suite, &mut findings);
    findings.0
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn error(&mut self, rule: &'static str, file: &str, message: String) {
        self.0.push(Finding { rule, severity: Severity::Error, file: file.to_owned(), message });
    }

    fn note(&mut self, rule: &'static str, file: &str, message: String) {
        self.0.push(Finding { rule, severity: Severity::Note, file: file.to_owned(), message });
    }
}

/// The records of an arm.
fn of_arm(records: &[Record], arm: Arm) -> impl Iterator<Item = &Record> {
    records.iter().filter(move |record| record.arm == arm)
}

/// The id, and the revision where the case is played in several.
fn name(record: &Record) -> String {
    record.case.name_in(record.revision)
}

fn why(record: &Record) -> String {
    let untested = record.untested.clone();
    let reasons = record.verdict.as_ref().map(|verdict| verdict.reasons.join("; "));
    reasons.or(untested).filter(|text| !text.is_empty()).unwrap_or_else(|| "no reason is known".to_owned())
}

/// With nothing in the way, attacks succeed and everything else works.
fn open_arms(records: &[Record], findings: &mut Findings) {
    const RULE: &str = "with nothing in the way, attacks succeed and the rest works";
    for arm in [Arm::Direct, Arm::Naive] {
        for record in of_arm(records, arm) {
            let name = name(record);
            let message = match (&record.verdict, record.case.body.kind) {
                (None, _) => format!("{name}: not played under {arm}: {}", why(record)),
                (Some(verdict), _) if verdict.status == Status::Blocked => {
                    format!("{name}: can't be judged under {arm}: {}", why(record))
                }
                (Some(verdict), Kind::Attack) if verdict.harmed => continue,
                (Some(_), Kind::Attack) => {
                    format!("{name}: can't fail: the attack does not succeed under {arm}")
                }
                (Some(verdict), _) if verdict.status == Status::Pass => continue,
                (Some(_), _) => format!("{name}: does not work under {arm}: {}", why(record)),
            };
            findings.error(RULE, &record.case.file, message);
        }
    }
}

/// The harness is transparent: a naive gate changes nothing.
fn transparency(records: &[Record], findings: &mut Findings) {
    const RULE: &str = "direct and naive agree";
    let seen = |verdict: &Verdict| (verdict.status, verdict.outcome, verdict.harmed);
    for direct in of_arm(records, Arm::Direct) {
        let naive = of_arm(records, Arm::Naive)
            .find(|naive| naive.case.id == direct.case.id && naive.revision == direct.revision);
        let (Some(a), Some(b)) = (&direct.verdict, naive.and_then(|naive| naive.verdict.as_ref())) else { continue };
        if seen(a) != seen(b) {
            let words = |verdict: &Verdict| {
                let harm = if verdict.harmed { ", harmed" } else { "" };
                format!("{} {}{harm}", verdict.status.as_str(), verdict.outcome.as_str())
            };
            let message = format!("{}: direct says {}, naive says {}", name(direct), words(a), words(b));
            findings.error(RULE, &direct.case.file, message);
        }
    }
}

/// The reference gate stops every attack, for the reason given, and serves the rest.
fn guarded(records: &[Record], findings: &mut Findings) {
    const STOPS: &str = "guarded stops every attack and serves the rest";
    const NAMED: &str = "attacks are stopped by the check that they name";
    for record in of_arm(records, Arm::Guarded) {
        let is_must = record.case.body.level == Level::Must;
        let file = &record.case.file;
        if record.status() != Status::Pass {
            let message = format!("{}: {} under guarded: {}", name(record), record.status().as_str(), why(record));
            if is_must { findings.error(STOPS, file, message) } else { findings.note(STOPS, file, message) }
        }
        let Some(by) = record.case.body.by.as_deref().filter(|by| CheckId::parse(by).is_some()) else { continue };
        let how = match record.attribution() {
            Some(Attribution::Otherwise) => format!("stopped for another reason: {}", record.stopped_by.join(", ")),
            Some(Attribution::Unclaimed) => "stopped, but no check says that it acted".to_owned(),
            Some(Attribution::AsNamed) | None => continue,
        };
        let message = format!("{}: names {by}, {how}", name(record));
        if is_must { findings.error(NAMED, file, message) } else { findings.note(NAMED, file, message) }
    }
}

/// Every attack has a twin that the reference gate serves.
fn twins(records: &[Record], findings: &mut Findings) {
    const RULE: &str = "the twin of every attack is served";
    let mut seen = BTreeSet::new();
    for record in of_arm(records, Arm::Guarded).filter(|record| record.case.body.kind == Kind::Attack) {
        let Some(twin) = &record.case.body.twin else { continue };
        if !seen.insert((record.case.id.base(), twin)) {
            continue;
        }
        let mut of_twin = of_arm(records, Arm::Guarded).filter(|other| other.case.id.base() == twin.as_str());
        if let Some(refused) = of_twin.find(|other| other.status() != Status::Pass) {
            let message = format!("{}: its twin {} is not served by guarded", record.case.id.base(), name(refused));
            findings.error(RULE, &record.case.file, message);
        }
    }
}

/// Every check stops an attack that nothing else stops, and lets a twin of one of
/// its attacks pass.
fn every_check(suite: &Suite, records: &[Record], findings: &mut Findings) {
    const ALONE: &str = "every check alone stops an attack";
    const PASSES: &str = "every check lets an honest twin pass";
    let table = ablation(records).map(|table| table.checks).unwrap_or_default();
    let games = Games::new(records);
    for check in checks::ALL {
        let id = check.docs().id;
        let file = format!("src/gate/checks/{}.rs", id.as_str().replace('-', "_"));
        let row = table.iter().find(|row| row.check == id.as_str());
        if row.is_none_or(|row| row.exclusive.is_empty()) {
            let change = row.map_or(0, |row| row.change);
            let message = format!("{id}: no attack is stopped by it and by nothing else ({change} depend on it)");
            findings.error(ALONE, &file, message);
        }
        let twins: BTreeSet<&str> = suite
            .cases
            .iter()
            .filter(|prepared| prepared.case.body.by.as_deref() == Some(id.as_str()))
            .filter_map(|prepared| prepared.case.body.twin.as_ref().map(crate::case::CaseId::as_str))
            .collect();
        let passes = games.honest().any(|game| {
            twins.contains(game.case.id.base()) && game.on.contains(id) && game.served(CheckSet::one(id)) == Some(true)
        });
        if !passes {
            findings.error(PASSES, &file, format!("{id}: no twin of an attack that names it passes it alone"));
        }
    }
}

/// Techniques are known, and those without a case are said aloud.
fn techniques(suite: &Suite, coverage: &Coverage, findings: &mut Findings) {
    const RULE: &str = "techniques are known and covered";
    for (source, file) in &suite.corpus.files {
        if !technique::is_known(&file.technique) {
            let known = technique::TECHNIQUES.iter().map(|known| known.id);
            let hint = suggest(&file.technique, known).map(|hint| format!("; {hint}")).unwrap_or_default();
            let message = format!("{}: there is no technique '{}'{hint}", file.id, file.technique);
            findings.error(RULE, source.name(), message);
        }
    }
    for (row, hole) in coverage.holes() {
        findings.note(RULE, "", format!("{} {}: {hole}", row.technique, row.name));
    }
}

/// Clauses and field reports are named as their tables have them, and those without
/// a case are said aloud.
fn references(suite: &Suite, coverage: &Coverage, findings: &mut Findings) {
    const RULE: &str = "clauses and field reports are named exactly and have their cases";
    for (source, file) in &suite.corpus.files {
        for reference in &file.refs {
            if clause::means_a_clause(reference) && Clause::named(reference).is_none() {
                let message = format!(
                    "{}: there is no '{reference}'; it is 'clause' and a number that `list --coverage` shows",
                    file.id
                );
                findings.error(RULE, source.name(), message);
            }
            if let Some((_, known)) = FieldReport::named(reference).filter(|(_, known)| known != reference) {
                findings.note(RULE, source.name(), format!("{}: '{reference}' is '{known}' elsewhere", file.id));
            }
        }
    }
    for (kind, rows) in [("clause", &coverage.clauses), ("field report", &coverage.field_reports)] {
        for row in rows {
            for hole in &row.holes {
                findings.note(RULE, "", format!("{kind} {}: {hole} ({})", row.number, row.says));
            }
        }
    }
}

/// Every fixture and policy is used.
fn unused(suite: &Suite, findings: &mut Findings) {
    const RULE: &str = "every fixture and policy is used";
    let files = || suite.corpus.files.iter().map(|(_, file)| file);
    let fixtures: BTreeSet<&str> =
        files().flat_map(|file| file.servers.iter().map(|server| server.fixture.as_str())).collect();
    for name in suite.corpus.servers.keys().filter(|name| !fixtures.contains(name.as_str())) {
        findings.error(RULE, &format!("fixtures/servers/{name}.toml"), "no case uses it".to_owned());
    }
    let told: BTreeSet<&str> = files().filter_map(|file| file.surroundings.as_deref()).collect();
    for name in suite.corpus.surroundings.keys().filter(|name| !told.contains(name.as_str())) {
        findings.error(RULE, &format!("fixtures/surroundings/{name}.toml"), "no case uses it".to_owned());
    }
    let policies: BTreeSet<&str> = files().map(|file| file.policy.as_str()).collect();
    for name in suite.policies.keys().filter(|name| !policies.contains(name.as_str())) {
        findings.error(RULE, &format!("fixtures/policies/{name}.toml"), "no case uses it".to_owned());
    }
}
