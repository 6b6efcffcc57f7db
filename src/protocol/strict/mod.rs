//! A strict JSON reader that keeps where everything stood.
//!
//! It differs from an ordinary reader in four ways that a gate needs: duplicate
//! keys are reported, numbers stay as spelled, nesting beyond the limit is
//! skipped over (so that the id of the message can still be read) instead of
//! ending the read, and a lone surrogate is a note and not an error.

mod node;
mod reader;
#[cfg(test)]
mod tests;

pub use node::{Kind, Member, Node};
use reader::Reader;

/// How deep values may nest before the reader stops building them.
pub const DEFAULT_DEPTH: usize = 512;

/// Where a read ended, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct SyntaxError {
    /// Offset in bytes from the start of the text.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// Something legal to read but dangerous to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A key stands twice in one object: two readers may choose differently.
    DuplicateKey {
        /// The key, unescaped.
        key: String,
        /// Where its later occurrence stands.
        at: usize,
    },
    /// Nesting beyond the limit; what lies below was not built.
    TooDeep {
        /// Where the value that was skipped begins.
        at: usize,
    },
    /// An escaped surrogate without its half.
    LoneSurrogate {
        /// Where the string begins.
        at: usize,
    },
}

/// A whole text, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The outermost value.
    pub root: Node,
    /// What was odd about it, in order.
    pub notes: Vec<Note>,
}

/// Reads `text` with the default depth limit.
///
/// # Errors
/// Where the text is not JSON by RFC 8259, or not UTF-8.
pub fn parse(text: &[u8]) -> Result<Document, SyntaxError> {
    parse_with(text, DEFAULT_DEPTH)
}

/// Reads `text`, building at most `depth` levels.
///
/// # Errors
/// Where the text is not JSON by RFC 8259, or not UTF-8.
pub fn parse_with(text: &[u8], depth: usize) -> Result<Document, SyntaxError> {
    let text = std::str::from_utf8(text).map_err(|error| SyntaxError { at: error.valid_up_to(), what: "not UTF-8" })?;
    Reader::new(text, depth).document()
}

/// The members of the outermost object that stand whole before the place where
/// `text` stops being JSON: what can be said of a damaged message.
pub fn beginning(text: &[u8]) -> Vec<Member> {
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(),
    };
    Reader::new(text, DEFAULT_DEPTH).beginning()
}
