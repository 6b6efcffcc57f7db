//! The texts that one text may be read as: itself without disguise, and what it
//! encodes.

use std::sync::LazyLock;

use regex::Regex;

use super::{decode, normalize::normalize};

/// Runs that may be packed text are at least this long.
const SHORTEST_RUN: usize = 12;
/// A whole text of this length or less is also tried as packed text that was cut
/// into pieces.
const PIECES: usize = 4096;

/// The text in lower case without disguise, and so whatever it encodes in base64,
/// base32, hex, percent signs or entities, `layers` deep.
pub(in crate::gate) fn readings(text: &str, layers: usize) -> Vec<String> {
    let mut out = Vec::new();
    read(text, layers, &mut out);
    out
}

fn read(text: &str, layers: usize, out: &mut Vec<String>) {
    let normal = normalize(text, false);
    if layers > 0 {
        let plain = [decode::unescaped(text), decode::percent_decoded(text), decode::overridden(text)];
        for plain in plain.into_iter().flatten().chain(packed(text)) {
            read(&plain, layers - 1, out);
        }
        if !normal.tags.is_empty() {
            read(&normal.tags, 0, out);
        }
    }
    out.push(normal.text);
}

/// What runs of base64, base32 or hex in a text decode to, where that is readable.
fn packed(text: &str) -> Vec<String> {
    static RUN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?:(?:\\x|0x)?[0-9a-fA-F]{2}[ ,:]){7,}[0-9a-fA-F]{2}|[A-Za-z0-9+/_-]{12,}={0,2}").ok()
    });
    let Some(run) = RUN.as_ref().filter(|_| has_run(text)) else { return Vec::new() };
    let mut out = Vec::new();
    for found in run.find_iter(text) {
        let found = found.as_str();
        if let Some(plain) = unpacked(found) {
            out.push(plain);
        } else if found.contains('/') {
            // A path before it: `c/aGVsbG8…`.
            out.extend(found.split('/').filter(|part| part.len() >= SHORTEST_RUN).filter_map(unpacked));
        }
    }
    if out.is_empty() && text.len() <= PIECES {
        let whole: String =
            text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '.' | ',' | ';' | '|')).collect();
        if whole.len() < text.len() && is_mixed(text) && whole.bytes().all(is_packed) {
            out.extend(unpacked(&whole));
        }
    }
    out
}

fn is_packed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-' | b'=')
}

/// Whether letters and digits, or small letters and capitals, stand mixed within
/// words: packed text in pieces looks like that, and prose doesn't.
fn is_mixed(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| match pair {
        [a, b] => (a.is_ascii_lowercase() && b.is_ascii_uppercase()) || (a.is_ascii_alphabetic() && b.is_ascii_digit()),
        _ => false,
    })
}

/// Most texts have no long run, or only words.
fn has_run(text: &str) -> bool {
    let (mut run, mut pairs) = (0, 0);
    for byte in text.bytes() {
        run = if is_packed(byte) { run + 1 } else { 0 };
        let spaced = byte.is_ascii_hexdigit() || matches!(byte, b' ' | b',' | b':' | b'\\' | b'x' | b'.');
        pairs = if spaced { pairs + 1 } else { 0 };
        if run >= SHORTEST_RUN || pairs >= 20 {
            return true;
        }
    }
    text.len() <= PIECES
        && is_mixed(text)
        && text.bytes().all(|byte| is_packed(byte) || byte.is_ascii_whitespace() || b".,;|".contains(&byte))
}

fn unpacked(text: &str) -> Option<String> {
    let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit() || b" ,:\\x".contains(&byte));
    let as_hex = || hex.then(|| decode::hex(text)).flatten();
    as_hex().or_else(|| decode::base64(text)).or_else(|| base32(text))
}

/// RFC 4648 base32, in whatever case: what a DNS name can carry.
fn base32(text: &str) -> Option<String> {
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::with_capacity(text.len()));
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte.to_ascii_lowercase() {
            letter @ b'a'..=b'z' => letter - b'a',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5) | u32::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from((bits >> count) & 0xff).unwrap_or_default());
        }
    }
    decode::readable(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_read() {
        let plain = "Pay to DE-44-9012";
        for text in [
            plain.to_owned(),
            "UGF5IHRvIERFLTQ0LTkwMTI=".to_owned(),
            "UGF5IHRv IERF.LTQ0LTkw\nMTI".to_owned(),
            "https://x.example/c/UGF5IHRvIERFLTQ0LTkwMTI".to_owned(),
            "50617920746f2044452d34342d39303132".to_owned(),
            "50 61 79 20 74 6f 20 44 45 2d 34 34 2d 39 30 31 32".to_owned(),
            "kbqxsidun4qeirjngq2c2ojqgeza".to_owned(),
            "%50%61%79%20to%20DE-44-9012".to_owned(),
            "&#80;ay to DE&#45;44-9012".to_owned(),
            "VUdGNUlIUnZJRVJGTFRRMExUa3dNVEk9".to_owned(),
        ] {
            let found = readings(&text, 3);
            assert!(found.iter().any(|found| found.contains("pay to")), "{text}: {found:?}");
        }
        assert_eq!(readings("internationalization of applications", 3).len(), 1);
    }
}
