//! The document as tables for a terminal.

use std::fmt::Write as _;

use super::{
    ArmFigures, Document,
    figure::{change, counted, groups, hits, otherwise, some},
    style::{Style, Tone, wrapped},
};
use crate::{plan::Arm, score::Rate};

/// How many groups of untested trials are shown.
const MOST_GROUPS: usize = 12;

/// What the widest rows of the arms take, in columns.
const ROOM: usize = 96;
/// The same of the ablation table.
const NARROW: usize = 80;

/// Renders it.
pub fn render(document: &Document, style: Style) -> String {
    let mut out = String::new();
    let corpus = &document.corpus;
    let _ = writeln!(
        out,
        "{} {} cases from {} files ({} attacks, {} honest, {} robustness) · corpus {}",
        style.paint(Tone::Strong, "gateproof"),
        corpus.cases,
        corpus.files,
        corpus.attacks,
        corpus.benign,
        corpus.robustness,
        corpus.sha256.get(..12).unwrap_or_default(),
    );
    if let Some(live) = &document.live {
        let _ = writeln!(out, "live server {}: {} {} {}", live.name, live.ecosystem, live.package, live.version);
    }
    if let Some(gate) = &document.gate {
        let package = gate.package.as_ref().map_or_else(String::new, |package| format!(" ({package})"));
        let _ = writeln!(out, "outside: {}{package}, {} in, {} out", gate.name, gate.front, gate.back);
    }
    for off in &document.switched_off {
        let text = format!("policy {} switches {} off: nothing is said of it there", off.policy, off.check);
        let _ = writeln!(out, "{}", style.paint(Tone::Warn, &text));
    }
    let _ = writeln!(out, "\n{}", arms(document, style));
    if !document.ablation.is_empty() {
        let _ = writeln!(out, "\n{}", style.paint(Tone::Strong, "What each check is worth"));
        let _ = writeln!(out, "{}", ablation(document, style));
    }
    another_reason(document, style, &mut out);
    not_tested(document, style, &mut out);
    out
}

fn arms(document: &Document, style: Style) -> String {
    let mut table = style.table(&[
        "arm",
        "via",
        "attacks stopped",
        "honest served",
        "utility",
        "robust",
        "leaks",
        "sent on",
        "as named",
        "open",
    ]);
    for arm in &document.arms {
        table.add_row(vec![
            style.cell(Tone::Strong, &arm.name),
            style.cell(Tone::Plain, arm.transport),
            style.cell(tone_of_attacks(arm), counted(&arm.attacks)),
            style.cell(whole(hits(&arm.benign) == arm.benign.total), counted(&arm.benign)),
            style.cell(Tone::Plain, arm.utility_under_attack),
            style.cell(full(arm.robustness), arm.robustness),
            style.cell(zero(arm.leaks), arm.leaks),
            style.cell(zero_if(arm, arm.requests_for_denied), arm.requests_for_denied),
            style.cell(Tone::Plain, arm.stopped_as_named),
            style.cell(zero(arm.blocked + arm.untested), arm.blocked + arm.untested),
        ]);
    }
    let legend = "Intervals are Wilson's at 95 %, by cluster. utility: honest work under attack. sent on: requests that \
                  reached a server for calls that had to be denied. open: could not be judged, or was not played.";
    format!("{}\n{}", style.fitted(table, ROOM), style.paint(Tone::Dim, &wrapped(legend, style.width())))
}

/// An open arm must let every attack through, any other must stop every one.
fn tone_of_attacks(arm: &ArmFigures) -> Tone {
    whole(if is_open(arm) { hits(&arm.attacks) == 0 } else { hits(&arm.attacks) == arm.attacks.total })
}

fn is_open(arm: &ArmFigures) -> bool {
    arm.name.parse::<Arm>().is_ok_and(Arm::is_open)
}

fn whole(good: bool) -> Tone {
    if good { Tone::Good } else { Tone::Bad }
}

fn full(rate: Rate) -> Tone {
    whole(rate.hits == rate.total)
}

fn zero(count: usize) -> Tone {
    if count == 0 { Tone::Dim } else { Tone::Bad }
}

/// Where nothing denies, what was sent says nothing.
fn zero_if(arm: &ArmFigures, count: usize) -> Tone {
    if is_open(arm) { Tone::Dim } else { zero(count) }
}

fn ablation(document: &Document, style: Style) -> String {
    let mut table = style.table(&["check", "without it", "change", "it alone", "stops alone", "false alarms"]);
    for row in &document.ablation {
        let dead = row.change == 0;
        let tone = if dead { Tone::Bad } else { Tone::Good };
        table.add_row(vec![
            style.cell(Tone::Strong, row.check),
            style.cell(Tone::Plain, row.without),
            style.cell(tone, if dead { "0 DEAD".to_owned() } else { change(row.change) }),
            style.cell(Tone::Plain, row.only),
            style.cell(Tone::Plain, row.exclusive.len()),
            style.cell(zero(row.exclusive_alarms.len()), row.exclusive_alarms.len()),
        ]);
    }
    let legend = "Attacks stopped with every check but this one, how many fewer that is, and with this one alone; those \
                  that nothing else stops; honest cases that only it refuses. Each case on its cheapest transport.";
    format!("{}\n{}", style.fitted(table, NARROW), style.paint(Tone::Dim, &wrapped(legend, style.width())))
}

fn another_reason(document: &Document, style: Style, out: &mut String) {
    let lines = otherwise(document);
    if lines.is_empty() {
        return;
    }
    let title = format!("Stopped for another reason: {}", lines.len());
    let _ = writeln!(out, "\n{}", style.paint(Tone::Warn, &title));
    for line in lines.iter().take(MOST_GROUPS) {
        let _ = writeln!(out, "  {line}");
    }
    if lines.len() > MOST_GROUPS {
        let _ = writeln!(out, "  … and {} more, all in the report", lines.len() - MOST_GROUPS);
    }
}

fn not_tested(document: &Document, style: Style, out: &mut String) {
    if document.not_tested.is_empty() {
        return;
    }
    let title = format!("Not tested: {} trials", document.not_tested.len());
    let _ = writeln!(out, "\n{}", style.paint(Tone::Warn, &title));
    let groups = groups(&document.not_tested);
    for group in groups.iter().take(MOST_GROUPS) {
        let _ = writeln!(out, "  {:>4} × {}", group.trials, group.reason);
        let _ = writeln!(out, "         {}", style.paint(Tone::Dim, &some(&group.cases, 3)));
    }
    if groups.len() > MOST_GROUPS {
        let _ = writeln!(out, "  … and {} more reasons, all in the report", groups.len() - MOST_GROUPS);
    }
}
