//! Says what a trial came to. Pure: it sees a case and a transcript, nothing else.
//!
//! The judge never reads the gate's own claims. A verdict starts as fail and
//! becomes a pass only by evidence from both sides of the gate; what could not
//! be judged is blocked, and neither silence nor a result that no server was asked
//! for is a success.

mod outcome;
mod predicate;
mod verdict;

pub use outcome::Outcome;
pub use predicate::holds;
pub use verdict::{Status, Verdict, judge};
