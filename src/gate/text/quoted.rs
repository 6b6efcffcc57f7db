//! Orders in somebody's own words, told from those around them.

use super::{Hit, scan_text};

/// Whether a hit in `text` lies in one of `words` alone: then whoever wrote the
/// text only quotes. The whole order must stand in the quotation, and without
/// the quotation nothing may be found: an order must not begin or end in it.
pub fn is_quoted(text: &str, hit: &Hit, words: &[&str]) -> bool {
    words.iter().filter(|word| !word.is_empty()).any(|word| {
        let covers = |(at, _): (usize, &str)| at <= hit.span.start && hit.span.end <= at + word.len();
        text.match_indices(word).any(covers) && scan_text(&text.replace(word, " ")).is_empty()
    })
}
