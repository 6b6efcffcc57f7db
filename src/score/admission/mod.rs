//! Whether a gate may be admitted, and what stands in its way.

mod baseline;
mod reason;
mod verdict;
mod waivers;

pub use baseline::{Baseline, BaselineError};
pub use reason::{Reason, Why};
pub use verdict::{Admission, Evidence, Limits, Verdict, admission};
pub use waivers::{Day, Waiver, Waivers};
