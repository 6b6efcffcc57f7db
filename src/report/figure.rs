//! How figures are spelled, the same in every rendering.

use std::collections::BTreeMap;

use super::{Counted, Document, NotTested, Timing};
use crate::score::Attribution;

/// `47/52 80–96%`: so many of so many, and the interval by clusters.
pub(super) fn counted(counted: &Counted) -> String {
    let rate = format!("{}/{}", hits(counted), counted.total);
    match counted.wilson95 {
        Some((low, high)) => format!("{rate} {:.0}–{:.0}%", low * 100.0, high * 100.0),
        None => rate,
    }
}

/// The numerator.
pub(super) fn hits(counted: &Counted) -> usize {
    counted.stopped.or(counted.served).unwrap_or(0)
}

/// `−3`, or `0`.
pub(super) fn change(by: usize) -> String {
    if by == 0 { "0".to_owned() } else { format!("−{by}") }
}

/// `12.5`: a share of the attacks, to one place.
pub(super) fn share(share: f64) -> String {
    format!("{share:.1}")
}

/// `<0.001`, or three places.
pub(super) fn chance(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// `12.3 µs` or `4.5 ms`: three figures are more than a busy machine can tell.
pub(super) fn time(micros: f64) -> String {
    if micros.abs() < 999.95 { format!("{micros:.1} µs") } else { format!("{:.1} ms", micros / 1e3) }
}

/// The same as a change, always with its sign.
pub(super) fn added(micros: f64) -> String {
    let sign = if micros < 0.0 { '−' } else { '+' };
    format!("{sign}{}", time(micros.abs()))
}

/// Names that a stranger chose, so that they neither break a table nor command a
/// terminal.
pub(super) fn shown(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.escape_debug().to_string().replace('|', "\\u{7c}").replace('`', "\\u{60}")).collect()
}

/// `12%`: a check's part of the gate's time, where it was measured.
pub(super) fn time_share(timing: &Timing, check: &str) -> String {
    let part = timing.parts.iter().find(|part| part.part == check);
    part.map_or_else(String::new, |part| format!("{:.0}%", part.share * 100.0))
}

/// What was not tested under one reason.
pub(super) struct Group<'a> {
    /// Why.
    pub(super) reason: &'a str,
    /// How many trials.
    pub(super) trials: usize,
    /// Which cases, each once, in order.
    pub(super) cases: Vec<&'a str>,
}

/// Groups by reason, the largest first.
pub(super) fn groups(not_tested: &[NotTested]) -> Vec<Group<'_>> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in not_tested {
        by_reason.entry(&entry.reason).or_default().push(&entry.case);
    }
    let mut groups: Vec<_> = by_reason
        .into_iter()
        .map(|(reason, mut cases)| {
            let trials = cases.len();
            cases.sort_unstable();
            cases.dedup();
            Group { reason, trials, cases }
        })
        .collect();
    groups.sort_by(|a, b| b.trials.cmp(&a.trials).then(a.reason.cmp(b.reason)));
    groups
}

/// What stopped attacks in an arm that their cases had named another check for,
/// in plain words, each once: case, arm, reason.
pub(super) fn otherwise(document: &Document) -> Vec<String> {
    let mut lines: Vec<_> = document
        .trials
        .iter()
        .filter_map(|trial| {
            let how = match trial.attribution? {
                Attribution::AsNamed => return None,
                Attribution::Otherwise => format!("stopped by {}", trial.stopped_by.join(", ")),
                Attribution::Unclaimed => "stopped, and no check says that it acted".to_owned(),
            };
            Some(format!("{} ({}): names {}, {how}", trial.case, trial.arm, trial.by.as_deref().unwrap_or_default()))
        })
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// The first `most` of some words, and how many there are besides.
pub(super) fn some(words: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<_> = words.iter().take(most).map(AsRef::as_ref).collect();
    match words.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
