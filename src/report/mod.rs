//! One report document, and one file for each way to render it.

mod document;
pub mod json;
pub mod markdown;
pub mod terminal;

pub use document::{ArmFigures, Counted, Document, NotTested, TrialLine, document};
