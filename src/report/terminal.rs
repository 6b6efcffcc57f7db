//! The document as tables for a terminal.

use std::fmt::Write as _;

use super::{
    ArmFigures, Document, Timing,
    figure::{added, chance, change, counted, groups, hits, otherwise, share, shown, some, time, time_share},
    style::{Style, Tone, wrapped},
    verdict,
};
use crate::{
    judge::Manner,
    plan::Arm,
    score::{self, Ablation, Rate, Row},
};

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
    if let Some(table) = &document.ablation {
        let _ = writeln!(out, "\n{}", style.paint(Tone::Strong, "What each check is worth"));
        let _ = writeln!(out, "{}", ablation(table, document.timing.as_ref(), document.corpus.is_whole, style));
        pairs(table, style, &mut out);
        interactions(table, style, &mut out);
    }
    besides(document, style, &mut out);
    costs(document, style, &mut out);
    another_reason(document, style, &mut out);
    not_tested(document, style, &mut out);
    if let Some(admission) = &document.admission {
        out.push_str(&verdict::terminal(admission, style));
    }
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
            style.cell(Tone::Plain, arm.via()),
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

fn ablation(table: &Ablation, timing: Option<&Timing>, whole: bool, style: Style) -> String {
    let mut shown =
        style.table(&["check", "without it", "change", "p", "it alone", "shapley", "stops alone", "alarms", "time"]);
    // Of some cases most checks have nothing to say; of all cases that would be news.
    let is_idle = |row: &&Row| !whole && row.change == 0 && row.only.hits == 0 && row.alarms.is_empty();
    for row in table.checks.iter().filter(|row| !is_idle(row)) {
        let dead = row.change == 0;
        let tone = if dead { Tone::Bad } else { Tone::Good };
        shown.add_row(vec![
            style.cell(Tone::Strong, row.check),
            style.cell(Tone::Plain, row.without),
            style.cell(tone, if dead { "0 DEAD".to_owned() } else { change(row.change) }),
            style.cell(Tone::Plain, chance(row.p)),
            style.cell(Tone::Plain, row.only),
            style.cell(Tone::Plain, share(row.shapley)),
            style.cell(Tone::Plain, row.exclusive.len()),
            style.cell(zero(row.alarms.len()), row.alarms.len()),
            style.cell(Tone::Plain, timing.map_or_else(String::new, |timing| time_share(timing, row.check))),
        ]);
    }
    let idle = table.checks.iter().filter(is_idle).count();
    let idle =
        if idle == 0 { String::new() } else { format!("{idle} checks that stop none of these attacks are left out. ") };
    let legend = format!(
        "{idle}Attacks stopped with every check but this one, how many fewer that is, and how likely that is by chance (exact \
         McNemar over clusters, Holm's adjustment); attacks stopped with it alone; its Shapley share; attacks that \
         nothing else stops; honest cases that it refuses alone; its part of the gate's time. Each case on its cheapest transport. {} trials answer \
         {} questions: a check that has nothing to say in a trial changes nothing in it.",
        table.trials, table.answers
    );
    format!("{}\n{}", style.fitted(shown, ROOM), style.paint(Tone::Dim, &wrapped(&legend, style.width())))
}

fn pairs(table: &Ablation, style: Style, out: &mut String) {
    if table.pairs.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.paint(Tone::Strong, "Checks that cover for one another"));
    let mut shown = style.table(&["without both", "change", "either is enough", "one was in the way"]);
    let mut rows: Vec<_> = table.pairs.iter().collect();
    rows.sort_by_key(|pair| std::cmp::Reverse(pair.covered.len() + pair.restored.len()));
    for pair in rows.iter().take(MOST_GROUPS) {
        shown.add_row(vec![
            style.cell(Tone::Strong, pair.checks.join(" + ")),
            style.cell(Tone::Plain, change(pair.change)),
            style.cell(Tone::Plain, pair.covered.len()),
            style.cell(zero(pair.restored.len()), pair.restored.len()),
        ]);
    }
    let _ = writeln!(out, "{}", style.fitted(shown, NARROW));
    if rows.len() > MOST_GROUPS {
        let _ = writeln!(out, "  … and {} more pairs, all in the report", rows.len() - MOST_GROUPS);
    }
}

fn interactions(table: &Ablation, style: Style, out: &mut String) {
    if table.interactions.is_empty() {
        return;
    }
    let title = format!("Where it takes more than any one check: {} cases", table.interactions.len());
    let _ = writeln!(out, "\n{}", style.paint(Tone::Strong, &title));
    for case in table.interactions.iter().take(MOST_GROUPS) {
        let _ = writeln!(out, "  {}: {}", case.case, some(&case.contradicted, 2));
    }
    if table.interactions.len() > MOST_GROUPS {
        let _ = writeln!(out, "  … and {} more, all in the report", table.interactions.len() - MOST_GROUPS);
    }
}

/// What stands beside the verdicts, where there is something to say of it.
fn besides(document: &Document, style: Style, out: &mut String) {
    let worth = |arm: &&ArmFigures| {
        // Where nothing is refused, nothing is said of refusals.
        let silent = is_open(arm) || is_full(arm.refusals_well_formed) && is_full(arm.session_alive);
        !silent || !is_ours(arm) || !is_full(arm.fidelity) || !arm.added_surface.is_empty()
    };
    let rows: Vec<_> = document.arms.iter().filter(worth).collect();
    if rows.is_empty() {
        return;
    }
    let mut table = style.table(&["arm", "via", "refusals in form", "alive after", "fidelity", "added surface"]);
    let tone = |rate: Rate| if is_full(rate) { Tone::Good } else { Tone::Warn };
    for arm in rows {
        let names = some(&shown(&arm.added_surface), 4);
        table.add_row(vec![
            style.cell(Tone::Strong, &arm.name),
            style.cell(Tone::Plain, arm.via()),
            style.cell(tone(arm.refusals_well_formed), arm.refusals_well_formed),
            style.cell(tone(arm.session_alive), arm.session_alive),
            style.cell(tone(arm.fidelity), arm.fidelity),
            style.cell(Tone::Warn, if names.is_empty() { "none" } else { &names }),
        ]);
    }
    let legend = "Refusals in a shape that the client can use; sessions that still answered after one; what had to come \
                  through byte for byte; tools that clients saw and no server listed.";
    let _ = writeln!(out, "\n{}", style.paint(Tone::Strong, "Besides the verdict"));
    let _ = writeln!(out, "{}", style.fitted(table, NARROW));
    let _ = writeln!(out, "{}", style.paint(Tone::Dim, &wrapped(legend, style.width())));
}

fn is_full(rate: Rate) -> bool {
    rate.hits == rate.total
}

/// Whether it is no gate from elsewhere.
fn is_ours(arm: &ArmFigures) -> bool {
    arm.name.parse().is_ok_and(|arm| score::manner(arm) == Manner::Strict)
}

fn costs(document: &Document, style: Style, out: &mut String) {
    let Some(timing) = document.timing.as_ref().filter(|timing| !timing.calls.is_empty()) else { return };
    let mut table = style.table(&["arm", "via", "calls", "p50", "p99", "added p50", "added p99"]);
    for line in &timing.calls {
        let (p50, p99) = line.added.as_ref().map(|line| (added(line.p50), added(line.p99))).unwrap_or_default();
        table.add_row(vec![
            style.cell(Tone::Strong, &line.arm),
            style.cell(Tone::Plain, line.transport),
            style.cell(Tone::Plain, line.calls),
            style.cell(Tone::Plain, time(line.p50)),
            style.cell(Tone::Plain, time(line.p99)),
            style.cell(Tone::Plain, p50),
            style.cell(Tone::Plain, p99),
        ]);
    }
    let over =
        timing.calls.iter().find_map(|line| line.added.as_ref()).map_or_else(String::new, |added| {
            format!(" Added: the difference to {} on the same transport.", added.over)
        });
    let legend = format!("Calls of honest trials as the client waited for them, one trial at a time.{over}");
    let _ = writeln!(out, "\n{}", style.paint(Tone::Strong, "What a call costs"));
    let _ = writeln!(out, "{}", style.fitted(table, NARROW));
    let _ = writeln!(out, "{}", style.paint(Tone::Dim, &wrapped(&legend, style.width())));
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
