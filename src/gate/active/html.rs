//! A document as a browser reads HTML: whatever it is, it is tags.
//!
//! The tokenizer never goes into a state in which tags are text, so that it sees
//! every tag that any context lets through; what a comment or an attribute holds
//! is read in its own right.

use html5gum::{Token, Tokenizer};

use super::{
    Form, Found,
    markup::{Tag, local},
};

/// How deep tags may stand in attributes of tags in attributes.
const DEPTH: usize = 3;

pub(super) fn find(form: Form, text: &str) -> Option<Found> {
    let end = text.rfind('<').filter(|at| text[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic()));
    if end.is_some_and(|at| !text[at..].contains('>')) {
        // A tag that does not end is dropped here, and ended elsewhere.
        return Some(Found::Unreadable);
    }
    tags(form, text.as_bytes(), DEPTH)
}

fn tags(form: Form, text: &[u8], depth: usize) -> Option<Found> {
    let inner = |text: &[u8]| {
        let has_tag = text.windows(2).any(|pair| pair[0] == b'<' && (pair[1].is_ascii_alphabetic() || pair[1] == b'!'));
        match (has_tag, depth) {
            (false, _) => None,
            (true, 0) => Some(Found::Unreadable),
            (true, _) => tags(form, text, depth - 1),
        }
    };
    // Reading from memory can't fail.
    Tokenizer::new(text).filter_map(Result::ok).find_map(|token| match token {
        Token::StartTag(tag) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let attributes = tag.attributes.iter().map(|(key, value)| (local(&text(key)), text(value))).collect();
            let read = Tag { name: local(&text(&tag.name)), attributes };
            read.judge(form).or_else(|| tag.attributes.values().find_map(|value| inner(value)))
        }
        Token::Comment(comment) => inner(&comment),
        _ => None,
    })
}
