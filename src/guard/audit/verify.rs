//! Whether a log is as it was written.

use std::io::{self, BufRead};

use super::chain::{self, Link};
use crate::digest::Fingerprint;

/// A log that hangs together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intact {
    /// How many lines it has.
    pub lines: u64,
    /// The hash of the last one.
    pub last: Fingerprint,
    /// Sessions that have a start and no end: they still run, were killed, or
    /// their last lines were taken away.
    pub open: u64,
    /// Whether `seen` was among its hashes; true where nothing was asked for.
    pub seen: bool,
}

/// The first line that doesn't fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Tampered {
    /// Counted from 1.
    pub line: u64,
    /// What is wrong there.
    pub what: Tampering,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Tampering {
    /// Its hash doesn't fit its words, or it is no line of a log.
    #[error("altered: its hash doesn't fit its words")]
    Altered,
    /// Its hash fits, but it doesn't follow the line before.
    #[error("it does not follow the line before: one of the two was altered and hashed anew")]
    Unlinked,
    /// Lines are missing before it.
    #[error("removed: {0} missing before it")]
    Removed(u64),
    /// It has the number of a line that was there already.
    #[error("added: it has the number {0}, which was there already")]
    Added(u64),
    /// The file ends in it, and it has no end.
    #[error("cut off: the last line has no end")]
    CutOff,
}

/// Reads a log to its end. `seen`: a hash that somebody kept, which must be in it.
///
/// # Errors
/// Where it can't be read; inside, where it was tampered with.
pub fn verify(mut log: impl BufRead, seen: Option<Fingerprint>) -> io::Result<Result<Intact, Tampered>> {
    let mut last = Link::start();
    let (mut open, mut found, mut lines) = (0_u64, seen.is_none(), 0_u64);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if log.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(Ok(Intact { lines, last: last.hash, open, seen: found }));
        }
        lines += 1;
        let wrong = |what| Ok(Err(Tampered { line: lines, what }));
        let Some(whole) = bytes.strip_suffix(b"\n") else { return wrong(Tampering::CutOff) };
        let Some(line) = std::str::from_utf8(whole).ok().and_then(chain::read) else {
            return wrong(Tampering::Altered);
        };
        let expected = last.seq + 1;
        if line.own.seq > expected {
            return wrong(Tampering::Removed(line.own.seq - expected));
        }
        if line.own.seq < expected {
            return wrong(Tampering::Added(line.own.seq));
        }
        if line.prev != last.hash {
            return wrong(Tampering::Unlinked);
        }
        match line.event.as_str() {
            "start" => open += 1,
            "end" => open = open.saturating_sub(1),
            _ => {}
        }
        found |= seen == Some(line.own.hash);
        last = line.own;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn log(events: &[&str]) -> Vec<String> {
        let mut last = Link::start();
        let mut lines = Vec::new();
        for event in events {
            let record = json!({ "event": event, "why": "a \"quoted\",\"hash\":\" word" });
            let (line, link) = chain::seal(last, record.as_object().unwrap().clone());
            last = link;
            lines.push(line);
        }
        lines
    }

    fn check(lines: &[String]) -> Result<Intact, Tampered> {
        verify(lines.concat().as_bytes(), None).unwrap()
    }

    #[test]
    fn an_untouched_log_is_intact() {
        let lines = log(&["start", "message", "end", "start"]);
        let intact = check(&lines).unwrap();
        assert_eq!((intact.lines, intact.open, intact.seen), (4, 1, true));
        assert_eq!(check(&[]).unwrap().lines, 0);
        let second = chain::read(lines[1].trim_end()).unwrap().own.hash;
        assert!(verify(lines.concat().as_bytes(), Some(second)).unwrap().unwrap().seen);
        assert!(!verify(lines[..1].concat().as_bytes(), Some(second)).unwrap().unwrap().seen);
    }

    #[test]
    fn whatever_is_done_to_a_line_is_told_with_its_place() {
        let lines = log(&["start", "message", "message", "message", "end"]);
        let told = |lines: &[String]| {
            let Tampered { line, what } = check(lines).unwrap_err();
            (line, what)
        };
        let mut altered = lines.clone();
        altered[1] = altered[1].replace("message", "massage");
        assert_eq!(told(&altered), (2, Tampering::Altered));
        let mut removed = lines.clone();
        removed.remove(2);
        assert_eq!(told(&removed), (3, Tampering::Removed(1)));
        assert_eq!(told(&lines[1..]), (1, Tampering::Removed(1)));
        let mut added = lines.clone();
        added.insert(3, lines[1].clone());
        assert_eq!(told(&added), (4, Tampering::Added(2)));
        let mut foreign = lines.clone();
        foreign.insert(1, "{}\n".to_owned());
        assert_eq!(told(&foreign), (2, Tampering::Altered));
        let mut swapped = lines.clone();
        swapped.swap(1, 2);
        assert_eq!(told(&swapped), (2, Tampering::Removed(1)));
        // Hashed anew, it fits itself, and not what comes after.
        let mut anew = lines.clone();
        let first = chain::read(lines[0].trim_end()).unwrap().own;
        anew[1] = chain::seal(first, json!({ "event": "message", "why": "other" }).as_object().unwrap().clone()).0;
        assert_eq!(told(&anew), (3, Tampering::Unlinked));
        let mut cut = lines.clone();
        cut[4].truncate(20);
        assert_eq!(told(&cut), (5, Tampering::CutOff));
    }

    #[test]
    fn any_byte_that_changes_is_noticed() {
        let lines = log(&["start", "message"]);
        let whole = lines.concat().into_bytes();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(verify(bytes.as_slice(), None).unwrap().is_err(), "byte {at}");
        }
    }
}
