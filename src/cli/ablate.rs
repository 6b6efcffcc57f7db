//! Plays what the ablation tables ask for, until nothing is missing.

use crate::{plan::Trial, score, score::Record};

/// Adds to `records` what the tables of `cases` need. `cases` are the trials of
/// the guarded arm, each on its case's home transport; `play` plays trials, and
/// gives nothing where the run was interrupted.
pub(super) fn complete(
    cases: &[Trial],
    records: &mut Vec<Record>,
    mut play: impl FnMut(&[Trial]) -> Option<Vec<Record>>,
) {
    loop {
        let trials = score::missing(cases, records);
        if trials.is_empty() {
            return;
        }
        match play(&trials) {
            Some(played) => records.extend(played),
            None => return,
        }
    }
}
