//! The command line: one file per verb.
//!
//! Only this module prints, reads the environment or exits. Results go to
//! standard output; progress, failures as they happen and errors go to standard
//! error.

mod ablate;
mod args;
mod bridge;
mod coverage;
pub mod doctor;
mod entry;
pub mod exit;
mod explain;
pub mod fidelity;
mod gates;
mod guard;
mod lint;
mod list;
mod live;
mod measure;
mod new;
mod outputs;
mod pins;
mod progress;
mod qualify;
pub mod reference;
mod replay;
mod run;
mod screen;
mod transcripts;
mod trouble;

pub use entry::main;
