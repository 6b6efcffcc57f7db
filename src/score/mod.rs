//! From verdicts to figures: rates with their intervals, scorecards, ablation.
//!
//! Numerators and denominators are always kept; nothing is averaged away and
//! there is no single composite that lets one thing rescue another.

mod ablation;
mod admission;
mod clause;
mod coverage;
pub mod doctor;
pub mod fidelity;
mod field_report;
mod latency;
mod lint;
mod rate;
mod record;
mod scorecard;
mod technique;

pub use ablation::{Ablation, Discordant, Game, Games, Interaction, Pair, Row, ablation, holm, mcnemar, missing};
pub use admission::{
    Admission, Baseline, BaselineError, Day, Evidence, Limits, Reason, Verdict, Waiver, Waivers, Why, admission,
};
pub use clause::{CLAUSES, Clause, Eras, Force, means_a_clause};
pub use coverage::{Answered, Count, Counts, Coverage, Covered, coverage};
pub use doctor::{Diagnosis, Examined, Mutant, Seen};
pub use field_report::{FIELD_REPORTS, FieldReport, Owes};
pub use latency::{Added, Cost, Part, Share, costs, percentile, shares};
pub use lint::{Finding, Severity, lint};
pub use rate::Rate;
pub use record::{Attribution, Record, Standing, manner};
pub use scorecard::{Category, Scorecard, scorecard, scorecards};
pub use technique::{OUT_OF_REACH, TECHNIQUES, Technique, is_known};
