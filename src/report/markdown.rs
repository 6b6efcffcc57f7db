//! The document as a scorecard in Markdown.

use std::fmt::Write as _;

use super::{
    ArmFigures, Document,
    figure::{change, counted, groups, otherwise, some},
};
use crate::gate::checks;

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
    arms(document, &mut out);
    ablation(document, &mut out);
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
            arm.transport,
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

fn ablation(document: &Document, out: &mut String) {
    if document.ablation.is_empty() {
        return;
    }
    out.push_str("## What each check is worth\n\n");
    out.push_str(
        "| check | attacks stopped without it | change | stopped by it alone | only it stops | honest cases only it \
         refuses |\n|---|---|---|---|---|---|\n",
    );
    for row in &document.ablation {
        let dead = if row.change == 0 { " **DEAD**" } else { "" };
        let _ = writeln!(
            out,
            "| `{}` | {} | {}{dead} | {} | {} | {} |",
            row.check,
            row.without,
            change(row.change),
            row.only,
            row.exclusive.len(),
            row.exclusive_alarms.len(),
        );
    }
    let _ = writeln!(out, "\nFrom {} further trials, which are not listed one by one.\n", document.unlisted_trials);
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
        let _ = writeln!(out, "| {name} | {} | {} | {attacks} | {benign} |", arm.name, arm.transport);
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
         - **stopped as named**: by the gate's own account, which is never used to judge, the check that the case \
         names was among those that acted.\n\
         - **change**: attacks that are stopped with every check on and succeed without this one. 0 is marked DEAD: \
         on this corpus the check changes nothing. Each case counts once, on its cheapest transport.\n\
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
