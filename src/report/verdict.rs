//! The verdict of an admission, in words.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    figure::some,
    style::{Style, Tone, wrapped},
};
use crate::score::{Admission, Reason, Verdict, Why};

/// How many reasons of one kind are shown on a terminal; the report has them all.
const MOST: usize = 12;

/// Reasons that say the same of several cases, together.
struct Group<'a> {
    why: Why,
    what: &'a str,
    next: &'a str,
    cases: Vec<String>,
}

/// Groups reasons that differ only in their case. What is said of a failure is of
/// one case alone, so it stays.
fn groups(reasons: &[Reason]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places: BTreeMap<(Why, &str), usize> = BTreeMap::new();
    for reason in reasons {
        let place = *places.entry((reason.why, &reason.what)).or_insert_with(|| {
            groups.push(Group { why: reason.why, what: &reason.what, next: &reason.next, cases: Vec::new() });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(place).filter(|_| !reason.case.is_empty()) else { continue };
        let on =
            if reason.transports.is_empty() { String::new() } else { format!(" ({})", reason.transports.join(", ")) };
        group.cases.push(format!("{}{on}", reason.case));
    }
    groups
}

/// For a terminal: the verdict, what stands in its way and what would change it.
pub(super) fn terminal(admission: &Admission, style: Style) -> String {
    let tone = match admission.verdict {
        Verdict::Admit => Tone::Good,
        Verdict::AdmitWithWaivers => Tone::Warn,
        Verdict::Hold => Tone::Bad,
    };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n{} · {}: {} of {} must cases pass wherever they were played",
        style.paint(tone, admission.verdict.as_str()),
        admission.arm,
        admission.must_passed,
        admission.must_total
    );
    let groups = groups(&admission.reasons);
    let mut whys: Vec<Why> = groups.iter().map(|group| group.why).collect();
    whys.dedup();
    for why in whys {
        let of: Vec<_> = groups.iter().filter(|group| group.why == why).collect();
        let total = admission.reasons.iter().filter(|reason| reason.why == why).count();
        let _ = writeln!(out, "\n{}", style.paint(Tone::Strong, &format!("{} ({total})", why.as_str())));
        for group in of.iter().take(MOST) {
            if !group.cases.is_empty() {
                let _ = writeln!(out, "  {}", some(&group.cases, 3));
            }
            let _ =
                writeln!(out, "    {}", wrapped(group.what, style.width().saturating_sub(4)).replace('\n', "\n    "));
            let next = wrapped(&format!("→ {}", group.next), style.width().saturating_sub(4));
            let _ = writeln!(out, "    {}", style.paint(Tone::Dim, &next.replace('\n', "\n      ")));
        }
        if of.len() > MOST {
            let _ = writeln!(out, "  … and {} more, all in the report", of.len() - MOST);
        }
    }
    if !admission.waived.is_empty() {
        let _ = writeln!(out, "\n{}", style.paint(Tone::Strong, &format!("waived ({})", admission.waived.len())));
        for waived in &admission.waived {
            let _ = writeln!(out, "  {}: {} (until {}, {})", waived.case, waived.reason, waived.expires, waived.owner);
        }
    }
    out
}

/// For Markdown: every reason.
pub(super) fn markdown(admission: &Admission) -> String {
    let mut out = format!(
        "## Verdict: {}\n\n`{}`: {} of {} must cases pass wherever they were played.\n\n",
        admission.verdict.as_str(),
        admission.arm,
        admission.must_passed,
        admission.must_total
    );
    for group in groups(&admission.reasons) {
        let cases = group.cases.iter().map(|case| format!("`{case}`")).collect::<Vec<_>>();
        let cases = if cases.is_empty() { String::new() } else { format!(" {}:", some(&cases, 8)) };
        let _ = writeln!(
            out,
            "- **{}**{cases} {}. To change it: {}.",
            group.why.as_str(),
            plain(group.what),
            plain(group.next)
        );
    }
    if !admission.reasons.is_empty() {
        out.push('\n');
    }
    for waived in &admission.waived {
        let _ = writeln!(
            out,
            "- **waived** `{}`: {} ({}, until {}); it came to: {}",
            waived.case,
            plain(&waived.reason),
            waived.owner,
            waived.expires,
            plain(&waived.what)
        );
    }
    if !admission.waived.is_empty() {
        out.push('\n');
    }
    out
}

/// On one line, whatever a case or a gate put into it.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
}
