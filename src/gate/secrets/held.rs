//! Tokens that the gate holds, in whatever way they are spelled.
//!
//! What a token is, is known; so it is found without its signs and case (chunks,
//! dashes), backwards, and in pieces that stand in several places, as long as they
//! make the whole of it.

use memchr::memmem;

/// A token with fewer letters and digits is no secret, and would be found everywhere.
const SHORTEST: usize = 8;
/// The least that a piece must have: a fifth of the token, and no less than this.
const PIECE: usize = 4;
/// In long texts, short pieces stand by chance.
const PIECE_IN_LONG: usize = 8;
/// What is long.
const LONG: usize = 64 * 1024;

/// The tokens, and what was heard so far.
#[derive(Debug)]
pub(super) struct Held {
    tokens: Vec<Vec<u8>>,
    heard: Vec<u8>,
}

impl Held {
    pub(super) fn new<'a>(tokens: impl Iterator<Item = &'a str>) -> Self {
        let bare = tokens.map(|token| {
            let mut out = Vec::with_capacity(token.len());
            strip(token.as_bytes(), &mut out);
            out
        });
        Self { tokens: bare.filter(|token| token.len() >= SHORTEST).collect(), heard: Vec::new() }
    }

    /// Takes in a text, or what was decoded from one.
    pub(super) fn hear(&mut self, text: &[u8]) {
        if !self.tokens.is_empty() {
            strip(text, &mut self.heard);
        }
    }

    /// Whether one of the tokens stands in all that was heard.
    pub(super) fn is_out(&self) -> bool {
        self.tokens.iter().any(|token| {
            let backwards: Vec<u8> = token.iter().rev().copied().collect();
            self.says(token) || self.says(&backwards)
        })
    }

    /// Whether pieces of what was heard make the whole token. What begins a piece
    /// begins a longer one as well, so the longest is found by halving.
    fn says(&self, token: &[u8]) -> bool {
        let least = if self.heard.len() > LONG { PIECE_IN_LONG } else { PIECE };
        let least = least.max(token.len().div_ceil(5));
        let is_heard = |from: usize, to: usize| memmem::find(&self.heard, &token[from..to]).is_some();
        let mut done = 0;
        while done < token.len() {
            // The last piece may overlap the one before it.
            let from = done.min(token.len() - least);
            if !is_heard(from, from + least) {
                return false;
            }
            let (mut heard, mut beyond) = (from + least, token.len() + 1);
            while beyond - heard > 1 {
                let to = usize::midpoint(heard, beyond);
                if is_heard(from, to) {
                    heard = to;
                } else {
                    beyond = to;
                }
            }
            done = heard;
        }
        true
    }
}

fn strip(text: &[u8], out: &mut Vec<u8>) {
    out.extend(text.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_out(token: &str, texts: &[&str]) -> bool {
        let mut held = Held::new([token].into_iter());
        for text in texts {
            held.hear(text.as_bytes());
        }
        held.is_out()
    }

    #[test]
    fn a_token_is_found_whole_chunked_backwards_and_in_pieces() {
        const TOKEN: &str = "canary-9f3b-71ce-d2a4";
        for texts in [
            &["x canary-9f3b-71ce-d2a4."][..],
            &["CANARY9F3B71CED2A4"],
            &["can ary 9f3 b71 ced 2a4"],
            &["4a2d-ec17-b3f9-yranac"],
            &["b: 71ce-d2a4", "a: canary-9f3b-"],
            &["3b71ce", "in between", "canary-9f", "ced2a4"],
        ] {
            assert!(is_out(TOKEN, texts), "{texts:?}");
        }
        for texts in [&["canary-9f3b-71ce"][..], &["a canary sings"], &["b71ced2a4", "canary"], &[]] {
            assert!(!is_out(TOKEN, texts), "{texts:?}");
        }
        assert!(!is_out("short", &["short"]));
    }
}
