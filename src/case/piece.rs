//! Bytes exactly as an end writes them, piece by piece.
//!
//! A list of pieces is the one way to break framing on purpose: what is written,
//! in how many writes, what each waits for, and whether the connection ends there.
//! Nothing is timed.

use base64::Engine as _;
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

/// What an end writes at once, or bit by bit.
///
/// On stdio the bytes stand in the stream as they are: an author writes the line
/// ends. On HTTP they are a body, each write a chunk of its own, unless the headers
/// say `content-length` or `transfer-encoding` themselves: then they stand on the
/// wire as they are.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Piece {
    /// Written only when this many messages more have come from the client, counted
    /// from when the piece before was written. Servers only.
    pub after_messages: Option<u32>,
    /// The text, with the placeholders of where it stands. One that is `{{reply}}`
    /// (a client: `{{sent}}`) alone counts as that message.
    pub text: Option<String>,
    /// Bytes that are not UTF-8, in base64, instead of `text`.
    pub base64: Option<String>,
    /// Only this many of the bytes: the rest is never written.
    pub cut: Option<usize>,
    /// In two writes, the second from this byte on.
    pub split: Option<usize>,
    /// In writes of this many bytes each.
    pub drip: Option<usize>,
    /// What ends once it is written.
    pub end: Option<End>,
}

/// How much of a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// All of it, at once.
    Close,
    /// This end says no more, and goes on listening. Stdio only.
    HalfClose,
}

impl Piece {
    /// The bytes, where `{{name}}` stands for `message`, `{{byte-count}}` for how many
    /// bytes that has, and `{{id}}` for the request's id.
    pub fn bytes(&self, name: &str, message: &Bytes, id: &str) -> Bytes {
        let placeholder = format!("{{{{{name}}}}}");
        let whole = match (&self.text, &self.base64) {
            // A message that stands alone keeps bytes that are not UTF-8.
            (Some(text), _) if *text == placeholder => message.clone(),
            (Some(text), _) => {
                let text = text.replace("{{id}}", id).replace("{{byte-count}}", &message.len().to_string());
                blown_up(&text.replace(&placeholder, &String::from_utf8_lossy(message))).into()
            }
            (None, Some(text)) => base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default().into(),
            (None, None) => Bytes::new(),
        };
        let length = self.cut.unwrap_or(whole.len()).min(whole.len());
        whole.slice(..length)
    }

    /// Whether something stands behind the message `{{name}}` in the same piece.
    pub fn goes_on_after(&self, name: &str) -> bool {
        let behind = self.text.as_deref().and_then(|text| text.rsplit_once(&format!("{{{{{name}}}}}")));
        behind.is_some_and(|(_, behind)| !behind.trim().is_empty())
    }

    /// `bytes` as they are written, one write each.
    pub fn writes(&self, bytes: &Bytes) -> Vec<Bytes> {
        let (first, rest) = match self.split {
            Some(at) if at < bytes.len() => (bytes.slice(..at), bytes.slice(at..)),
            _ => (bytes.clone(), Bytes::new()),
        };
        let size = self.drip.unwrap_or(usize::MAX).max(1);
        let cut = |part: Bytes| {
            let starts = (0..part.len()).step_by(size);
            starts.map(move |at| part.slice(at..part.len().min(at.saturating_add(size)))).collect::<Vec<_>>()
        };
        cut(first).into_iter().chain(cut(rest)).collect()
    }

    /// Why it can't be played.
    pub(super) fn problem(&self, of_client: bool) -> Option<&'static str> {
        if self.text.is_some() && self.base64.is_some() {
            return Some("a piece has `text` or `base64`, not both");
        }
        if self.text.is_none() && self.base64.is_none() && self.end.is_none() {
            return Some("a piece has `text`, `base64` or an `end`");
        }
        let is_base64 = |text: &str| base64::engine::general_purpose::STANDARD.decode(text).is_ok();
        // A server's is filled in from the matrix, and looked at then.
        let is_open = |text: &str| !of_client && text.contains("{{");
        if self.base64.as_deref().is_some_and(|text| !is_open(text) && !is_base64(text)) {
            return Some("not base64");
        }
        if self.drip == Some(0) {
            return Some("`drip` is at least 1 byte a write");
        }
        (of_client && self.after_messages.is_some()).then_some("only a server waits for messages within its pieces")
    }
}

/// Blows up `{{repeat:126:[}}` (that text so many times over) and then the first
/// `{{pad:65537}}` (as many `x` as make the whole so many bytes long). Others stay.
pub fn blown_up(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once("{{repeat:") {
        out.push_str(before);
        let Some((count, (piece, after))) =
            inner.split_once(':').and_then(|(count, rest)| Some((count.parse().ok()?, rest.split_once("}}")?)))
        else {
            out.push_str("{{repeat:");
            rest = inner;
            continue;
        };
        out.push_str(&piece.repeat(count));
        rest = after;
    }
    out.push_str(rest);
    let padded = out.split_once("{{pad:").and_then(|(before, inner)| {
        let (size, after) = inner.split_once("}}")?;
        let filler = size.parse::<usize>().ok()?.saturating_sub(before.len() + after.len());
        Some(format!("{before}{}{after}", "x".repeat(filler)))
    });
    padded.unwrap_or(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str) -> Piece {
        toml::from_str(text).unwrap()
    }

    fn written(text: &str) -> Vec<Bytes> {
        let piece = piece(text);
        piece.writes(&piece.bytes("reply", &Bytes::from_static(b"{}"), "7"))
    }

    #[test]
    fn writes_are_as_told() {
        assert_eq!(written("text = 'abcdef'"), ["abcdef"]);
        assert_eq!(written("text = 'abcdef'\nsplit = 2"), ["ab", "cdef"]);
        assert_eq!(written("text = 'abcdef'\ndrip = 4"), ["abcd", "ef"]);
        assert_eq!(written("text = 'abcdef'\nsplit = 1\ndrip = 2"), ["a", "bc", "de", "f"]);
        assert_eq!(written("text = 'abcdef'\ncut = 3\nend = 'close'"), ["abc"]);
        assert_eq!(written("base64 = '/w=='"), [&b"\xff"[..]]);
        assert!(written("end = 'half-close'").is_empty());
        assert_eq!(written("text = '{{reply}} {{id}} {{byte-count}}'"), ["{} 7 2"]);
        // A split may fall inside a character.
        assert_eq!(written("text = 'é'\nsplit = 1"), [&b"\xc3"[..], b"\xa9"]);
    }

    #[test]
    fn what_can_not_be_played_is_told() {
        for (words, text) in [
            ("not both", "text = 'a'\nbase64 = 'YQ=='"),
            ("or an `end`", "drip = 2"),
            ("not base64", "base64 = '*'"),
            ("at least 1", "text = 'a'\ndrip = 0"),
            ("only a server", "text = 'a'\nafter_messages = 1"),
        ] {
            assert!(piece(text).problem(true).unwrap().contains(words), "{text}");
        }
        assert_eq!(piece("text = 'a'\nafter_messages = 1").problem(false), None);
        assert!(toml::from_str::<Piece>("text = 'a'\nwait = 1").is_err());
    }

    #[test]
    fn texts_are_blown_up() {
        assert_eq!(blown_up("{{repeat:3:[}}{{repeat:3:]}}"), "[[[]]]");
        assert_eq!(blown_up("<{{pad:6}}>{{id}}"), "<>{{id}}");
        assert_eq!(blown_up("<{{pad:9}}>").len(), 9);
        assert_eq!(blown_up("{{repeat:x:[}}"), "{{repeat:x:[}}");
    }
}
