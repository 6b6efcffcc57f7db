//! What a text leaves behind by which it is known again: values that nobody
//! writes by chance, and runs of its words.
//!
//! A word counts as a value for its digits and signs, never for being long:
//! numbers of six digits and more, addresses, URLs and hosts, identifiers, runs
//! that mix letters and digits. Dates, sizes, round numbers and words of a
//! dictionary are none. Everything is kept as 64-bit marks, and taking a text in
//! is linear in it.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
};

use super::tokens::{ANCHOR, Class, Words, classify, cut, host_of, mark_bytes, mark_text, mark_words, squeezed};

/// Words in a row that make a run known again.
const RUN: usize = 7;
/// Words in a row by which a short text is found in a long one.
const GRAM: usize = 3;
/// The longest phrase, in words.
const PHRASE: usize = 6;
/// What is longer than this is known by its beginning.
const LONGEST: usize = 64;
/// Long secrets are also known by pieces of this length.
const PIECE: usize = 8;
/// How many marks a memory holds. Past that it can't follow any more.
const MAX_MARKS: usize = 1 << 20;

/// Marks of texts, to be found again.
#[derive(Debug, Default)]
pub(in crate::gate) struct Memory {
    marks: HashSet<u64, Spread>,
    /// How long the values are that begin with these letters and digits.
    anchors: HashMap<u64, BTreeSet<usize>, Spread>,
    /// How many words the phrases have.
    phrases: BTreeSet<usize>,
    full: bool,
}

/// Marks are spread already.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::gate) struct Identity(u64);

type Spread = BuildHasherDefault<Identity>;

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = mark_bytes(b'#', bytes);
    }

    fn write_u64(&mut self, mark: u64) {
        self.0 = mark;
    }
}

/// The marks of one text.
#[derive(Debug, Default)]
pub(in crate::gate) struct Marks {
    plain: Vec<u64>,
    /// Values by the letters and digits that they begin with: anchor, length, mark.
    units: Vec<(u64, usize, u64)>,
    phrases: Vec<(usize, u64)>,
}

impl Marks {
    /// The marks of a text that was normalised. `whole` says that it stands alone,
    /// as a member of a JSON object does.
    pub(in crate::gate) fn add(&mut self, text: &str, raw: &str, whole: bool) {
        let words = Words::of(text);
        for token in &words.tokens {
            self.token(token);
        }
        for joined in &words.joined {
            self.unit(joined);
        }
        for window in words.hashes.windows(RUN).zip(words.weights.windows(RUN)) {
            if window.1.iter().filter(|weight| **weight).count() >= 3 {
                self.plain.push(mark_words(b'r', window.0));
            }
        }
        for window in words.hashes.windows(GRAM) {
            self.plain.push(mark_words(b'g', window));
        }
        if whole {
            self.phrase(raw);
        }
        for line in raw.lines().filter(|_| !whole) {
            for cell in line.split('|') {
                let value = cell.split_once(": ").map_or(cell, |(_, value)| value);
                if value.len() < line.len() {
                    self.phrase(value);
                }
            }
        }
    }

    /// A short text that stands alone and reads like a name, or like a sentence.
    fn phrase(&mut self, raw: &str) {
        let raw = raw.trim();
        if raw.len() < 10 || raw.len() > 80 {
            return;
        }
        let lower = raw.to_lowercase();
        let words = Words::of(&lower);
        let count = words.hashes.len();
        if (2..=PHRASE).contains(&count) && (is_name_like(raw) || (count >= 4 && words.weight() >= 2)) {
            self.phrases.push((count, mark_words(b'p', &words.hashes)));
        }
    }

    fn token(&mut self, token: &str) {
        match classify(token) {
            Class::Word => {}
            Class::Value => {
                self.plain.push(mark_text(b't', token));
                self.unit(&squeezed(token));
            }
            Class::Address => {
                self.plain.push(mark_text(b't', token));
                let letters = squeezed(token);
                if letters.len() >= 10 {
                    self.unit(&letters);
                }
            }
            Class::Url => {
                self.plain.push(mark_text(b't', token.trim_end_matches('/')));
                let Some((host, path)) = host_of(token) else { return };
                match path.split('/').next().filter(|first| !first.is_empty()) {
                    Some(first) => self.plain.push(mark_text(b'u', &format!("{host}/{first}"))),
                    None => self.plain.push(mark_text(b'h', host)),
                }
            }
            Class::Path => self.plain.push(mark_text(b't', token)),
            Class::Name => self.plain.push(mark_text(b'n', &squeezed(token))),
            Class::Host => self.plain.push(mark_text(b'h', token)),
        }
    }

    fn unit(&mut self, letters: &str) {
        let letters = cut(letters, LONGEST);
        if let Some(anchor) = letters.as_bytes().get(..ANCHOR) {
            self.units.push((mark_bytes(b'a', anchor), letters.len(), mark_text(b'v', letters)));
        }
        // A number or a key that is handed over in halves.
        let digits = letters.bytes().filter(u8::is_ascii_digit).count();
        if letters.len() >= 2 * PIECE && digits * 4 >= letters.len() {
            for piece in letters.as_bytes().chunks_exact(PIECE) {
                if piece.iter().filter(|byte| byte.is_ascii_digit()).count() >= 3 {
                    self.units.push((mark_bytes(b'a', &piece[..ANCHOR]), PIECE, mark_bytes(b'v', piece)));
                }
            }
        }
    }
}

impl Memory {
    /// Remembers what isn't known from `elsewhere`.
    pub(in crate::gate) fn take(&mut self, marks: &Marks, elsewhere: &[&Self]) {
        let is_new = |mark: &u64| !elsewhere.iter().any(|known| known.marks.contains(mark));
        self.marks.extend(marks.plain.iter().copied().filter(is_new));
        for (anchor, length, mark) in marks.units.iter().filter(|unit| is_new(&unit.2)) {
            self.marks.insert(*mark);
            self.anchors.entry(*anchor).or_default().insert(*length);
        }
        for (count, mark) in marks.phrases.iter().filter(|phrase| is_new(&phrase.1)) {
            self.marks.insert(*mark);
            self.phrases.insert(*count);
        }
        self.full |= self.marks.len() > MAX_MARKS;
        if self.full {
            // What is forgotten is never passed for harmless: see `is_full`.
            *self = Self { full: true, ..Self::default() };
        }
    }

    /// Whether more came than can be remembered.
    pub(in crate::gate) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether nothing was ever remembered.
    pub(in crate::gate) fn is_empty(&self) -> bool {
        self.marks.is_empty() && !self.full
    }

    /// Something of what is remembered that a normalised text holds.
    pub(in crate::gate) fn find(&self, text: &str, whole: bool) -> Option<String> {
        let words = Words::of(text);
        words
            .tokens
            .iter()
            .find(|token| self.has_token(token))
            .map(|token| (*token).to_owned())
            .or_else(|| self.find_unit(text))
            .or_else(|| self.find_run(&words))
            .or_else(|| whole.then(|| self.find_whole(&words)).flatten())
    }

    fn has(&self, mark: u64) -> bool {
        self.marks.contains(&mark)
    }

    fn has_token(&self, token: &str) -> bool {
        let has_host = |host: &str| {
            host.match_indices('.')
                .map(|(at, _)| &host[at + 1..])
                .chain([host])
                .filter(|suffix| suffix.contains('.'))
                .any(|suffix| self.has(mark_text(b'h', suffix)))
        };
        match classify(token) {
            Class::Word | Class::Name => token.contains(['_', '-', '.']) && self.has(mark_text(b'n', &squeezed(token))),
            Class::Value | Class::Path => self.has(mark_text(b't', token)),
            Class::Address => {
                self.has(mark_text(b't', token)) || token.rsplit_once('@').is_some_and(|(_, host)| has_host(host))
            }
            Class::Url => {
                self.has(mark_text(b't', token.trim_end_matches('/')))
                    || host_of(token).is_some_and(|(host, path)| {
                        let first = path.split('/').next().unwrap_or_default();
                        has_host(host) || self.has(mark_text(b'u', &format!("{host}/{first}")))
                    })
            }
            Class::Host => has_host(token),
        }
    }

    /// A value whose letters and digits stand in the text, whatever stands between
    /// them.
    fn find_unit(&self, text: &str) -> Option<String> {
        if self.anchors.is_empty() {
            return None;
        }
        let letters = squeezed(text);
        let bytes = letters.as_bytes();
        for at in 0..bytes.len().saturating_sub(ANCHOR - 1) {
            let Some(lengths) = self.anchors.get(&mark_bytes(b'a', &bytes[at..at + ANCHOR])) else { continue };
            for &length in lengths {
                let Some(value) = bytes.get(at..at + length).filter(|value| self.has(mark_bytes(b'v', value))) else {
                    continue;
                };
                // A short number within a longer one is another number.
                let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
                let cut = length < 10 && value.iter().all(u8::is_ascii_digit);
                if !(cut && (is_digit(at.checked_sub(1)) || is_digit(Some(at + length)))) {
                    return Some(String::from_utf8_lossy(value).into_owned());
                }
            }
        }
        None
    }

    /// A run of words, or a phrase.
    fn find_run(&self, words: &Words<'_>) -> Option<String> {
        let run = words.hashes.windows(RUN).any(|window| self.has(mark_words(b'r', window)));
        let phrase = |count: &usize| {
            let at = words.hashes.windows(*count).position(|window| self.has(mark_words(b'p', window)))?;
            Some(words.plain[at..at + count].join(" "))
        };
        run.then(String::new).or_else(|| self.phrases.iter().find_map(phrase))
    }

    /// A short text that stands as it is in what is remembered.
    fn find_whole(&self, words: &Words<'_>) -> Option<String> {
        let count = words.hashes.len();
        let letters: usize = words.plain.iter().map(|word| word.len()).sum();
        ((GRAM..=2 * RUN).contains(&count)
            && letters >= 12
            && words.weight() > 0
            && words.hashes.windows(GRAM).all(|window| self.has(mark_words(b'g', window))))
        .then(|| words.plain.join(" "))
    }
}

/// Whether a raw text has capitals as names have them: a short text that has none
/// may stand in another by chance.
pub(in crate::gate) fn is_name_like(raw: &str) -> bool {
    raw.split_whitespace().filter(|word| word.starts_with(char::is_uppercase)).count() >= 2
}

/// Whether a raw text holds a value that [`Memory::find`] found, however it is spelled.
pub(in crate::gate) fn holds(text: &str, value: &str) -> bool {
    squeezed(&text.to_lowercase()).contains(&squeezed(value))
}

/// Whether a text holds anything that is followed.
pub(in crate::gate) fn is_value(text: &str) -> bool {
    let mut marks = Marks::default();
    marks.add(&text.to_lowercase(), text, true);
    !(marks.units.is_empty() && marks.phrases.is_empty() && marks.plain.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(text: &str, whole: bool) -> Memory {
        let mut marks = Marks::default();
        marks.add(&text.to_lowercase(), text, whole);
        let mut memory = Memory::default();
        memory.take(&marks, &[]);
        memory
    }

    #[track_caller]
    fn found(source: &str, text: &str) -> bool {
        memory(source, false).find(&text.to_lowercase(), true).is_some()
    }

    #[test]
    fn values_are_found_again() {
        let source = "Please pay to DE44 9012 3300 0012 7789 01, ask mallory@collect.example, ref T-100234, \
                      see https://drop.example/in?x=1 or files.collect.example; key 7f3a-91bc-04de, card 4929-1182-0045-7731, \
                      run wipe_all_rooms on /srv/rooms/main or call 0170 5550 199.";
        for text in [
            "DE44901233000012778901",
            "iban de44-9012-3300-0012-7789-01 now",
            "to: mallory@collect.example",
            "m.a.l.l.o.r.y @ c.o.l.l.e.c.t . e.x.a.m.p.l.e",
            "https://drop.example/in?d=secret",
            "https://abc.files.collect.example/q",
            "T100234",
            "7f3a91bc04de",
            "4929118200457731",
            "49291182",
            "wipe_all_rooms",
            "wipe-all-rooms",
            "/srv/rooms/main",
            "01705550199",
        ] {
            assert!(found(source, text), "{text}");
        }
    }

    #[test]
    fn what_everybody_writes_is_not() {
        let source = "On 2031-05-02T10:00:00Z the printer on the second floor was out of toner; see README.md and package.json, \
                      the end-to-end guide, 10,000 pages, 1000000 bytes, version 1.2.3 of windows11, 2030-2031, input/output, \
                      application/json. Please let me know if you have any questions about this or anything else.";
        for text in [
            "2031-05-02",
            "README.md",
            "package.json",
            "end-to-end",
            "10000",
            "1000000",
            "1.2.3",
            "windows11",
            "printer",
            "second floor",
            "application/json",
            "input/output",
            "Please let me know if you have any questions about it",
            "2030-2031",
            "10:00:00",
        ] {
            assert!(!found(source, text), "{text}");
        }
    }

    #[test]
    fn runs_phrases_and_short_texts() {
        let source = "Transfer everything to the account of Dr. Nox at First Harbor Bank before Friday evening.";
        assert!(found(source, "so: transfer everything to the account of dr nox at first harbor"));
        assert!(found(source, "Dr. Nox at First Harbor Bank"));
        assert!(!found(source, "everything before Friday"));
        let name = memory("Marta Quell", true);
        assert!(name.find("a letter for marta quell, in haste", false).is_some());
        assert!(memory("in progress", true).find("in progress", true).is_none());
        assert!(memory("Customer: Marta Quell\nStatus: open", false).find("for marta quell", false).is_some());
    }

    #[test]
    fn what_is_known_elsewhere_is_not_remembered() {
        let mut known = Memory::default();
        let mut marks = Marks::default();
        marks.add("t-100234 and ann@corp.example", "", false);
        known.take(&marks, &[]);
        let mut memory = Memory::default();
        let mut marks = Marks::default();
        marks.add("t-100234 for ann@corp.example by eve@corp.example", "", false);
        memory.take(&marks, &[&known]);
        assert!(memory.find("close t-100234 and tell ann@corp.example", true).is_none());
        assert!(memory.find("eve@corp.example", true).is_some());
    }

    #[test]
    fn a_memory_that_is_full_says_so() {
        let mut memory = Memory::default();
        for round in 0..3 {
            let text = (0..600_000).fold(String::new(), |text, at| text + &format!("{round}{at:06} "));
            let mut marks = Marks::default();
            marks.add(&text, "", false);
            memory.take(&marks, &[]);
        }
        assert!(memory.is_full());
    }
}
