//! Streams of server-sent events, as the HTML standard frames them.

use std::sync::Arc;

use bytes::Bytes;

use super::super::Mark;

/// The media type of such a stream.
pub const MEDIA_TYPE: &str = "text/event-stream";

/// One event, or a block of fields that sets something and carries no data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The name under `event`, where it is not empty.
    pub name: Option<String>,
    /// The data lines joined with line feeds; none at all is `None`.
    pub data: Option<Bytes>,
    /// The value of `id`.
    pub id: Option<String>,
    /// The value of `retry` in milliseconds.
    pub retry: Option<u64>,
}

impl Event {
    /// The data, where a client takes this for a message: the event has no
    /// other name, and is not the empty one that only primes the stream.
    pub fn message(self) -> Option<Bytes> {
        let named = self.name.as_deref().unwrap_or("message") == "message";
        self.data.filter(|data| named && !data.is_empty())
    }

    /// What it says beside the message.
    pub fn mark(&self) -> Option<Arc<Mark>> {
        let mark = Mark { id: self.id.clone(), retry: self.retry };
        (mark != Mark::default()).then(|| Arc::new(mark))
    }
}

/// The event that carries one message. A carriage return in it, alone or before
/// a line feed, arrives as a line feed: the framing has no other line end.
pub fn encode(message: &[u8]) -> Bytes {
    marked(None, message)
}

/// The same with a mark. One without a message has an empty data line, so that
/// clients which look only at events with data see its id.
pub fn marked(mark: Option<&Mark>, message: &[u8]) -> Bytes {
    let mut event = Vec::with_capacity(message.len() + 32);
    // An event without a message has no name: one called so would be a message.
    if !message.is_empty() {
        event.extend_from_slice(b"event: message\n");
    }
    if let Some(Mark { id, retry }) = mark {
        // No line end can be in an id that was read from a line.
        if let Some(id) = id.as_ref().filter(|id| !id.contains(['\n', '\r', '\0'])) {
            event.extend_from_slice(format!("id: {id}\n").as_bytes());
        }
        if let Some(retry) = retry {
            event.extend_from_slice(format!("retry: {retry}\n").as_bytes());
        }
    }
    let mut rest = message;
    loop {
        let end = memchr::memchr2(b'\n', b'\r', rest);
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
        event.push(b'\n');
        let Some(end) = end else { break };
        rest = &rest[end + if rest[end..].starts_with(b"\r\n") { 2 } else { 1 }..];
    }
    event.push(b'\n');
    event.into()
}

/// Reads a stream that arrives in pieces of any size.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// A line feed that comes next belongs to the line end before it.
    after_return: bool,
    /// The first line is past, and with it the place of a byte order mark.
    begun: bool,
    event: Event,
    data: Option<Vec<u8>>,
}

impl Decoder {
    /// Takes the next piece and gives the events that end in it. What has not
    /// ended when the stream does is no event.
    pub fn feed(&mut self, mut piece: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            if self.after_return && !piece.is_empty() {
                self.after_return = false;
                piece = piece.strip_prefix(b"\n").unwrap_or(piece);
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', piece) else { break };
            self.line.extend_from_slice(&piece[..end]);
            self.after_return = piece[end] == b'\r';
            piece = &piece[end + 1..];
            events.extend(self.end_line());
        }
        self.line.extend_from_slice(piece);
        events
    }

    /// How many bytes are held for events that have not ended.
    pub fn held(&self) -> usize {
        self.line.len() + self.data.as_ref().map_or(0, Vec::len)
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            let data = self.data.take().map(Bytes::from);
            let event = Event { data, ..std::mem::take(&mut self.event) };
            return (event != Event::default()).then_some(event);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        self.field(field, value.strip_prefix(b" ").unwrap_or(value));
        None
    }

    fn field(&mut self, field: &[u8], value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                none => *none = Some(value.to_vec()),
            },
            b"event" => self.event.name = (!value.is_empty()).then(text),
            b"id" if !value.contains(&0) => self.event.id = Some(text()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => self.event.retry = text().parse().ok(),
            // A comment (whose field name is empty), or nothing that we know.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(stream: &[u8]) -> Vec<Event> {
        Decoder::default().feed(stream)
    }

    fn data(text: &'static str) -> Event {
        Event { data: Some(text.into()), ..Event::default() }
    }

    #[test]
    fn every_line_end_ends_a_line() {
        for stream in ["data: a\n\ndata:b\n\n", "data: a\r\rdata:b\r\r", "data: a\r\n\r\ndata:b\r\n\r\n"] {
            assert_eq!(decode(stream.as_bytes()), [data("a"), data("b")], "{stream:?}");
        }
    }

    #[test]
    fn fields() {
        let stream = "\u{feff}: a comment\nevent: endpoint\ndata: a\ndata\ndata:  b\nid: 7\nretry: 250\nother: x\n\n";
        let event = Event {
            name: Some("endpoint".to_owned()),
            data: Some("a\n\n b".into()),
            id: Some("7".to_owned()),
            retry: Some(250),
        };
        assert_eq!(decode(stream.as_bytes()), [event]);
        assert_eq!(decode(b"retry: soon\nid: a\0b\n\n\n: ping\n\n"), []);
        assert_eq!(decode(b"data: not ended\n"), []);
    }

    #[test]
    fn what_is_a_message() {
        let message = |stream: &str| decode(stream.as_bytes()).remove(0).message();
        assert_eq!(message("data: {}\n\n"), Some("{}".into()));
        assert_eq!(message("event: message\ndata: {}\n\n"), Some("{}".into()));
        assert_eq!(message("event:\ndata: {}\n\n"), Some("{}".into()));
        assert_eq!(message("event: endpoint\ndata: /sse\n\n"), None);
        assert_eq!(message("id: 1\nretry: 10\ndata:\n\n"), None);
        assert_eq!(message("id: 1\n\n"), None);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            stream in "(\u{feff})?((data|id|event|retry|)(: ?[a1漢]{0,3})?(\n|\r|\r\n)|\n|\r|\r\n){0,24}",
            sizes in prop::collection::vec(0_usize..4, 0..80),
        ) {
            let mut decoder = Decoder::default();
            let mut events = Vec::new();
            let mut rest = stream.as_bytes();
            for size in sizes {
                let (piece, after) = rest.split_at(size.min(rest.len()));
                events.extend(decoder.feed(piece));
                rest = after;
            }
            events.extend(decoder.feed(rest));
            prop_assert_eq!(events, decode(stream.as_bytes()));
        }

        #[test]
        fn what_is_encoded_is_decoded(
            message in "[ :a漢\n]{0,12}",
            id in prop::option::of("[ :a漢]{0,4}"),
            retry in prop::option::of(0_u64..9999),
        ) {
            let mark = Mark { id, retry };
            let events = decode(&marked(Some(&mark), message.as_bytes()));
            prop_assert_eq!(events.len(), 1);
            prop_assert_eq!(events[0].name.as_deref(), (!message.is_empty()).then_some("message"));
            prop_assert_eq!(events[0].data.as_deref(), Some(message.as_bytes()));
            prop_assert_eq!(&Mark { id: events[0].id.clone(), retry: events[0].retry }, &mark);
        }
    }
}
