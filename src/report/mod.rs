//! One report document, and one file for each way to render it.

mod document;
mod figure;
pub mod json;
pub mod markdown;
pub mod style;
pub mod terminal;
mod timing;
pub mod transcript;
mod verdict;

pub use document::{ArmFigures, Counted, Document, GateLine, LiveLine, NotTested, SwitchedOff, TrialLine, document};
pub use timing::{AddedLine, CallLine, PartLine, Timing};
