//! Plays trials through a gate that is not gateproof's own.
//!
//! One process holds both ends: the client before the gate, the server behind
//! it. Where the gate starts its server itself, what it starts is a relay back to
//! here ([`crate::transport::bridge`]). Three kinds of trouble never mix: a gate
//! that doesn't start, or is never ready, blocks the trial; one that crashes,
//! hangs or talks nonsense once it was started gives no answer, which the judge
//! sees; what goes wrong in the harness blocks the trial.

mod folder;
mod probe;
mod process;
mod upstream;
mod world;

pub use probe::{Probed, probe};
pub(super) use world::{attempt, patience};
