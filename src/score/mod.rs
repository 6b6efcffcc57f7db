//! From verdicts to figures: rates with their intervals, scorecards, ablation.
//!
//! Numerators and denominators are always kept; nothing is averaged away and
//! there is no single composite that lets one thing rescue another.

mod ablation;
mod rate;
mod record;
mod scorecard;

pub use ablation::{Ablation, ablation};
pub use rate::Rate;
pub use record::{Attribution, Record, Standing};
pub use scorecard::{Category, Scorecard, scorecard, scorecards};
