//! Says what a trial came to. Pure: it sees a case and a transcript, nothing else.
//!
//! The judge never reads the gate's own claims. A verdict starts as fail and
//! becomes a pass only by evidence from both sides of the gate; what could not
//! be judged is blocked, and neither silence nor a result that no server was asked
//! for is a success.
//!
//! A gate from elsewhere is judged by what reached the server and the client, and
//! not by the shape of its refusals ([`Manner::Substance`]); shape, fidelity, life
//! after a refusal and added tools stand beside every verdict.

mod beside;
pub mod fidelity;
mod manner;
mod outcome;
mod predicate;
mod substance;
#[cfg(test)]
mod tests;
mod verdict;

pub use manner::Manner;
pub use outcome::Outcome;
pub use predicate::holds;
pub use verdict::{Status, Verdict, judge};
