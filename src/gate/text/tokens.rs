//! A text cut up into words and what may be values, and their 64-bit marks.

use std::{
    collections::HashSet,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::LazyLock,
};

/// The letters and digits by which a value is found inside of others; nothing
/// shorter is one.
pub(super) const ANCHOR: usize = 6;

/// A text, cut up.
#[derive(Debug, Default)]
pub(super) struct Words<'a> {
    /// What may be a value, signs included.
    pub(super) tokens: Vec<&'a str>,
    /// Groups of digits that stand side by side, joined.
    pub(super) joined: Vec<String>,
    /// The words, letters and digits alone.
    pub(super) plain: Vec<&'a str>,
    /// A mark each.
    pub(super) hashes: Vec<u64>,
    /// Whether the word says something by itself.
    pub(super) weights: Vec<bool>,
}

impl<'a> Words<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut words = Self::default();
        let mut group = Group::default();
        for token in text.split(|c: char| c.is_whitespace() || is_bracket(c)).filter(|token| !token.is_empty()) {
            let token = token.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '*' | '-' | '#' | '&' | '='));
            if !group.takes(token) {
                words.joined.extend(group.end());
            }
            if token.len() >= ANCHOR {
                words.tokens.push(token);
                // `?to=a@b.example&id=77…`: what stands between the signs of a URL.
                if token.contains(['=', '&', '?']) {
                    let parts = token.split(['=', '&', '?']);
                    words.tokens.extend(parts.filter(|part| part.len() >= ANCHOR && part.len() < token.len()));
                }
            }
            for word in token.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                words.hashes.push(mark_text(b'w', word));
                words.weights.push(word.len() >= 5 && !COMMON.contains(word));
                words.plain.push(word);
            }
        }
        words.joined.extend(group.end());
        words
    }

    /// How many of the words say something.
    pub(super) fn weight(&self) -> usize {
        self.weights.iter().filter(|weight| **weight).count()
    }
}

/// Short words with digits side by side, such as `4929 1182 0045`.
#[derive(Default)]
struct Group {
    text: String,
    count: usize,
}

impl Group {
    fn takes(&mut self, token: &str) -> bool {
        let fits = (2..=8).contains(&token.len())
            && token.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && token.bytes().any(|byte| byte.is_ascii_digit());
        if fits {
            self.text.push_str(token);
            self.count += 1;
        }
        fits
    }

    fn end(&mut self) -> Option<String> {
        let whole = std::mem::take(self);
        (whole.count > 1 && whole.text.bytes().filter(u8::is_ascii_digit).count() >= 8).then_some(whole.text)
    }
}

fn is_bracket(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '|' | ',' | ';')
        || (!c.is_ascii() && !c.is_alphanumeric())
}

/// Words of polite letters, which make no run remarkable.
static COMMON: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let words = "about after again anything attached because before below best concerns contact could every \
                 everything feedback feel forward further great happy hello here hesitate kind looking looks many \
                 more please possible questions reach regards should sincerely something soon thank thanks their \
                 there these thing things think those through under until where which while within without would \
                 years yours";
    words.split_whitespace().collect()
});

/// What files' names end in: `notes.txt` is no host.
static FILES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let endings = "bak bat cfg conf cpp css csv docx env exe gif go gz html htm ini ipynb java jpeg jpg js json jsx kt \
                   lock log md mjs mp3 mp4 odt pdf php png pptx py rb rs rst sh sql svg tar tex tf toml ts tsv tsx txt \
                   wav webp xlsx xml yaml yml zip";
    endings.split_whitespace().collect()
});

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Nothing by which it would be known again.
    Word,
    /// A number or a key.
    Value,
    /// A path: known as it is written.
    Path,
    /// An identifier without digits: known whole, in any spelling of its separators.
    Name,
    /// An e-mail address.
    Address,
    /// A URL.
    Url,
    /// A host's name.
    Host,
}

pub(super) fn classify(token: &str) -> Class {
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
    if parts >= 3 && letters + digits >= 10 {
        return Class::Name;
    }
    if letters + digits >= 8 && (slashes >= 2 || (slashes == 1 && token.starts_with(['/', '~']))) {
        return Class::Path;
    }
    if letters + digits >= 24 && !token.contains(['-', '.', '/']) {
        return Class::Value;
    }
    if is_host(token) { Class::Host } else { Class::Word }
}

/// Dates, times, spans of years: everybody writes them.
fn is_date(token: &str) -> bool {
    let groups: Vec<&str> =
        token.split(['-', '/', '.', ':', 't', 'z', '+', '_']).filter(|group| !group.is_empty()).collect();
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
    let labels: Vec<&str> = token.split('.').collect();
    labels.len() >= 2
        && token.len() >= 8
        && labels
            .iter()
            .all(|label| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        && labels.last().is_some_and(|last| {
            last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic()) && !FILES.contains(last)
        })
}

/// Host and path of a URL, as text.
pub(super) fn host_of(url: &str) -> Option<(&str, &str)> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let path = rest[end..].trim_start_matches('/');
    let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
    (!host.is_empty()).then_some((host, path))
}

/// Letters and digits alone.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

pub(super) fn cut(text: &str, at: usize) -> &str {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A different start in each process: nobody can choose texts whose marks collide.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());

/// FNV-1a with a spread at the end; marks are never shown and never stored.
pub(super) fn mark_bytes(kind: u8, bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    spread(bytes.iter().fold(step(*SEED, kind), |hash, byte| step(hash, *byte)))
}

pub(super) fn mark_text(kind: u8, text: &str) -> u64 {
    mark_bytes(kind, text.as_bytes())
}

/// The mark of words in a row.
pub(super) fn mark_words(kind: u8, words: &[u64]) -> u64 {
    let step = |hash: u64, word: &u64| (hash.rotate_left(7) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread(words.iter().fold(u64::from(kind), step))
}

fn spread(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_no_files_and_dates_no_values() {
        for name in ["a-note.txt", "package.json", "setup.toml", "archive.zip", "1.2.3.4", "e.g.example.", "-.-.-.-"] {
            assert_ne!(classify(name), Class::Host, "{name}");
        }
        assert_eq!(classify("collect.example"), Class::Host);
        for date in ["2031-05-02", "2031-05-02t10:00:00z", "02.05.2031", "10:00:00", "2030-2031", "1000000"] {
            assert_eq!(classify(date), Class::Word, "{date}");
        }
    }
}
