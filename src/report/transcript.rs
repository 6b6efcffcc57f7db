//! A transcript in two lanes: what the client saw, and what the server saw.

use std::fmt::Write as _;

use bytes::Bytes;

use super::style::{Style, Tone};
use crate::{
    protocol::{Direction, Leg, Message, Shape, strict::Node},
    score::Record,
    transcript::{Act, Crossing, Event, Trail, TrailEntry, Transcript},
};

/// How much is shown before the first byte that differs.
const BEFORE: usize = 24;

/// A trial that did not come out as it should: what it is, why, what was seen.
pub fn failure(record: &Record, style: Style) -> String {
    let mut out = headline(record, style);
    if let Some(verdict) = &record.verdict {
        for reason in &verdict.reasons {
            let _ = writeln!(out, "  {}", clip(reason, style.width().saturating_sub(2) * 2));
        }
        if verdict.reasons.is_empty() {
            let _ = writeln!(out, "  nothing stood in the way, and yet the attack did not succeed: it proves nothing");
        }
    }
    if let Some((transcript, trail)) = &record.evidence {
        out.push_str(&lanes(transcript, style));
        out.push_str(&decisions(trail, style));
    }
    out
}

/// The first line of it.
pub fn headline(record: &Record, style: Style) -> String {
    format!(
        "{} {} · {} · {} · {}\n  {}\n",
        style.paint(Tone::Bad, "FAIL"),
        style.paint(Tone::Strong, record.case.id.as_str()),
        record.arm,
        record.transport,
        record.revision.as_str(),
        record.case.body.title,
    )
}

/// The messages in the order in which they crossed, client on the left.
pub fn lanes(transcript: &Transcript, style: Style) -> String {
    let lane = style.width().saturating_sub(7) / 2;
    let several = transcript.states.len() > 1;
    let differs = divergence(transcript);
    let mut out = format!("  {}\n", style.paint(Tone::Dim, &format!("{:<lane$} │ server", "client")));
    let shown = shown(&transcript.events, differs.as_ref());
    let mut left_out = 0;
    for (event, shown) in transcript.events.iter().zip(shown) {
        if !shown {
            left_out += 1;
            continue;
        }
        if left_out > 0 {
            let _ = writeln!(out, "  {}", style.paint(Tone::Dim, &format!("⋮ {left_out} more like these")));
            left_out = 0;
        }
        let _ = writeln!(out, "  {}", line(event, several, differs.as_ref(), lane, style).trim_end());
    }
    if let Some(found) = differs {
        out.push_str(&found.show(style));
    }
    out
}

/// Which events of a long transcript are shown: the first and the last ones, and
/// those around the first divergence.
fn shown(events: &[Event], differs: Option<&Divergence<'_>>) -> Vec<bool> {
    const ENDS: usize = 40;
    const AROUND: usize = 6;
    let is_it = |event: &Event| match event {
        Event::Crossed(crossing) => differs.is_some_and(|found| found.is(crossing)),
        _ => false,
    };
    let places: Vec<_> = events.iter().enumerate().filter(|(_, event)| is_it(event)).map(|(at, _)| at).collect();
    let near = |at: usize| places.iter().any(|place| place.abs_diff(at) <= AROUND);
    (0..events.len()).map(|at| at < ENDS || at + ENDS >= events.len() || near(at)).collect()
}

/// One event in its lane.
fn line(event: &Event, several: bool, differs: Option<&Divergence<'_>>, lane: usize, style: Style) -> String {
    match event {
        Event::Crossed(crossing) => {
            let marked = differs.is_some_and(|found| found.is(crossing));
            let text = pad(&words(crossing, several, marked), lane);
            let text = if marked { style.paint(Tone::Warn, &text) } else { text };
            match crossing.leg {
                Leg::Downstream => format!("{text} │"),
                Leg::Upstream => format!("{:lane$} │ {text}", ""),
            }
        }
        Event::Launched { server, argv, .. } => {
            let what = format!("· {server} is launched: {}", visible(argv.join(" ").as_bytes()));
            style.paint(Tone::Dim, &clip(&what, style.width() - 2))
        }
        Event::Acted(what) => style.paint(Tone::Dim, &clip(&format!("· {what}"), style.width() - 2)),
        Event::Closed { leg, reason, .. } => {
            let text = pad(&format!("× {reason}"), lane);
            match leg {
                Leg::Downstream => format!("{text} │"),
                Leg::Upstream => format!("{:lane$} │ {text}", ""),
            }
        }
        Event::Trouble(what) => style.paint(Tone::Bad, &clip(&format!("! {what}"), style.width() - 2)),
    }
}

/// What the gate says that it did; it attributes, and never judges.
fn decisions(trail: &Trail, style: Style) -> String {
    let mut out = String::new();
    let is_same =
        |a: &TrailEntry, b: &TrailEntry| (&a.check, &a.rule, a.act, &a.why) == (&b.check, &b.rule, b.act, &b.why);
    for run in trail.0.chunk_by(is_same) {
        let [entry, ..] = run else { continue };
        let act = match entry.act {
            Act::Refused => "refused",
            Act::Withheld => "withheld",
            Act::Rewrote => "rewrote",
            Act::Noted => "noted",
            Act::Would => "would have acted",
        };
        let times = if run.len() > 1 { format!(" (×{})", run.len()) } else { String::new() };
        let line = format!("  gate: {}/{} {act}{times}: {}", entry.check, entry.rule, entry.why);
        let _ = writeln!(out, "{}", style.paint(Tone::Dim, &clip(&line, style.width())));
    }
    out
}

fn words(crossing: &Crossing, several: bool, marked: bool) -> String {
    let arrow = match crossing.direction {
        Direction::Requestward => "→",
        Direction::Replyward => "←",
    };
    let server = if several { format!("[{}] ", crossing.server) } else { String::new() };
    let unusual = crossing.dress.status.filter(|status| *status != 200);
    let status = unusual.map_or_else(String::new, |status| format!("HTTP {status} "));
    format!("{arrow}{} {server}{status}{}", if marked { "≠" } else { "" }, brief(&crossing.message))
}

/// A message without what every message has: `6 tools/call read {"limit":2}`.
fn brief(message: &Message) -> String {
    let part = |node: &Node| visible(&message.raw()[node.span.clone()]);
    let id = message.id().map(|id| format!("{id} ")).unwrap_or_default();
    match (message.shape(), message.method()) {
        (Shape::Request | Shape::Notification, Some(method)) => {
            let params = message.params();
            match message.called_tool() {
                Some(tool) => {
                    let arguments = params.and_then(|params| params.member("arguments")).map(part);
                    format!("{id}{method} {} {}", visible(tool.as_bytes()), arguments.unwrap_or_default())
                }
                None => format!("{id}{method} {}", params.map(part).unwrap_or_default()),
            }
        }
        (Shape::Response, _) => match (message.result(), message.error()) {
            (Some(result), None) => format!("{id}result {}", part(result)),
            (None, Some(error)) => format!("{id}error {}", part(error)),
            _ => visible(message.raw()),
        },
        _ => visible(message.raw()),
    }
}

/// The first reply that the client received in other bytes than the server sent.
struct Divergence<'a> {
    nth: usize,
    sent: Option<&'a Crossing>,
    got: Option<&'a Crossing>,
}

fn divergence(transcript: &Transcript) -> Option<Divergence<'_>> {
    for server in transcript.states.keys() {
        let of = |leg| {
            let crossings = transcript.crossings(leg, Direction::Replyward);
            crossings.filter(|crossing| crossing.server == *server).collect::<Vec<_>>()
        };
        let (sent, got) = (of(Leg::Upstream), of(Leg::Downstream));
        for index in 0..sent.len().max(got.len()) {
            let (sent, got) = (sent.get(index).copied(), got.get(index).copied());
            if sent.map(|crossing| crossing.message.raw()) != got.map(|crossing| crossing.message.raw()) {
                return Some(Divergence { nth: index + 1, sent, got });
            }
        }
    }
    None
}

impl Divergence<'_> {
    fn is(&self, crossing: &Crossing) -> bool {
        [self.sent, self.got].into_iter().flatten().any(|one| std::ptr::eq(one, crossing))
    }

    fn show(&self, style: Style) -> String {
        let raw = |crossing: Option<&Crossing>| crossing.map(|crossing| crossing.message.raw().clone());
        let (sent, got) = (raw(self.sent), raw(self.got));
        let room = style.width().saturating_sub(20);
        let [at_server, at_client] = [&sent, &got].map(Option::as_ref);
        let (at, [at_server, at_client]) = apart(at_server, at_client, room);
        let place = at.map(|at| format!(", byte {at}")).unwrap_or_default();
        let title = format!("≠ first divergence: reply {}{place}", self.nth);
        format!("  {}\n    server sent: {at_server}\n    client got:  {at_client}\n", style.paint(Tone::Warn, &title))
    }
}

/// Where two messages first differ, counted from 1, and both from there on, each
/// in at most `room` columns.
pub fn apart(one: Option<&Bytes>, other: Option<&Bytes>, room: usize) -> (Option<usize>, [String; 2]) {
    let both = one.zip(other);
    let at = both.map_or(0, |(one, other)| one.iter().zip(other.iter()).take_while(|(a, b)| a == b).count());
    let part = |bytes: Option<&Bytes>| match bytes {
        None => "nothing".to_owned(),
        Some(bytes) => {
            let from = at.saturating_sub(BEFORE);
            let start = if from > 0 { "…" } else { "" };
            clip(&format!("{start}{}", visible(&bytes[from..])), room)
        }
    };
    (both.map(|_| at + 1), [part(one), part(other)])
}

/// Bytes on one line: what could move a cursor or hide is escaped.
fn visible(bytes: &[u8]) -> String {
    // A body may be megabytes long; no line shows more than this.
    let part = &bytes[..bytes.len().min(2_000)];
    let mut out = String::new();
    for c in String::from_utf8_lossy(part).chars() {
        let shown = c.is_ascii_graphic() || c == ' ' || (c.is_alphanumeric() && !c.is_control());
        if shown {
            out.push(c);
        } else {
            out.extend(c.escape_default());
        }
    }
    if bytes.len() > part.len() {
        let _ = write!(out, "… ({} bytes)", bytes.len());
    }
    out
}

/// At most `width` characters.
fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn pad(text: &str, width: usize) -> String {
    format!("{:<width$}", clip(text, width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{protocol::ServerName, transcript::Dress};

    #[test]
    fn a_long_transcript_shows_its_ends_and_its_first_divergence() {
        let crossing = |leg, n: usize, text: &str| {
            Event::Crossed(Crossing {
                leg,
                direction: Direction::Replyward,
                server: ServerName::from("s"),
                message: Message::new(format!(r#"{{"jsonrpc":"2.0","id":{n},"result":{{"{text}":1}}}}"#)),
                dress: Dress::default(),
            })
        };
        let mut transcript = Transcript::default();
        transcript.states.insert(ServerName::from("s"), serde_json::Value::Null);
        for n in 0..3000 {
            transcript.events.push(crossing(Leg::Upstream, n, "same"));
            transcript.events.push(crossing(Leg::Downstream, n, if n == 1500 { "other" } else { "same" }));
        }
        let shown = lanes(&transcript, Style::new(false, 100));
        assert!(shown.lines().count() < 110, "{shown}");
        for part in ["←≠ 1500 result", "2999 result", "← 0 result", "more like these"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
