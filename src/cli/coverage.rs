//! `list --coverage`: technique × cases × checks, clauses and field reports × cases,
//! and the holes.

use std::fmt::Write as _;

use serde_json::json;

use super::{exit, screen, screen::Screen, trouble};
use crate::{
    plan::Suite,
    report::style::{Style, Tone, wrapped},
    score::{Answered, Count, Coverage, OUT_OF_REACH, coverage},
};

/// The least room that the table needs, in columns.
const ROOM: usize = 90;

/// Prints the table.
pub(super) fn show(suite: &Suite, as_json: bool, screen: &Screen) -> u8 {
    let table = coverage(suite);
    if as_json {
        let reach: Vec<_> = OUT_OF_REACH.iter().map(|(what, why)| json!({ "what": what, "why": why })).collect();
        let mut value = json!(table);
        value["out_of_reach"] = json!(reach);
        screen::say(&format!("{value:#}"));
    } else {
        screen::say(&words(&table, screen.out));
    }
    exit::FINE
}

fn words(coverage: &Coverage, style: Style) -> String {
    let mut table =
        style.table(&["technique", "what", "attacks", "honest", "robust", "checks (attack files that name them)"]);
    for row in &coverage.techniques {
        let tone = if row.holes.is_empty() { Tone::Good } else { Tone::Bad };
        let checks: Vec<_> = row.checks.iter().map(|(check, files)| format!("{check} {files}")).collect();
        table.add_row(vec![
            style.cell(tone, row.technique),
            style.cell(Tone::Plain, row.name),
            style.cell(Tone::Plain, count(row.cases.attacks)),
            style.cell(Tone::Plain, count(row.cases.honest)),
            style.cell(Tone::Plain, count(row.cases.robustness)),
            style.cell(Tone::Plain, checks.join(", ")),
        ]);
    }
    let legend = "files/cases with their variants; honest: look-alikes of the technique and twins of its attacks.";
    let mut out = format!("{}\n{}\n", style.fitted(table, ROOM), style.paint(Tone::Dim, legend));
    let holes: Vec<_> = coverage.holes().collect();
    let title = match holes.len() {
        0 => {
            style.paint(Tone::Good, "No holes: every technique has an attack for each of its checks, and a look-alike.")
        }
        some => style.paint(Tone::Warn, &trouble::count(some, "hole")),
    };
    let _ = writeln!(out, "\n{title}");
    for (row, hole) in holes {
        let _ = writeln!(out, "  {} {}: {hole}", row.technique, row.name);
    }
    for check in &coverage.checks_without_attack {
        let _ = writeln!(out, "  {check}: no attack names it");
    }
    answered(&mut out, "Clauses of the specification that a middlebox meets", &coverage.clauses, style);
    answered(&mut out, "Field reports: what broke gates in practice", &coverage.field_reports, style);
    let _ =
        writeln!(out, "\n{}", style.paint(Tone::Strong, "Out of reach of any gate on the wire: nothing is claimed"));
    for (what, why) in OUT_OF_REACH {
        let text = wrapped(&format!("{what}: {why}"), style.width().saturating_sub(4));
        let _ = writeln!(out, "  {}", text.replace('\n', "\n    "));
    }
    out.trim_end().to_owned()
}

/// A table of what has cases, then what has none, each with its reason.
fn answered(out: &mut String, title: &str, rows: &[Answered], style: Style) {
    let mut table = style.table(&["no.", "", "what", "attacks", "honest", "robust", "where"]);
    for row in rows {
        let tone = if row.holes.is_empty() { Tone::Good } else { Tone::Bad };
        table.add_row(vec![
            style.cell(tone, &row.number),
            style.cell(Tone::Plain, &row.weight),
            style.cell(Tone::Plain, row.says),
            style.cell(Tone::Plain, count(row.cases.attacks)),
            style.cell(Tone::Plain, count(row.cases.honest)),
            style.cell(Tone::Plain, count(row.cases.robustness)),
            style.cell(Tone::Plain, &row.place),
        ]);
    }
    let with_cases = rows.iter().filter(|row| row.beyond.is_none() && row.holes.is_empty()).count();
    let said = format!("{with_cases} of {} have their cases.", rows.len());
    let _ = writeln!(out, "\n{}\n{}\n{said}", style.paint(Tone::Strong, title), style.fitted(table, ROOM));
    let line = |out: &mut String, row: &Answered, tone: Tone, why: &str| {
        let text = wrapped(&format!("{}: {why}", row.number), style.width().saturating_sub(4));
        let _ = writeln!(out, "  {}", style.paint(tone, &text.replace('\n', "\n    ")));
    };
    for row in rows {
        if let Some(why) = row.beyond {
            line(out, row, Tone::Plain, &format!("no case, because {why}"));
        }
        for hole in &row.holes {
            line(out, row, Tone::Warn, hole);
        }
    }
}

fn count(count: Count) -> String {
    if count.files == 0 { "–".to_owned() } else { format!("{}/{}", count.files, count.cases) }
}
