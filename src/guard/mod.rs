//! The reference gate in front of a server that somebody really uses.
//!
//! A [`Watched`] gate is the reference gate with two promises around it: every
//! ruling is in the audit log before it is carried out, and whatever goes wrong
//! inside (a panic, a log that can't be written) closes the session instead of
//! opening it. [`serve`] puts one between a client and a child process; [`Web`] puts one before
//! each session with a server over HTTP.

pub mod audit;
mod child;
mod line;
mod told;
mod watch;
mod watched;
mod web;
mod world;

pub use child::Child;
pub use line::{Manner, Outcome, serve};
pub use told::{Told, told};
pub use watch::{Broken, Watch};
pub use watched::Watched;
pub use web::{Host, Opened, Web};
pub use world::ThisMachine;
