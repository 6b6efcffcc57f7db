//! What turns text round, against what is needed to write from right to left.

use super::{super::normalize::is_invisible, Concealment, signs::is_rtl};

/// Opens an embedding, an override or an isolate.
#[derive(Clone, Copy, Debug)]
struct Opened {
    at: usize,
    sign: char,
}

impl Opened {
    fn is_isolate(self) -> bool {
        matches!(self.sign, '\u{2066}'..='\u{2068}')
    }
}

/// The signs of direction that show a reader other text than there is.
///
/// Marks serve text with letters from right to left; what opens must end before
/// its line does, and may only turn what is written that way.
pub(super) fn hidden(chars: &[char], is_identifier: bool) -> Vec<(Concealment, char)> {
    let mut hidden = Vec::new();
    let signs: Vec<char> = chars.iter().copied().filter(|c| is_sign(*c)).collect();
    // Where nothing runs from right to left, programs still isolate what they
    // put into a sentence; a name needs nothing of the kind.
    if !chars.iter().any(|c| is_rtl(*c)) && (is_identifier || signs.len() > 2 * super::strays_in(chars.len())) {
        hidden.extend(signs.into_iter().map(|c| (Concealment::Direction, c)));
        return hidden;
    }
    let mut open: Vec<Opened> = Vec::new();
    let mut marks = Vec::new();
    let mut hide = |c: char| hidden.push((Concealment::Direction, c));
    for (at, &c) in chars.iter().enumerate() {
        match c {
            // Deeper than anybody writes; and each level is looked at whole.
            _ if is_opening(c) && open.len() == DEEPEST => hide(c),
            _ if is_opening(c) => open.push(Opened { at, sign: c }),
            '\u{202c}' => match open.pop_if(|last| !last.is_isolate()) {
                Some(opened) if turns_its_own(opened.sign, &chars[opened.at + 1..at]) => {}
                Some(opened) => {
                    hide(opened.sign);
                    hide(c);
                }
                None => hide(c),
            },
            '\u{2069}' => {
                // An isolate ends what was left open in it.
                while let Some(opened) = open.pop_if(|last| !last.is_isolate()) {
                    hide(opened.sign);
                }
                match open.pop() {
                    Some(opened) if turns_its_own(opened.sign, &chars[opened.at + 1..at]) => {}
                    Some(opened) => {
                        hide(opened.sign);
                        hide(c);
                    }
                    None => hide(c),
                }
            }
            '\u{200e}' | '\u{200f}' | '\u{61c}' => marks.push(at),
            '\n' | '\u{2029}' => open.drain(..).for_each(|opened| hide(opened.sign)),
            _ => {}
        }
    }
    for opened in open {
        hide(opened.sign);
    }
    if !serve(chars, &marks) {
        for at in marks {
            hide(chars[at]);
        }
    }
    hidden
}

/// How deep embeddings and isolates may stand in each other.
const DEEPEST: usize = 8;

fn is_opening(c: char) -> bool {
    is_sign(c) && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202c}' | '\u{2069}')
}

fn is_sign(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether what an embedding, an override or an isolate holds is written in the
/// direction that it gives.
fn turns_its_own(sign: char, held: &[char]) -> bool {
    let rtl = held.iter().filter(|c| is_rtl(**c)).count();
    let ltr = held.iter().filter(|c| c.is_alphabetic() && !is_rtl(**c)).count();
    let is_empty = held.iter().all(|c| is_invisible(*c) || c.is_whitespace());
    match sign {
        _ if is_empty => false,
        // Overrides turn digits and signs as well; only letters that run that
        // way anyhow are none the worse for it.
        '\u{202e}' => rtl > 0 && ltr == 0 && !held.iter().any(char::is_ascii_digit),
        '\u{202d}' => false,
        '\u{202b}' | '\u{2067}' => rtl > 0 && rtl * 2 >= ltr,
        _ => true,
    }
}

/// Whether marks of direction stand where text from right to left may need them:
/// few, and no more than two in a row. Beside such text one or two may stray.
fn serve(chars: &[char], marks: &[usize]) -> bool {
    const ALONE: usize = 2;
    let rtl = chars.iter().filter(|c| is_rtl(**c)).count();
    let in_a_row = marks.windows(3).any(|run| run[2] - run[0] == 2);
    let parts_a_word = |at: usize| {
        let is_latin = |c: Option<&char>| c.is_some_and(char::is_ascii_alphanumeric);
        at > 0 && is_latin(chars.get(at - 1)) && is_latin(chars.get(at + 1))
    };
    let is_few = marks.len() <= ALONE.max(rtl / 2);
    is_few && !in_a_row && !marks.iter().any(|at| parts_a_word(*at))
}
