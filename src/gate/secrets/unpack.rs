//! Undoes encodings, and puts together what was cut into chunks.

use std::sync::LazyLock;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use regex::bytes::Regex;

/// The text with its `%41` escapes decoded, where it has any.
pub(super) fn percent(text: &[u8]) -> Option<Vec<u8>> {
    let mut next = memchr::memchr(b'%', text)?;
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    let mut changed = false;
    loop {
        out.extend_from_slice(&text[at..next]);
        let digit = |offset: usize| text.get(next + offset).and_then(|byte| char::from(*byte).to_digit(16));
        if let (Some(high), Some(low)) = (digit(1), digit(2)) {
            out.push(u8::try_from(high * 16 + low).unwrap_or_default());
            changed = true;
            at = next + 3;
        } else {
            out.push(b'%');
            at = next + 1;
        }
        match memchr::memchr(b'%', &text[at..]) {
            Some(more) => next = at + more,
            None => break,
        }
    }
    out.extend_from_slice(&text[at..]);
    changed.then_some(out)
}

/// What could be encoded in the text, decoded: base64 from each of the four characters
/// that a group may begin at (a path before it is of the same alphabet), base32 and hex.
/// Of what comes out, only what can be read is shown: secrets are made of such characters,
/// and other text hardly ever decodes to a few of them in a row.
pub(super) fn stretches(text: &[u8], visit: &mut dyn FnMut(&[u8])) {
    static HEX: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?-u)(?:(?:\\x|0x)?[0-9a-fA-F]{2}[ ,:]?){12,}").ok());
    let mut show = |plain: &[u8]| {
        plain.split(|byte| !matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')).for_each(|run| {
            if run.len() >= SHORTEST_PLAIN {
                visit(run);
            }
        });
    };
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-');
    for stretch in text.split(|byte| !is_base64(byte)).filter(|stretch| stretch.len() >= SHORTEST_STRETCH) {
        for part in (0..4).map(|offset| &stretch[offset..]).filter(|part| may_read(part)) {
            if let Some(plain) = base64(part) {
                show(&plain);
            }
        }
        if let Some(plain) = base32(stretch) {
            show(&plain);
        }
    }
    if has_hex(text) {
        for found in HEX.iter().flat_map(|pattern| pattern.find_iter(text)) {
            show(&hex(found.as_bytes(), 0));
            show(&hex(found.as_bytes(), 1));
        }
    }
}

/// The shortest stretch that is decoded.
const SHORTEST_STRETCH: usize = 16;
/// The least that is shown of what was decoded.
const SHORTEST_PLAIN: usize = 12;

/// Whether three groups of base64 in a row begin as those of ASCII do, whose first bit
/// is none: with a letter up to `f`. Words hardly ever have one at every fourth place.
fn may_read(text: &[u8]) -> bool {
    let mut groups = 0;
    text.iter().step_by(4).any(|byte| {
        groups = if byte.is_ascii_uppercase() || matches!(byte, b'a'..=b'f') { groups + 1 } else { 0 };
        groups >= 3
    })
}

/// Whether 24 digits of hex stand in a row, or with signs between them: most text has none.
fn has_hex(text: &[u8]) -> bool {
    let mut digits = 0;
    text.iter().any(|byte| {
        let is_digit = byte.is_ascii_hexdigit();
        let goes_on = is_digit || matches!(byte, b' ' | b'\\' | b'x' | b',' | b':');
        digits = if goes_on { digits + usize::from(is_digit) } else { 0 };
        digits >= 24
    })
}

fn base64(text: &[u8]) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    let standard: Vec<u8> = text
        .iter()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => *byte,
        })
        .collect();
    // One character more than whole bytes is a stray one.
    let whole = standard.len() - usize::from(standard.len() % 4 == 1);
    STANDARD.decode(&standard[..whole]).ok()
}

/// Base32 in either case, without its padding.
pub(super) fn base32(text: &[u8]) -> Option<Vec<u8>> {
    if !text.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'2'..=b'7')) {
        return None;
    }
    let upper = text.to_ascii_uppercase();
    // Other counts than these are no whole bytes; what is over is dropped.
    let over = match upper.len() % 8 {
        1 | 3 | 6 => 1,
        _ => 0,
    };
    let mut whole = upper[..upper.len() - over].to_vec();
    let bits = whole.len() * 5 % 8;
    // The bits that are over must be none for the decoder.
    if bits > 0
        && let Some(last) = whole.last_mut()
    {
        let value = if last.is_ascii_digit() { *last - b'2' + 26 } else { *last - b'A' };
        let value = value >> bits << bits;
        *last = if value < 26 { b'A' + value } else { b'2' + value - 26 };
    }
    data_encoding::BASE32_NOPAD.decode(&whole).ok()
}

/// Pairs of hex digits, whatever stands between them.
pub(super) fn hex(text: &[u8], offset: usize) -> Vec<u8> {
    let mut digits = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        // The zero of `0x` is none of the digits.
        let leads = *byte == b'0' && text.get(at + 1) == Some(&b'x');
        digits.extend(char::from(*byte).to_digit(16).filter(|_| !leads).and_then(|digit| u8::try_from(digit).ok()));
    }
    digits.get(offset..).unwrap_or_default().chunks_exact(2).map(|pair| pair[0] * 16 + pair[1]).collect()
}

/// What strings say with the gaps between odd words taken out: words of small letters
/// (with a capital in front) are prose, and a chunk of a key rarely looks like one.
#[derive(Debug, Default)]
pub(super) struct Chunks<'a> {
    /// Cut at spaces and what isn't seen.
    spaced: Joined<'a>,
    /// Cut at dashes, dots and all other signs as well.
    signed: Joined<'a>,
}

#[derive(Debug, Default)]
struct Joined<'a> {
    out: Vec<u8>,
    /// The last words of prose: a key's chunks may look like so many in a row.
    bridge: [&'a [u8]; 2],
    /// More words than that stand behind the last odd one.
    is_cut: bool,
}

impl<'a> Chunks<'a> {
    /// Takes in a string; a key may go on in the next one.
    pub(super) fn add(&mut self, text: &'a str) {
        let is_space = |byte: &u8| !byte.is_ascii_graphic();
        let is_sign = |byte: &u8| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'/' | b'='));
        text.as_bytes().split(is_space).for_each(|word| self.spaced.add(word));
        text.as_bytes().split(is_sign).for_each(|word| self.signed.add(word));
    }

    /// The odd words, put together.
    pub(super) fn runs(&self) -> [&[u8]; 2] {
        [&self.spaced.out, &self.signed.out]
    }
}

impl<'a> Joined<'a> {
    fn add(&mut self, word: &'a [u8]) {
        let Some((first, rest)) = word.split_first() else { return };
        if !rest.is_empty() && first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase) {
            self.is_cut |= !self.bridge[0].is_empty();
            self.bridge = [self.bridge[1], word];
            return;
        }
        if self.is_cut && !self.out.is_empty() {
            self.out.push(b'\n');
        }
        self.is_cut = false;
        for word in std::mem::take(&mut self.bridge) {
            self.out.extend_from_slice(word);
        }
        self.out.extend_from_slice(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str) -> [String; 2] {
        let mut chunks = Chunks::default();
        chunks.add(text);
        chunks.runs().map(|run| String::from_utf8_lossy(run).into_owned())
    }

    #[test]
    fn chunks_come_together_and_prose_stays_out() {
        assert_eq!(runs("It is AKIA CANA-RY7Q abcd 2M4X and then nothing more")[1], "ItisAKIACANARY7Qabcd2M4X");
        assert_eq!(runs("We looked at all of it in the end")[0], "");
    }

    #[test]
    fn encodings_are_undone() {
        assert_eq!(percent(b"a%41%4").as_deref(), Some(&b"aA%4"[..]));
        assert_eq!(percent(b"100% sure"), None);
        assert_eq!(base32(b"mnqw4ylspe").as_deref(), Some(&b"canary"[..]));
        assert_eq!(hex(b"0x63 0x61\\x6e", 0), b"can");
        let says = |text: &[u8], plain: &[u8]| {
            let mut is_there = false;
            stretches(text, &mut |out| is_there |= memchr::memmem::find(out, plain).is_some());
            is_there
        };
        assert!(says(b"https://a.example/b/Q0FOQVJZLWEtbG9uZy1vbmU", b"CANARY-a-long"));
        assert!(says(b"43414e4152592d612d6c6f6e672d6f6e65", b"CANARY-a-long"));
    }
}
