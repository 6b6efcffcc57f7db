//! Plays trials, each in isolation, and hands on what was seen.
//!
//! The runner knows no judge, no score and no report: it turns a [`Trial`] into
//! a [`Played`] and calls whoever wants it.

mod approvals;
pub mod outside;
mod schedule;
mod trial;
mod wiring;

pub use schedule::{Schedule, Stop, run};
pub use trial::{Played, Settings, play};

use crate::plan::Trial;

/// What became of one trial's execution.
#[derive(Debug)]
pub enum Ended {
    /// It was played.
    Played(Played),
    /// It was not; says why.
    NotPlayed(String),
}

/// A trial with its place in the plan.
#[derive(Clone, Debug)]
pub struct Numbered {
    /// From 0, in the order of the plan.
    pub index: usize,
    /// The trial.
    pub trial: Trial,
}
