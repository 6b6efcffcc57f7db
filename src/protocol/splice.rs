//! Replaces spans of raw text and leaves every other byte alone.

use std::ops::Range;

use bytes::Bytes;

/// One replacement in a raw text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The bytes to replace; an empty range inserts.
    pub span: Range<usize>,
    /// What stands there afterwards.
    pub with: String,
}

/// Applies `splices` to `raw`, in order of position.
///
/// Splices that overlap an earlier one are skipped: removing a whole item wins
/// over a change inside it.
pub fn apply(raw: &[u8], splices: &[Splice]) -> Bytes {
    let mut ordered: Vec<&Splice> = splices.iter().collect();
    ordered.sort_by_key(|splice| (splice.span.start, usize::MAX - splice.span.end));
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    for splice in ordered {
        if splice.span.start < at || splice.span.end > raw.len() {
            continue;
        }
        out.extend_from_slice(&raw[at..splice.span.start]);
        out.extend_from_slice(splice.with.as_bytes());
        at = splice.span.end;
    }
    out.extend_from_slice(&raw[at..]);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splice(span: Range<usize>, with: &str) -> Splice {
        Splice { span, with: with.to_owned() }
    }

    #[test]
    fn replaces_and_keeps_the_rest() {
        let out = apply(b"abcdef", &[splice(4..5, "E"), splice(1..2, "bb"), splice(6..6, "!")]);
        assert_eq!(&out[..], b"abbcdEf!");
    }

    #[test]
    fn the_wider_span_wins() {
        let out = apply(b"abcdef", &[splice(2..3, "x"), splice(1..5, "")]);
        assert_eq!(&out[..], b"af");
    }
}
