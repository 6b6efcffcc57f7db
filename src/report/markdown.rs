//! The document as a scorecard in Markdown.

use std::fmt::Write as _;

use super::{
    ArmFigures, Document,
    figure::{added, chance, change, counted, groups, otherwise, share, shown, some, time, time_share},
    verdict,
};
use crate::{gate::checks, score::Ablation};

/// Renders it.
pub fn render(document: &Document) -> String {
    let mut out = String::from("# Scorecard\n\n");
    let corpus = &document.corpus;
    let _ = writeln!(
        out,
        "gateproof {} · corpus `{}` · {} cases from {} files: {} attacks, {} honest, {} robustness probes.\n",
        document.gateproof, corpus.sha256, corpus.cases, corpus.files, corpus.attacks, corpus.benign, corpus.robustness
    );
    if let Some(live) = &document.live {
        let _ = writeln!(
            out,
            "Played on the definitions of a real server, whose honest calls it answered itself: \
             `{}`, the {} package `{}` {}.\n",
            live.name, live.ecosystem, live.package, live.version
        );
    }
    if let Some(gate) = &document.gate {
        let package = gate.package.as_ref().map_or_else(String::new, |package| format!(", `{package}`"));
        let revision = gate.revision.as_deref().unwrap_or("no revision");
        let _ = writeln!(
            out,
            "The arm `outside` is the gate `{}`{package}, reached over {}, its server over {}. It answers {revision}.\n",
            gate.name, gate.front, gate.back
        );
        for (feature, got) in &gate.absent {
            let _ = writeln!(out, "- It offers no {feature}: {got}.");
        }
        for tool in &gate.added_tools {
            let _ = writeln!(out, "- It lists a tool of its own: `{tool}`.");
        }
        if !(gate.absent.is_empty() && gate.added_tools.is_empty()) {
            out.push('\n');
        }
    }
    for off in &document.switched_off {
        let _ = writeln!(out, "> Policy `{}` switches `{}` off: nothing is said of it there.\n", off.policy, off.check);
    }
    if let Some(admission) = &document.admission {
        out.push_str(&verdict::markdown(admission));
    }
    arms(document, &mut out);
    besides(document, &mut out);
    ablation(document, &mut out);
    costs(document, &mut out);
    categories(document, &mut out);
    another_reason(document, &mut out);
    not_tested(document, &mut out);
    how_to_read(&mut out);
    glossary(&mut out);
    out
}

fn arms(document: &Document, out: &mut String) {
    out.push_str("## Naive and guarded\n\n");
    out.push_str(
        "| arm | transport | attacks stopped | honest served | utility under attack | robustness | leaks | \
         requests for denied calls | refusals in form | stopped as named | not judged |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for arm in &document.arms {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            arm.name,
            arm.via(),
            counted(&arm.attacks),
            counted(&arm.benign),
            arm.utility_under_attack,
            arm.robustness,
            arm.leaks,
            arm.requests_for_denied,
            arm.refusals_well_formed,
            arm.stopped_as_named,
            arm.blocked + arm.untested,
        );
    }
    out.push('\n');
}

fn besides(document: &Document, out: &mut String) {
    out.push_str("## Besides the verdict\n\n");
    out.push_str(
        "| arm | transport | refusals well-formed | session alive | fidelity | added surface |\n|---|---|---|---|---|---|\n",
    );
    for arm in &document.arms {
        let names: Vec<_> = shown(&arm.added_surface).iter().map(|name| format!("`{name}`")).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {names} |",
            arm.name,
            arm.via(),
            arm.refusals_well_formed,
            arm.session_alive,
            arm.fidelity,
        );
    }
    out.push('\n');
}

fn costs(document: &Document, out: &mut String) {
    let Some(timing) = document.timing.as_ref().filter(|timing| !timing.calls.is_empty()) else { return };
    out.push_str("## What a call costs\n\nOf honest trials, as the client waited, one trial at a time.\n\n");
    out.push_str(
        "| arm | transport | calls | p50 | p99 | added p50 | added p99 | over |\n|---|---|---|---|---|---|---|---|\n",
    );
    for line in &timing.calls {
        let (p50, p99, over) =
            line.added.as_ref().map(|line| (added(line.p50), added(line.p99), line.over.as_str())).unwrap_or_default();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {p50} | {p99} | {over} |",
            line.arm,
            line.transport,
            line.calls,
            time(line.p50),
            time(line.p99),
        );
    }
    out.push('\n');
}

fn ablation(document: &Document, out: &mut String) {
    let Some(table) = &document.ablation else { return };
    out.push_str("## What each check is worth\n\n");
    // What is the same each time has no times in it.
    let timing = document.timing.as_ref().filter(|timing| !timing.parts.is_empty());
    let last = |text: String| if timing.is_some() { format!(" {text} |") } else { String::new() };
    let _ = writeln!(
        out,
        "| check | attacks stopped without it | change | clusters | p | stopped by it alone | Shapley share | only it \
         stops | honest cases it refuses alone | honest cases only it refuses |{}\n|---|---|---|---|---|---|---|---|---|---|{}",
        last("time".to_owned()),
        if timing.is_some() { "---|" } else { "" },
    );
    for row in &table.checks {
        let dead = if row.change == 0 { " **DEAD**" } else { "" };
        let _ = writeln!(
            out,
            "| `{}` | {} | {}{dead} | −{} +{} | {} | {} | {} | {} | {} | {} |{}",
            row.check,
            row.without,
            change(row.change),
            row.clusters.lost,
            row.clusters.gained,
            chance(row.p),
            row.only,
            share(row.shapley),
            row.exclusive.len(),
            row.alarms.len(),
            row.exclusive_alarms.len(),
            last(timing.map_or_else(String::new, |timing| time_share(timing, row.check))),
        );
    }
    let _ = writeln!(
        out,
        "\nFrom {} further trials, which answer {} questions and are not listed one by one. The shares of {} attacks \
         were found by trying every set of the checks that play a part in them, those of {} by rule.\n",
        table.trials, table.answers, table.shared, table.shared_by_rule
    );
    pairs(table, out);
    interactions(table, out);
}

fn pairs(table: &Ablation, out: &mut String) {
    if table.pairs.is_empty() {
        return;
    }
    out.push_str(
        "### Checks that cover for one another\n\n\
         | without both | change | either is enough for | one of them was in the way of |\n|---|---|---|---|\n",
    );
    for pair in &table.pairs {
        let checks = pair.checks.map(|check| format!("`{check}`")).join(" and ");
        let _ = writeln!(
            out,
            "| {checks} | {} | {} | {} |",
            change(pair.change),
            counted_names(&pair.covered),
            counted_names(&pair.restored)
        );
    }
    out.push('\n');
}

/// `26: a, b, c and 23 more`; `0` for none.
fn counted_names(names: &[String]) -> String {
    if names.is_empty() { "0".to_owned() } else { format!("{}: {}", names.len(), some(names, 3)) }
}

fn interactions(table: &Ablation, out: &mut String) {
    out.push_str("### Interactions\n\n");
    if table.interactions.is_empty() {
        out.push_str("None: every attack that is stopped is stopped by any one of the checks that stop it alone.\n\n");
        return;
    }
    out.push_str(
        "Attacks for which it is not so that any one of the checks that stop them alone is enough, whatever else is \
         on.\n\n",
    );
    for case in &table.interactions {
        let alone = if case.alone.is_empty() { "no check".to_owned() } else { case.alone.join(", ") };
        let _ = writeln!(out, "- `{}`: stopped alone by {alone}; {}", case.case, some(&case.contradicted, 3));
    }
    out.push('\n');
}

fn categories(document: &Document, out: &mut String) {
    out.push_str(
        "## By category\n\n| category | arm | transport | attacks stopped | honest served |\n|---|---|---|---|---|\n",
    );
    let mut rows: Vec<(&str, &ArmFigures, _, _)> = document
        .arms
        .iter()
        .flat_map(|arm| arm.categories.iter().map(move |of| (of.name.as_str(), arm, of.attacks, of.benign)))
        .collect();
    rows.sort_by_key(|row| row.0);
    for (name, arm, attacks, benign) in rows {
        let _ = writeln!(out, "| {name} | {} | {} | {attacks} | {benign} |", arm.name, arm.via());
    }
    out.push('\n');
}

fn another_reason(document: &Document, out: &mut String) {
    let lines = otherwise(document);
    if lines.is_empty() {
        return;
    }
    out.push_str(
        "## Stopped for another reason\n\nBy the gate's own account, not by the check that the case names.\n\n",
    );
    for line in lines {
        let _ = writeln!(out, "- {line}");
    }
    out.push('\n');
}

fn not_tested(document: &Document, out: &mut String) {
    out.push_str("## Not tested\n\n");
    if document.not_tested.is_empty() {
        out.push_str("Nothing: every trial of the plan was played and could be judged.\n\n");
        return;
    }
    for group in groups(&document.not_tested) {
        let _ = writeln!(out, "- {} × {}: {}", group.trials, group.reason, some(&group.cases, 5));
    }
    out.push('\n');
}

fn how_to_read(out: &mut String) {
    out.push_str(
        "## How to read this\n\n\
         - **direct** has no gate, **naive** has one that forwards every byte, **guarded** runs the checks that a \
         case's policy leaves on. In naive every attack must succeed; one that can't fail would prove nothing.\n\
         - **attacks stopped**: seen from both sides, the attacker's goal was not reached, what had to be refused was \
         refused in due form, and the session stayed alive. **honest served**: the twin of an attack worked.\n\
         - The percentages are Wilson's 95 % interval over clusters: variants of one case count once, and a cluster \
         counts only if every variant of it came out right. They describe this corpus, not the world.\n\
         - **leaks**: the client was refused and the server got the request all the same. **requests for denied \
         calls** is what reached servers for calls that had to be denied before them; the goal is 0.\n\
         - **session alive**: after the step that had to be refused, the same session still answered. **fidelity**: \
         what had to come through byte for byte did. **added surface**: tools that clients saw listed and that no \
         server ever listed.\n\
         - **stopped as named**: by the gate's own account, which is never used to judge, the check that the case \
         names was among those that acted.\n\
         - **change**: attacks that are stopped with every check on and succeed without this one. 0 is marked DEAD: \
         on this corpus the check changes nothing. Each case counts once, on its cheapest transport. **clusters** \
         counts the clusters that come out differently, and **p** says how likely so uneven a split is by chance: the \
         exact McNemar test, with Holm's adjustment over all checks.\n\
         - **Shapley share**: each attack that is stopped counts 1, divided among the checks by what each adds, over \
         every order in which they might be switched on. Where any of k checks is enough, each gets 1/k.\n\
         - **not judged**: blocked or not played; never counted as a success, and listed above.\n\n",
    );
}

fn glossary(out: &mut String) {
    out.push_str("## Checks\n\n");
    for check in checks::ALL {
        let docs = check.docs();
        let _ = writeln!(out, "- `{}` ({}): {}", docs.id, docs.leg, docs.summary);
    }
}
