//! `explain`: a case or a check in plain words.

use std::fmt::Write as _;

use clap::Args;

use super::{
    args::Common,
    exit,
    screen::{self, Screen},
    trouble,
};
use crate::{
    case::Case,
    fixture::suggest,
    gate::checks::{self, CheckId},
    plan::Suite,
    report::style::{Style, Tone, wrapped},
};

/// Explains a case or a check.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// A case's id, with or without the part behind `#`, or a check's.
    name: String,
}

/// Prints the explanation.
pub(super) fn explain(args: &ExplainArgs, common: &Common, screen: &Screen) -> u8 {
    let name = args.name.as_str();
    if let Some(check) = CheckId::parse(name) {
        screen::say(&of_check(check, screen.out));
        return exit::FINE;
    }
    let suite = match trouble::load(&common.corpus, screen) {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let of_id = |case: &&Case| case.id.as_str() == name || case.id.base() == name;
    let cases: Vec<&Case> = suite.cases.iter().map(|prepared| &*prepared.case).filter(of_id).collect();
    if let Some(case) = cases.first() {
        screen::say(&of_case(case, &cases, screen.out));
        return exit::FINE;
    }
    screen::note(&format!("error: there is no case or check '{name}'{}", hint(name, &suite)));
    exit::USAGE
}

fn hint(name: &str, suite: &Suite) -> String {
    let checks = checks::ALL.iter().map(|check| check.docs().id.as_str());
    let cases = suite.corpus.files.iter().map(|(_, file)| file.id.as_str());
    suggest(name, checks.chain(cases)).map_or_else(String::new, |hint| format!("; {hint}"))
}

/// A check under the headings that every check has.
fn of_check(id: CheckId, style: Style) -> String {
    let Some(docs) = checks::ALL.iter().map(|check| check.docs()).find(|docs| docs.id == id) else {
        return String::new();
    };
    let mut out = format!("{}: {}\n", style.paint(Tone::Strong, id.as_str()), docs.summary);
    for (heading, text) in [
        ("Looks at", docs.leg),
        ("What it does", docs.what),
        ("Why", docs.why),
        ("What it misses", docs.misses),
        ("Example", docs.example),
        ("Source", docs.source),
    ] {
        let _ = writeln!(out, "\n{}\n{}", style.paint(Tone::Strong, heading), indented(text, style.width()));
    }
    let _ = writeln!(out, "\n{}", style.paint(Tone::Strong, "Rules"));
    for (rule, text) in docs.rules {
        let _ = writeln!(out, "  {rule}: {text}");
    }
    out
}

fn of_case(case: &Case, variants: &[&Case], style: Style) -> String {
    let body = &case.body;
    let mut out = format!("{}: {}\n\n", style.paint(Tone::Strong, case.id.base()), body.title);
    let mut fact = |name: &str, text: String| {
        if !text.is_empty() {
            let _ = writeln!(out, "{} {text}", style.paint(Tone::Strong, &format!("{name:<11}")));
        }
    };
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    fact("kind", format!("{}, {}", word(serde_json::json!(body.kind)), word(serde_json::json!(body.level))));
    fact("technique", body.technique.clone());
    fact("refs", body.refs.join("; "));
    fact("twin", body.twin.as_ref().map(ToString::to_string).unwrap_or_default());
    fact("stopped by", body.by.clone().unwrap_or_default());
    fact("policy", body.policy.clone());
    fact("outside", body.surroundings.clone().unwrap_or_default());
    let servers = case.servers().map(|(name, server)| {
        if name.as_str() == server.fixture { server.fixture.clone() } else { format!("{name} ({})", server.fixture) }
    });
    fact("servers", servers.collect::<Vec<_>>().join(", "));
    fact("transports", body.transports.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", "));
    fact("revisions", body.revisions.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", "));
    fact("file", case.file.clone());
    if variants.len() > 1 {
        let ids: Vec<_> = variants.iter().map(|one| one.id.as_str()).collect();
        fact("variants", ids.join(", "));
        let _ = writeln!(out, "\nBelow, as {} has it.", case.id);
    }
    let mut section = |title: &str, lines: &[String]| {
        if lines.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{}", style.paint(Tone::Strong, title));
        for (index, line) in lines.iter().enumerate() {
            let _ = writeln!(out, "  {}. {line}", index + 1);
        }
    };
    section("Changes to the servers", &case.server_words());
    section("What happens", &case.step_words());
    let expect = &body.expect;
    let words = |list: &[crate::case::Predicate]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    section("For the trial to mean anything", &words(&expect.control));
    section("The attack succeeded if any of these is so", &words(&expect.harm));
    section("The honest part works if all of these are so", &words(&expect.utility));
    section("What must be refused", &expect.refusal.iter().map(ToString::to_string).collect::<Vec<_>>());
    out
}

/// Wrapped, and indented by two.
fn indented(text: &str, width: usize) -> String {
    let lines = wrapped(text, width.saturating_sub(2));
    lines.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
