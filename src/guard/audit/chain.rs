//! How lines hang together.

use serde_json::{Map, Value};

use crate::digest::Fingerprint;

/// What stands between a line's words and its hash.
const SEAL: &str = ",\"hash\":\"";

/// A place in the chain: the last line's number and hash. The first line follows
/// number 0 and the digest of nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) hash: Fingerprint,
}

impl Link {
    /// Before the first line.
    pub(super) fn start() -> Self {
        Self { seq: 0, hash: Fingerprint::of(b"") }
    }
}

/// A line as it was read, whose hash fits its words.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) own: Link,
    pub(super) prev: Fingerprint,
    pub(super) event: String,
}

/// Writes a record as the line after `last`, with its line end.
pub(super) fn seal(last: Link, mut record: Map<String, Value>) -> (String, Link) {
    let seq = last.seq + 1;
    let mut first = Map::new();
    first.insert("seq".to_owned(), seq.into());
    first.append(&mut record);
    first.insert("prev".to_owned(), last.hash.to_string().into());
    let words = Value::Object(first).to_string();
    let hash = Fingerprint::of(words.as_bytes());
    let open = words.strip_suffix('}').unwrap_or(&words);
    (format!("{open}{SEAL}{hash}\"}}\n"), Link { seq, hash })
}

/// Reads a line without its line end; `None` where its hash doesn't fit.
pub(super) fn read(line: &str) -> Option<Line> {
    let (open, rest) = line.rsplit_once(SEAL)?;
    let hash = Fingerprint::parse(rest.strip_suffix("\"}")?)?;
    let words = format!("{open}}}");
    if Fingerprint::of(words.as_bytes()) != hash {
        return None;
    }
    let words: Map<String, Value> = serde_json::from_str(&words).ok()?;
    let prev = Fingerprint::parse(words.get("prev")?.as_str()?)?;
    let event = words.get("event")?.as_str()?.to_owned();
    Some(Line { own: Link { seq: words.get("seq")?.as_u64()?, hash }, prev, event })
}
