//! The published reports: `run --reference` makes them, a test compares them.

use std::path::{Path, PathBuf};

use super::{ablate, outputs, progress};
use crate::{
    plan::{Arm, PlanError, Selection, Suite, Trial},
    report,
    runner::{self, Stop},
    score::Record,
    transport,
};

/// Where they lie under the corpus.
pub const FOLDER: &str = "reports/reference";

/// What is played before the ablation: naive and guarded on every transport, and
/// direct in memory.
pub(super) fn trials(suite: &Suite) -> Vec<Trial> {
    let selection = Selection::new([Arm::Naive, Arm::Guarded], transport::Kind::ALL);
    let mut trials = Selection::new([Arm::Direct], [transport::Kind::Memory]).trials(suite);
    trials.extend(selection.trials(suite));
    trials
}

/// What the ablation tables are made of: each case on its home transport.
pub(super) fn ablated(suite: &Suite) -> Vec<Trial> {
    Selection::new([Arm::Guarded], transport::Kind::ALL).trials_at_home(suite)
}

/// Makes the published reports of the corpus at `root`: file names and
/// contents. `program` is the gateproof that stdio trials start.
///
/// # Errors
/// Where the corpus has errors.
pub fn regenerate(root: &Path, program: PathBuf) -> Result<Vec<(&'static str, String)>, PlanError> {
    let suite = Suite::load(root)?;
    let schedule = progress::schedule(None, Some(program), Stop::default());
    let made = |numbered: &runner::Numbered, ended| Record::new(&numbered.trial, ended);
    let mut records = runner::run(&trials(&suite), &schedule, made, |_| {});
    ablate::complete(&ablated(&suite), &mut records, |trials| Some(runner::run(trials, &schedule, made, |_| {})));
    let document = report::document(&suite, &records, true);
    Ok(["report.json", "scorecard.md"].map(|name| (name, outputs::render(name, &document))).into())
}
