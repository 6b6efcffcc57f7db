//! What a text leaves behind by which it is known again: values that nobody
//! writes by chance, and runs of its words.
//!
//! A word counts as a value for its digits and signs, never for being long:
//! numbers of six digits and more, addresses, URLs and hosts, identifiers, runs
//! that mix letters and digits. Dates, sizes, round numbers and words of a
//! dictionary are none. Everything is kept as 64-bit marks, and taking a text in
//! is linear in it.

use std::collections::{BTreeSet, HashMap, HashSet};

/// Words in a row that make a run known again.
const RUN: usize = 7;
/// Words in a row by which a short text is found in a long one.
const GRAM: usize = 3;
/// The longest phrase, in words.
const PHRASE: usize = 6;
/// The letters and digits by which a value is found inside of others.
const ANCHOR: usize = 6;
/// What is longer than this is known by its beginning.
const LONGEST: usize = 64;
/// Long secrets are also known by pieces of this length.
const PIECE: usize = 8;
/// How many marks a memory holds. Past that it can't follow any more.
const MAX_MARKS: usize = 1 << 20;

/// Marks of texts, to be found again.
#[derive(Debug, Default)]
pub(in crate::gate) struct Memory {
    marks: HashSet<u64>,
    /// How long the values are that begin with these letters and digits.
    anchors: HashMap<u64, BTreeSet<usize>>,
    /// How many words the phrases have.
    phrases: BTreeSet<usize>,
    full: bool,
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
                self.plain.push(mark(b'r', window.0));
            }
        }
        for window in words.hashes.windows(GRAM) {
            self.plain.push(mark(b'g', window));
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
        let capitals = raw.split_whitespace().filter(|word| word.starts_with(char::is_uppercase)).count();
        let words = Words::of(&raw.to_lowercase());
        let count = words.hashes.len();
        if (2..=PHRASE).contains(&count) && (capitals >= 2 || count >= 4) {
            self.phrases.push((count, mark(b'p', &words.hashes)));
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
            .cloned()
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
            Class::Word => false,
            Class::Value => self.has(mark_text(b't', token)),
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
    fn find_run(&self, words: &Words) -> Option<String> {
        let run = words.hashes.windows(RUN).any(|window| self.has(mark(b'r', window)));
        let phrase = |count: &usize| {
            let at = words.hashes.windows(*count).position(|window| self.has(mark(b'p', window)))?;
            Some(words.plain[at..at + count].join(" "))
        };
        run.then(String::new).or_else(|| self.phrases.iter().find_map(phrase))
    }

    /// A short text that stands as it is in what is remembered.
    fn find_whole(&self, words: &Words) -> Option<String> {
        let count = words.hashes.len();
        let letters: usize = words.plain.iter().map(String::len).sum();
        let says_something = words.weights.iter().any(|weight| *weight);
        ((GRAM..=2 * RUN).contains(&count)
            && letters >= 12
            && says_something
            && words.hashes.windows(GRAM).all(|window| self.has(mark(b'g', window))))
        .then(|| words.plain.join(" "))
    }
}

/// A text, cut up.
#[derive(Debug, Default)]
struct Words {
    /// What may be a value, signs included.
    tokens: Vec<String>,
    /// Groups of digits that stand side by side, joined.
    joined: Vec<String>,
    /// The words, letters and digits alone.
    plain: Vec<String>,
    hashes: Vec<u64>,
    /// Whether the word says something by itself.
    weights: Vec<bool>,
}

impl Words {
    fn of(text: &str) -> Self {
        let mut words = Self::default();
        let mut group = String::new();
        let mut groups = 0;
        let end_group = |group: &mut String, groups: &mut usize, joined: &mut Vec<String>| {
            if *groups > 1 && group.bytes().filter(u8::is_ascii_digit).count() >= 8 {
                joined.push(std::mem::take(group));
            }
            group.clear();
            *groups = 0;
        };
        for token in text.split(|c: char| c.is_whitespace() || is_bracket(c)).filter(|token| !token.is_empty()) {
            let token = token.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '*' | '-' | '#' | '&' | '='));
            let is_group = token.len() >= 2
                && token.len() <= 8
                && token.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && token.bytes().any(|byte| byte.is_ascii_digit());
            if is_group {
                group.push_str(token);
                groups += 1;
            } else {
                end_group(&mut group, &mut groups, &mut words.joined);
            }
            if token.len() >= ANCHOR {
                words.tokens.push(token.to_owned());
                // `?to=a@b.example&id=77…`: what stands between the signs of a URL.
                if token.contains(['=', '&', '?']) {
                    let parts =
                        token.split(['=', '&', '?']).filter(|part| part.len() >= ANCHOR && part.len() < token.len());
                    words.tokens.extend(parts.map(str::to_owned));
                }
            }
            for word in token.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                words.hashes.push(mark_text(b'w', word));
                words.weights.push(word.chars().count() >= 5 && !is_common(word));
                words.plain.push(word.to_owned());
            }
        }
        end_group(&mut group, &mut groups, &mut words.joined);
        words
    }
}

fn is_bracket(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '|' | ',' | ';')
        || (!c.is_ascii() && !c.is_alphanumeric())
}

/// Words of polite letters, which make no run remarkable.
fn is_common(word: &str) -> bool {
    const COMMON: &[&str] = &[
        "about",
        "after",
        "again",
        "anything",
        "attached",
        "because",
        "before",
        "below",
        "best",
        "concerns",
        "contact",
        "could",
        "every",
        "everything",
        "feedback",
        "feel",
        "forward",
        "further",
        "great",
        "happy",
        "hello",
        "here",
        "hesitate",
        "kind",
        "looking",
        "looks",
        "many",
        "more",
        "please",
        "possible",
        "questions",
        "reach",
        "regards",
        "should",
        "sincerely",
        "something",
        "soon",
        "thank",
        "thanks",
        "their",
        "there",
        "these",
        "thing",
        "things",
        "think",
        "those",
        "through",
        "under",
        "until",
        "where",
        "which",
        "while",
        "within",
        "without",
        "would",
        "years",
        "yours",
    ];
    COMMON.binary_search(&word).is_ok()
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

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Nothing by which it would be known again.
    Word,
    /// A number, an identifier, a key, a path.
    Value,
    /// An e-mail address.
    Address,
    /// A URL.
    Url,
    /// A host's name.
    Host,
}

fn classify(token: &str) -> Class {
    if token.len() < ANCHOR {
        return Class::Word;
    }
    if token.contains("://") {
        return Class::Url;
    }
    if let Some((user, host)) = token.split_once('@')
        && !user.is_empty()
        && host.contains('.')
    {
        return Class::Address;
    }
    let (mut digits, mut letters, mut turns, mut last) = (0, 0, 0, None);
    for c in token.chars().filter(|c| c.is_alphanumeric()) {
        let is_digit = c.is_ascii_digit();
        if is_digit {
            digits += 1;
        } else {
            letters += 1;
        }
        turns += usize::from(last.is_some_and(|last| last != is_digit));
        last = Some(is_digit);
    }
    if digits > 0 {
        if is_date(token) {
            return Class::Word;
        }
        let significant = if letters == 0 { squeezed(token).trim_matches('0').len() } else { digits };
        let is_value = significant >= 6
            || (digits >= 5 && letters >= 1 && digits + letters >= 8)
            || (digits >= 2 && turns >= 4 && digits + letters >= 8);
        if is_value {
            return Class::Value;
        }
    }
    let parts = token.split('_').filter(|part| part.chars().any(char::is_alphabetic)).count();
    let slashes = token.matches('/').count();
    if (parts >= 2 && letters + digits >= 10)
        || (letters + digits >= 8 && (slashes >= 2 || (slashes == 1 && token.starts_with(['/', '~']))))
        || (letters + digits >= 24 && !token.contains(['-', '.', '/']))
    {
        return Class::Value;
    }
    if is_host(token) { Class::Host } else { Class::Word }
}

/// Dates, times, spans of years: everybody writes them.
fn is_date(token: &str) -> bool {
    let groups: Vec<&str> = token
        .split(|c: char| matches!(c, '-' | '/' | '.' | ':' | 't' | 'z' | '+' | '_'))
        .filter(|group| !group.is_empty())
        .collect();
    let is_year = |group: &str| group.len() == 4 && (group.starts_with("19") || group.starts_with("20"));
    let is_part = |group: &str| group.len() <= 2 && group.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = token.contains('.') && groups.len() > 6;
    (2..=9).contains(&groups.len())
        && groups.iter().enumerate().all(|(at, group)| {
            is_year(group) || is_part(group) || (fraction && at >= 6 && group.bytes().all(|byte| byte.is_ascii_digit()))
        })
        && groups.iter().filter(|group| is_year(group)).count() >= usize::from(groups.len() > 1 && !token.contains(':'))
}

/// `collect.example`, and not `notes.txt`.
fn is_host(token: &str) -> bool {
    const FILES: &[&str] = &[
        "bak", "bat", "cfg", "conf", "cpp", "css", "csv", "docx", "env", "exe", "gif", "go", "gz", "html", "htm",
        "ini", "ipynb", "java", "jpeg", "jpg", "js", "json", "jsx", "kt", "lock", "log", "md", "mjs", "mp3", "mp4",
        "odt", "pdf", "php", "png", "pptx", "py", "rb", "rs", "rst", "sh", "sql", "svg", "tar", "tex", "tf", "toml",
        "ts", "tsv", "tsx", "txt", "wav", "webp", "xlsx", "xml", "yaml", "yml", "zip",
    ];
    let labels: Vec<&str> = token.split('.').collect();
    labels.len() >= 2
        && token.len() >= 8
        && labels
            .iter()
            .all(|label| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        && labels.last().is_some_and(|last| {
            last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic()) && FILES.binary_search(last).is_err()
        })
}

/// Host and path of a URL, as text.
fn host_of(url: &str) -> Option<(&str, &str)> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let path = rest[end..].trim_start_matches('/');
    let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
    (!host.is_empty()).then_some((host, path))
}

/// Letters and digits alone.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

fn cut(text: &str, at: usize) -> &str {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// FNV-1a with a spread at the end; marks are never shown and never stored.
fn mark_bytes(kind: u8, bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    spread(bytes.iter().fold(step(0xcbf2_9ce4_8422_2325, kind), |hash, byte| step(hash, *byte)))
}

fn mark_text(kind: u8, text: &str) -> u64 {
    mark_bytes(kind, text.as_bytes())
}

fn mark(kind: u8, words: &[u64]) -> u64 {
    spread(
        words
            .iter()
            .fold(u64::from(kind), |hash, word| (hash.rotate_left(7) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    )
}

fn spread(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
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
    fn lists_are_sorted() {
        // They are searched by halves.
        for word in ["about", "looks", "yours", "please"] {
            assert!(is_common(word), "{word}");
        }
        for name in ["a-note.txt", "package.json", "setup.toml", "archive.zip", "backup.bak", "module.mjs"] {
            assert!(!is_host(name), "{name}");
        }
        assert!(is_host("collect.example"));
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
            let text: String = (0..600_000).map(|at| format!("{}{:06} ", round, at)).collect();
            let mut marks = Marks::default();
            marks.add(&text, "", false);
            memory.take(&marks, &[]);
        }
        assert!(memory.is_full());
    }
}
