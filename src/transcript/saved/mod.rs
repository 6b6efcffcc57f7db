//! Transcripts that outlive their run: JSON lines, which a later judge reads.
//!
//! The first line is a [`Header`], then comes one [`SavedTrial`] a line, in the
//! order in which trials ended. Raw bytes are kept exactly. What the gate says of
//! itself stands under a key of its own, as it does in memory.
//!
//! The values of a line are not those of a transcript: the file's form stays what
//! it is when these change, and these know nothing of the file.

mod line;
mod raw;
mod read;
#[cfg(test)]
mod tests;

pub use line::{Header, SCHEMA, SavedTranscript, SavedTrial, SavedVerdict};
pub use read::{Reader, SavedError};
