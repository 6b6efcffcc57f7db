//! The audit log: what was decided, when and why, one JSON object a line.
//!
//! A line names methods, tools and ids, checks and rules, and never holds an
//! argument or a result. Each has the digest of the line before it (`prev`) and
//! its own (`hash`), so that a line that was altered, taken away or put in
//! breaks the chain there. The chain has no key: whoever may write the file can
//! make a new one. What was cut off its end shows only in that the last session
//! has no end, or to somebody who kept the last hash.

mod chain;
mod log;
mod record;
mod verify;

pub use log::{Log, LogError};
pub(super) use record::plain;
pub use record::{Ending, Session};
pub use verify::{Intact, Tampered, Tampering, verify};
