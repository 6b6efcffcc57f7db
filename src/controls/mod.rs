//! Control gates: gates that are wrong on purpose, with known answers.
//!
//! A harness that finds nothing wrong with them can't be relied on. Each one is
//! pure as every gate is; what it must be found guilty of stands in
//! `score::doctor`.
//!
//! * [`Control`]: gates that are wrong as a whole, and one that does nothing.
//! * [`Mutation`]: the reference gate with one check gone wrong.

mod answering;
mod kind;
mod leaky;
mod mutant;
mod retyping;
mod silent;
#[cfg(test)]
mod tests;
mod wrong_reason;

pub use kind::{Control, Mutation};
