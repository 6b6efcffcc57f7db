//! Characters that hide text from its reader, told from those that write it.
//!
//! Persian, Hindi and Thai are written with joiners and breaks of no width,
//! Arabic and Hebrew with marks of direction, emoji with selectors, joiners and
//! tags. The same characters between Latin letters, in runs, or where nothing
//! could need them, say something that no screen shows. `signs` says what a
//! character is, `direction` judges what turns text round.

mod direction;
mod signs;

use std::collections::BTreeMap;

use super::normalize::is_invisible;
use crate::protocol::strict::Node;
use signs::{Sign, Where};

/// What hides, in kinds that a policy may except.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concealment {
    /// Control characters and the terminal sequences that begin with one.
    Control,
    /// Tag characters outside of a flag.
    Tags,
    /// Variation selectors that select nothing.
    Selectors,
    /// What turns text round, or does so and doesn't end.
    Direction,
    /// Anything else of no width where no script needs it.
    Invisible,
}

impl Concealment {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Control, Self::Tags, Self::Selectors, Self::Direction, Self::Invisible];

    /// The id in policies.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Tags => "tags",
            Self::Selectors => "selectors",
            Self::Direction => "direction",
            Self::Invisible => "invisible",
        }
    }
}

/// What hides in one string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// Which kind.
    pub kind: Concealment,
    /// A JSON pointer to the string, or to the member whose name it is.
    pub path: String,
    /// Which characters, and how many of each.
    pub signs: BTreeMap<char, usize>,
}

impl Hidden {
    /// The characters by their code points, never what they spell.
    pub fn code_points(&self) -> String {
        const SHOWN: usize = 3;
        let mut by_count: Vec<_> = self.signs.iter().collect();
        by_count.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let shown: Vec<_> =
            by_count.iter().take(SHOWN).map(|(c, count)| format!("U+{:04X} ×{count}", u32::from(**c))).collect();
        let more = if by_count.len() > SHOWN { " and others" } else { "" };
        format!("{}{more}", shown.join(", "))
    }
}

/// What hides in the strings of a value, names of members included.
pub fn concealed_in(node: &Node) -> Vec<Hidden> {
    let mut found = Vec::new();
    node.each_string(&mut |path, text| {
        if may_conceal(text) {
            found.extend(concealed(path, text));
        }
    });
    found
}

/// What hides in one string.
pub fn concealed_in_text(text: &str) -> Vec<Hidden> {
    if may_conceal(text) { concealed("", text) } else { Vec::new() }
}

fn may_conceal(text: &str) -> bool {
    let is_plain = |byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
    !text.bytes().all(is_plain) && text.chars().any(|c| is_control(c) || is_invisible(c))
}

fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

fn concealed(path: &str, text: &str) -> Vec<Hidden> {
    let mut by_kind: BTreeMap<Concealment, BTreeMap<char, usize>> = BTreeMap::new();
    for (kind, c) in hidden_signs(text, is_identifier(path, text)) {
        *by_kind.entry(kind).or_default().entry(c).or_default() += 1;
    }
    by_kind.into_iter().map(|(kind, signs)| Hidden { kind, path: path.to_owned(), signs }).collect()
}

/// Whether a string is compared rather than read: then nothing in it may be
/// unseen, not even what strays into prose when it is copied.
fn is_identifier(path: &str, text: &str) -> bool {
    let mut tokens = path.rsplit('/');
    let (last, parent) = (tokens.next().unwrap_or_default(), tokens.next().unwrap_or_default());
    text.chars().all(|c| c.is_ascii_graphic() || is_control(c) || is_invisible(c))
        || matches!(last, "name" | "uri" | "uriTemplate" | "const")
        || matches!(parent, "enum" | "required" | "properties")
}

/// How many characters of no width may stray into prose of this many characters,
/// as they do when text is copied from a page.
fn strays_in(length: usize) -> usize {
    4 + length / 100
}

fn hidden_signs(text: &str, is_identifier: bool) -> Vec<(Concealment, char)> {
    let chars: Vec<char> = text.chars().collect();
    let in_emoji = signs::emoji(&chars);
    let mut hidden = direction::hidden(&chars, is_identifier);
    let (mut strays, mut written, mut selected) = (Vec::new(), Vec::new(), Vec::new());
    for (at, &c) in chars.iter().enumerate() {
        if is_control(c) {
            hidden.push((Concealment::Control, c));
            continue;
        }
        if !is_invisible(c) || in_emoji.get(at).copied().unwrap_or(false) {
            continue;
        }
        match signs::judge(&chars, at) {
            Sign::Writes => written.push(c),
            Sign::Selects => selected.push(c),
            Sign::Strays => strays.push(c),
            Sign::Hides(kind) => hidden.push((kind, c)),
            Sign::Elsewhere => {}
        }
    }
    let scripts = Where::of(&chars);
    // Letters that need joiners have one now and then, not one each.
    if written.len() * 2 > scripts.joining.max(4) {
        hidden.extend(written.into_iter().map(|c| (Concealment::Invisible, c)));
    }
    if selected.len() > 4.max(scripts.selecting / 4) {
        hidden.extend(selected.into_iter().map(|c| (Concealment::Selectors, c)));
    }
    if is_identifier || strays.len() > strays_in(chars.len()) {
        hidden.extend(strays.into_iter().map(|c| (Concealment::Invisible, c)));
    }
    hidden
}

#[cfg(test)]
mod tests;
