//! What a character of no width does where it stands.

use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategoryGroup, UnicodeEmoji as _, UnicodeGeneralCategory as _};
use unicode_script::{Script, UnicodeScript as _};

use super::{super::normalize::is_invisible, Concealment};

/// What a character of no width does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// A script needs it there.
    Writes,
    /// It selects a form of the character before it.
    Selects,
    /// Nothing needs it, and nothing is kept apart or said by it alone.
    Strays,
    /// It hides.
    Hides(Concealment),
    /// It is judged elsewhere.
    Elsewhere,
}

/// How many letters a text has of scripts that are written with such characters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Where {
    /// Of scripts with joiners, or without blanks.
    pub(super) joining: usize,
    /// Of scripts with variants of their characters.
    pub(super) selecting: usize,
}

impl Where {
    pub(super) fn of(chars: &[char]) -> Self {
        let count = |has: fn(char) -> bool| chars.iter().filter(|c| !c.is_ascii() && has(**c)).count();
        Self { joining: count(|c| joins(c) || is_unspaced(c)), selecting: count(has_variants) }
    }
}

/// Which characters are parts of emoji: selectors, joiners, tags.
pub(super) fn emoji(chars: &[char]) -> Vec<bool> {
    let mut parts = vec![false; chars.len()];
    let mut at = 0;
    let mut odd_flags = 0;
    let mut loose = 0;
    while at < chars.len() {
        let start = at;
        at += 1;
        if matches!(chars[start], '#' | '*' | '0'..='9') {
            // A keycap; elsewhere a digit is shown as text a few times at most.
            if matches!(chars.get(at), Some('\u{fe0e}' | '\u{fe0f}')) {
                let is_keycap = chars.get(at + 1) == Some(&'\u{20e3}');
                loose += usize::from(!is_keycap);
                parts[at] = is_keycap || loose <= LOOSE;
                at += 1;
            }
            continue;
        }
        if !is_pictograph(chars[start]) {
            continue;
        }
        at = dressed(chars, at, &mut parts);
        if chars[start] == '\u{1f3f4}' {
            let tags = chars[at..].iter().take_while(|c| matches!(c, '\u{e0020}'..='\u{e007e}')).count();
            let name: String =
                chars[at..at + tags].iter().filter_map(|c| char::from_u32(u32::from(*c) - 0xe_0000)).collect();
            let is_common = matches!(name.as_str(), "gbeng" | "gbsct" | "gbwls");
            odd_flags += usize::from(tags > 0 && !is_common);
            if chars.get(at + tags) == Some(&'\u{e007f}') && (is_common || (is_region(&name) && odd_flags <= ODD_FLAGS))
            {
                parts[at..=at + tags].fill(true);
                at += tags + 1;
            }
        }
        while chars.get(at) == Some(&JOINER) && chars.get(at + 1).is_some_and(|c| is_pictograph(*c)) {
            parts[at] = true;
            at = dressed(chars, at + 2, &mut parts);
        }
    }
    parts
}

/// Passes over a selector and a skin tone behind a pictograph.
fn dressed(chars: &[char], mut at: usize, parts: &mut [bool]) -> usize {
    for _ in 0..2 {
        match chars.get(at) {
            Some('\u{fe0e}' | '\u{fe0f}') if !parts[at - 1] => {
                parts[at] = true;
                at += 1;
            }
            Some('\u{1f3fb}'..='\u{1f3ff}') => at += 1,
            _ => break,
        }
    }
    at
}

const JOINER: char = '\u{200d}';
/// Digits and signs that may be dressed as text or emoji without being a keycap.
const LOOSE: usize = 3;
/// Flags that may be spelled in tags beside the three that are common.
const ODD_FLAGS: usize = 2;

fn is_pictograph(c: char) -> bool {
    !c.is_ascii() && c.is_emoji_char()
}

/// A subdivision of a region by its code: two letters and one to four letters or digits.
fn is_region(name: &str) -> bool {
    (3..=6).contains(&name.len())
        && name.bytes().take(2).all(|byte| byte.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Judges one character of no width that is no part of an emoji.
pub(super) fn judge(chars: &[char], at: usize) -> Sign {
    let c = chars[at];
    let (before, behind) = (neighbour(chars[..at].iter().rev()), neighbour(chars[at + 1..].iter()));
    let either = |has: fn(char) -> bool| before.is_some_and(has) || behind.is_some_and(has);
    let last = at.checked_sub(1).map(|at| chars[at]);
    let is_written = |needed| if needed { Sign::Writes } else { Sign::Hides(Concealment::Invisible) };
    match c {
        // What turns text is judged with all of it.
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Sign::Elsewhere,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => selector(c, last),
        '\u{e0000}'..='\u{e007f}' => Sign::Hides(Concealment::Tags),
        '\u{34f}' => is_written(last.is_some_and(is_combining_mark)),
        '\u{115f}' | '\u{1160}' => is_written(either(|c| c.script() == Script::Hangul)),
        '\u{17b4}' | '\u{17b5}' => is_written(either(|c| c.script() == Script::Khmer)),
        '\u{180b}'..='\u{180f}' => is_written(before.is_some_and(|c| c.script() == Script::Mongolian)),
        '\u{3164}' | '\u{ffa0}' | '\u{206a}'..='\u{206f}' | '\u{fff0}'..='\u{fffb}' => is_written(false),
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{feff}' => {
            let is_single = is_no_run(chars, at);
            let is_needed = match c {
                '\u{ad}' => hyphenates(chars, at),
                '\u{200c}' | '\u{200d}' => either(joins) || either(is_unspaced),
                '\u{200b}' | '\u{2060}' | '\u{feff}' => either(is_unspaced),
                _ => false,
            };
            let is_inside = before.is_some_and(char::is_alphanumeric) && behind.is_some_and(char::is_alphanumeric);
            match (is_single, is_needed) {
                // A soft hyphen has rules of its own, and says nothing.
                (true, true) if c == '\u{ad}' => Sign::Elsewhere,
                (true, true) => Sign::Writes,
                (true, false) if !is_inside => Sign::Strays,
                _ => Sign::Hides(Concealment::Invisible),
            }
        }
        _ => Sign::Hides(Concealment::Invisible),
    }
}

/// Whether a character of no width stands alone, or twice: translators leave
/// pairs of them behind, and a pair says nothing. Runs, and different ones side
/// by side, are digits of a code.
fn is_no_run(chars: &[char], at: usize) -> bool {
    // One more than a pair on either side is enough to tell a run.
    let is_thin = |c: &&char| is_thin(**c);
    let start = at - chars[..at].iter().rev().take(2).take_while(is_thin).count();
    let end = at + chars[at..].iter().take(3).take_while(is_thin).count();
    end - start <= 2 && chars[start..end].iter().all(|c| *c == chars[at])
}

/// Characters of no width that say nothing but by their number and order.
fn is_thin(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{feff}' | '\u{180e}')
}

/// The nearest character that is seen; marks belong to the letter before them.
fn neighbour<'a>(chars: impl Iterator<Item = &'a char>) -> Option<char> {
    const NEAR: usize = 8;
    chars.take(NEAR).copied().find(|c| !is_invisible(*c) && (!is_combining_mark(*c) || c.script() != Script::Inherited))
}

fn selector(c: char, base: Option<char>) -> Sign {
    let Some(base) = base.filter(|base| !base.is_ascii()) else { return Sign::Hides(Concealment::Selectors) };
    let group = base.general_category_group();
    let selects = match c {
        '\u{fe0e}' | '\u{fe0f}' => group == GeneralCategoryGroup::Symbol,
        '\u{e0100}'..='\u{e01ef}' => base.script() == Script::Han,
        _ => {
            has_variants(base)
                || group == GeneralCategoryGroup::Symbol
                || (group == GeneralCategoryGroup::Punctuation && !is_invisible(base))
        }
    };
    if selects && !is_invisible(base) { Sign::Selects } else { Sign::Hides(Concealment::Selectors) }
}

/// Whether a soft hyphen parts a long word into pieces that are more than letters.
fn hyphenates(chars: &[char], at: usize) -> bool {
    // No word that a person hyphenates goes on for so long in one direction.
    const LONGEST: usize = 64;
    let is_part = |c: &&char| **c == '\u{ad}' || c.is_alphabetic();
    let before = chars[..at].iter().rev().take(LONGEST).take_while(is_part).count();
    let behind = chars[at..].iter().take(LONGEST).take_while(is_part).count();
    if before.max(behind) == LONGEST {
        return false;
    }
    let word = &chars[at - before..at + behind];
    let letters = word.iter().filter(|c| **c != '\u{ad}').count();
    letters >= 8 && word.split(|c| *c == '\u{ad}').all(|piece| piece.len() >= 2)
}

/// Letters of scripts that join, which joiners and non-joiners steer.
fn joins(c: char) -> bool {
    matches!(
        c.script(),
        Script::Arabic
            | Script::Syriac
            | Script::Mandaic
            | Script::Nko
            | Script::Mongolian
            | Script::Phags_Pa
            | Script::Manichaean
            | Script::Psalter_Pahlavi
            | Script::Adlam
            | Script::Hanifi_Rohingya
            | Script::Devanagari
            | Script::Bengali
            | Script::Gurmukhi
            | Script::Gujarati
            | Script::Oriya
            | Script::Tamil
            | Script::Telugu
            | Script::Kannada
            | Script::Malayalam
            | Script::Sinhala
            | Script::Grantha
            | Script::Newa
            | Script::Chakma
            | Script::Meetei_Mayek
    )
}

/// Letters of scripts that are written without blanks, where breaks are marked.
fn is_unspaced(c: char) -> bool {
    matches!(
        c.script(),
        Script::Thai
            | Script::Lao
            | Script::Khmer
            | Script::Myanmar
            | Script::Tibetan
            | Script::Tai_Le
            | Script::New_Tai_Lue
            | Script::Tai_Tham
            | Script::Tai_Viet
            | Script::Javanese
            | Script::Balinese
            | Script::Han
            | Script::Hiragana
            | Script::Katakana
            | Script::Bopomofo
    )
}

/// Characters of which standardised variants exist.
fn has_variants(c: char) -> bool {
    matches!(
        c.script(),
        Script::Han
            | Script::Hiragana
            | Script::Katakana
            | Script::Hangul
            | Script::Myanmar
            | Script::Mongolian
            | Script::Phags_Pa
            | Script::Manichaean
            | Script::Egyptian_Hieroglyphs
    )
}

/// Letters that are written from right to left.
pub(super) fn is_rtl(c: char) -> bool {
    c.is_alphabetic()
        && matches!(
            c.script(),
            Script::Arabic
                | Script::Hebrew
                | Script::Syriac
                | Script::Thaana
                | Script::Nko
                | Script::Samaritan
                | Script::Mandaic
                | Script::Adlam
                | Script::Hanifi_Rohingya
        )
}
