//! `list`: what there is.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use super::{
    args::{Chosen, Common},
    exit,
    screen::{self, Screen},
    trouble,
};
use crate::{
    case,
    gate::{CheckId, CheckSet, checks},
    plan::{Arm, Filter, Suite},
    report::style::Tone,
    score::{TECHNIQUES, Technique},
};

/// Lists cases, or `checks`, `techniques`, `fixtures`, `policies`, `transforms`, `arms`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// What to list (`cases` unless given), then words that ids must contain.
    #[arg(value_name = "WHAT|FILTER")]
    words: Vec<String>,
    /// A filter expression over cases.
    #[arg(short = 'E', long = "filter", value_name = "EXPR")]
    expressions: Vec<Filter>,
    /// One shard of the cases, `hash:M/N`.
    #[arg(long, value_name = "SHARD")]
    partition: Option<crate::plan::Partition>,
    /// Technique × cases × checks, the holes in it, and what no gate can reach.
    #[arg(long, conflicts_with_all = ["words", "expressions", "partition"])]
    coverage: bool,
    /// As JSON, one array (one object with `--coverage`).
    #[arg(long)]
    json: bool,
}

/// One line: the words by column, and the same as JSON.
struct Entry {
    columns: Vec<String>,
    json: Value,
}

impl Entry {
    fn new(names: &[&str], columns: &[String]) -> Self {
        let members = names.iter().zip(columns).map(|(name, text)| ((*name).to_owned(), Value::from(text.as_str())));
        Self { columns: columns.to_vec(), json: Value::Object(members.collect()) }
    }
}

/// Prints the list.
pub(super) fn list(args: &ListArgs, common: &Common, screen: &Screen) -> u8 {
    if args.coverage {
        return match trouble::load(&common.corpus, screen) {
            Ok(suite) => super::coverage::show(&suite, args.json, screen),
            Err(code) => code,
        };
    }
    let (what, words) = match args.words.split_first() {
        Some((first, rest)) if WHATS.contains(&first.as_str()) => (first.as_str(), rest),
        _ => ("cases", args.words.as_slice()),
    };
    let entries = match what {
        "checks" => of_checks(),
        "transforms" => case::transforms().map(|name| Entry::new(&["transform"], &[name.to_owned()])).collect(),
        "arms" => of_arms(),
        _ => {
            let suite = match trouble::load(&common.corpus, screen) {
                Ok(suite) => suite,
                Err(code) => return code,
            };
            match what {
                "techniques" => of_techniques(&suite),
                "fixtures" => of_fixtures(&suite),
                "policies" => of_policies(&suite),
                _ => match chosen(args, words) {
                    Ok(chosen) => of_cases(&suite, &chosen),
                    Err(error) => {
                        screen::note(&format!("error: {error}"));
                        return exit::USAGE;
                    }
                },
            }
        }
    };
    print(&entries, args.json, screen);
    if entries.is_empty() {
        screen::note(&format!("nothing matches; there are {}, or words that a case id contains", WHATS.join(", ")));
        return exit::NOTHING;
    }
    exit::FINE
}

const WHATS: [&str; 7] = ["cases", "checks", "techniques", "fixtures", "policies", "transforms", "arms"];

fn chosen(args: &ListArgs, words: &[String]) -> Result<Chosen, crate::plan::FilterError> {
    let words = words.iter().map(|word| word.parse()).collect::<Result<_, _>>()?;
    Ok(Chosen { words, expressions: args.expressions.clone(), partition: args.partition })
}

fn print(entries: &[Entry], json: bool, screen: &Screen) {
    if json {
        let items: Vec<_> = entries.iter().map(|entry| format!("  {}", entry.json)).collect();
        screen::say(&if items.is_empty() { "[]".to_owned() } else { format!("[\n{}\n]", items.join(",\n")) });
        return;
    }
    let mut widths: Vec<usize> = Vec::new();
    for entry in entries {
        widths.resize(widths.len().max(entry.columns.len()), 0);
        for (width, text) in widths.iter_mut().zip(&entry.columns) {
            *width = (*width).max(text.chars().count());
        }
    }
    let lines: Vec<_> = entries
        .iter()
        .map(|entry| {
            let padded = entry.columns.iter().zip(&widths).enumerate().map(|(index, (text, width))| {
                let text = format!("{text:<width$}");
                if index == 0 { screen.out.paint(Tone::Strong, &text) } else { text }
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
        .collect();
    if !lines.is_empty() {
        screen::say(&lines.join("\n"));
    }
}

fn of_cases(suite: &Suite, chosen: &Chosen) -> Vec<Entry> {
    let cases = suite.cases.iter().map(|prepared| &prepared.case).filter(|case| chosen.has(case));
    cases
        .map(|case| {
            let body = &case.body;
            let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
            let columns = [
                case.id.to_string(),
                word(json!(body.kind)),
                word(json!(body.level)),
                body.technique.clone(),
                body.title.clone(),
            ];
            let mut entry = Entry::new(&["id", "kind", "level", "technique", "title"], &columns);
            entry.json["twin"] = json!(body.twin);
            entry.json["by"] = json!(body.by);
            entry.json["policy"] = json!(body.policy);
            entry.json["transports"] = json!(body.transports);
            entry.json["revisions"] = json!(body.revisions);
            entry.json["file"] = json!(case.file);
            entry
        })
        .collect()
}

fn of_checks() -> Vec<Entry> {
    let docs = checks::ALL.iter().map(|check| check.docs());
    docs.map(|docs| Entry::new(&["check", "summary"], &[docs.id.to_string(), docs.summary.to_owned()])).collect()
}

fn of_arms() -> Vec<Entry> {
    let own = [Arm::Direct, Arm::Naive, Arm::Guarded, Arm::Outside];
    let arms = own.into_iter().chain(Arm::ablation()).chain(Arm::controls());
    let names = |checks: CheckSet| checks.iter().map(CheckId::as_str).collect::<Vec<_>>().join(" and ");
    let what = |arm| match arm {
        Arm::Direct => "nothing in the middle".to_owned(),
        Arm::Naive => "a gate that forwards every byte".to_owned(),
        Arm::Guarded => "the reference gate, as the case's policy has it".to_owned(),
        Arm::Outside => "a gate of somebody else's (`run --gate`, `gates list`)".to_owned(),
        Arm::Without(checks) => format!("the same without {}", names(checks)),
        Arm::Only(checks) => format!("the same with {} alone", names(checks)),
        Arm::Control(control) => format!("wrong on purpose: {}", control.what()),
        Arm::Mutant(mutation, check) => format!("the reference gate in which {check} {}", mutation.what()),
    };
    arms.map(|arm| Entry::new(&["arm", "what"], &[arm.to_string(), what(arm)])).collect()
}

fn of_techniques(suite: &Suite) -> Vec<Entry> {
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    for prepared in &suite.cases {
        *used.entry(prepared.case.body.technique.as_str()).or_default() += 1;
    }
    let entry = |technique: &Technique| {
        let (id, name) = (technique.id, technique.name);
        let count = used.get(id).copied().unwrap_or(0);
        let said = if count == 0 { "not covered".to_owned() } else { trouble::count(count, "case") };
        let mut entry = Entry::new(&["technique"], &[id.to_owned()]);
        entry.columns.extend([said, name.to_owned()]);
        entry.json["name"] = json!(name);
        entry.json["cases"] = json!(count);
        entry
    };
    TECHNIQUES.iter().map(entry).collect()
}

fn of_fixtures(suite: &Suite) -> Vec<Entry> {
    let servers = suite.corpus.servers.iter();
    let told = suite.corpus.surroundings.iter().map(|(name, told)| (format!("surroundings/{name}"), &told.title));
    let servers = servers.map(|(name, server)| (name.clone(), &server.title));
    servers.chain(told).map(|(name, title)| Entry::new(&["fixture", "title"], &[name, title.clone()])).collect()
}

fn of_policies(suite: &Suite) -> Vec<Entry> {
    let policies = suite.policies.iter();
    policies
        .map(|(name, (_, rules))| Entry::new(&["policy", "title"], &[name.clone(), rules.policy().title.clone()]))
        .collect()
}
