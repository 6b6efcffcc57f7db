//! What came through a gate otherwise than it does with nothing in the middle.
//!
//! Two transcripts of one case, one of them `direct`, are held against each other
//! message by message and byte by byte, on both sides: what each server received,
//! and what the client received. Like the judge this reads no gate's word.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{
    protocol::{Direction, Leg, ServerName},
    transcript::{Crossing, Dress, Transcript},
};

/// Headers that belong to each hop, so that they may differ: the host is the name
/// by which the next hop is reached, and what frames a body is made anew with it
/// (RFC 9110 section 7.6.1, RFC 9112).
pub const HOP_LOCAL: [&str; 8] =
    ["connection", "content-length", "date", "host", "keep-alive", "te", "transfer-encoding", "upgrade"];

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it was received: by the server (upstream) or the client (downstream).
    pub at: Leg,
    /// Whose session.
    pub server: ServerName,
    /// What differs.
    pub what: Difference,
}

/// How something differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A message has other bytes.
    Bytes {
        /// With nothing in the middle.
        direct: Bytes,
        /// Through the gate.
        through: Bytes,
    },
    /// A message that comes with nothing in the middle did not come.
    Lost(Bytes),
    /// A message came that doesn't come with nothing in the middle.
    Made(Bytes),
    /// The same messages came one after another in another order.
    Reordered,
    /// The same bytes came under another status or header; says which, with both values.
    Dress(String),
}

/// What two transcripts of one case have in common, and what not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Messages that were received with nothing in the middle, on both sides.
    pub messages: usize,
    /// Everything that differs.
    pub changes: Vec<Change>,
}

/// Holds what came through a gate against what comes with nothing in the middle.
///
/// `in_order` says whether the order of messages means something: it does where
/// all of them share one stream, and not where each travels on its own.
pub fn compare(direct: &Transcript, through: &Transcript, in_order: bool) -> Compared {
    let mut compared = Compared::default();
    for (at, direction) in [(Leg::Upstream, Direction::Requestward), (Leg::Downstream, Direction::Replyward)] {
        let (ours, theirs) = (received(direct, at, direction), received(through, at, direction));
        let mut servers: Vec<_> = ours.keys().chain(theirs.keys()).collect();
        servers.sort();
        servers.dedup();
        for server in servers {
            let ours = ours.get(*server).map(Vec::as_slice).unwrap_or_default();
            let theirs = theirs.get(*server).map(Vec::as_slice).unwrap_or_default();
            compared.messages += ours.len();
            let differences = differences(ours, theirs, in_order);
            let change = |what| Change { at, server: (*server).clone(), what };
            compared.changes.extend(differences.into_iter().map(change));
        }
    }
    compared
}

fn received(transcript: &Transcript, at: Leg, direction: Direction) -> BTreeMap<&ServerName, Vec<&Crossing>> {
    let mut by_server: BTreeMap<&ServerName, Vec<&Crossing>> = BTreeMap::new();
    for crossing in transcript.crossings(at, direction) {
        by_server.entry(&crossing.server).or_default().push(crossing);
    }
    by_server
}

fn differences(ours: &[&Crossing], theirs: &[&Crossing], in_order: bool) -> Vec<Difference> {
    let raw = |crossing: &&Crossing| crossing.message.raw().clone();
    let mut out = Vec::new();
    if ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a.message.raw() == b.message.raw()) {
        out.extend(ours.iter().zip(theirs).filter_map(|(a, b)| dressed_otherwise(a, b)));
        return out;
    }
    // Each message finds one with the same bytes; those that are left over are told
    // by what they answer or ask.
    let mut left: Vec<&Crossing> = theirs.to_vec();
    let mut lost = Vec::new();
    for our in ours {
        match left.iter().position(|their| their.message.raw() == our.message.raw()) {
            Some(at) => out.extend(dressed_otherwise(our, left.remove(at))),
            None => lost.push(*our),
        }
    }
    if lost.is_empty() && left.is_empty() {
        if in_order {
            out.push(Difference::Reordered);
        }
        return out;
    }
    for our in lost {
        // Over HTTP a request that a server leaves without an answer has a response all
        // the same; a hop that waits for the answer says that none came.
        if is_empty_acceptance(our)
            && let Some(at) = left.iter().position(|their| their.message.error().is_some())
        {
            left.remove(at);
            continue;
        }
        let kin = |their: &&Crossing| {
            (their.message.shape(), their.message.id(), their.message.method())
                == (our.message.shape(), our.message.id(), our.message.method())
        };
        match left.iter().position(kin) {
            Some(at) => out.push(Difference::Bytes { direct: raw(&our), through: raw(&left.remove(at)) }),
            None => out.push(Difference::Lost(raw(&our))),
        }
    }
    out.extend(left.iter().map(|their| Difference::Made(raw(their))));
    out
}

/// Whether it merely says that a message was taken: any 2xx without a body does, and
/// which one belongs to the hop (streamable HTTP asks for 202).
fn is_empty_acceptance(crossing: &Crossing) -> bool {
    crossing.message.raw().is_empty() && crossing.dress.status.is_some_and(|status| (200..300).contains(&status))
}

/// The first status or header that differs, hop-local ones left out. Lines of one
/// name keep their order; the order of names means nothing (RFC 9110 section 5.3).
fn dressed_otherwise(ours: &Crossing, theirs: &Crossing) -> Option<Difference> {
    let accepted = is_empty_acceptance(ours) && is_empty_acceptance(theirs);
    let (ours, theirs) = (&ours.dress, &theirs.dress);
    if !accepted && (ours.status != theirs.status || ours.verb != theirs.verb) {
        let said = |dress: &Dress| match (dress.verb, dress.status) {
            (Some(verb), _) => verb.to_owned(),
            (None, status) => status.map_or_else(|| "no status".to_owned(), |status| status.to_string()),
        };
        return Some(Difference::Dress(format!("{} became {}", said(ours), said(theirs))));
    }
    let (ours, theirs) = (end_to_end(ours), end_to_end(theirs));
    let names = ours.keys().chain(theirs.keys());
    let differs = names.copied().find(|name| ours.get(name) != theirs.get(name))?;
    let said = |side: &BTreeMap<&str, Vec<&str>>| match side.get(differs) {
        Some(values) => format!("'{}'", values.join("', '")),
        None => "nothing".to_owned(),
    };
    Some(Difference::Dress(format!("header {differs}: {} became {}", said(&ours), said(&theirs))))
}

fn end_to_end(dress: &Dress) -> BTreeMap<&str, Vec<&str>> {
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in dress.headers.iter().filter(|(name, _)| !HOP_LOCAL.contains(&name.as_str())) {
        by_name.entry(name).or_default().push(value);
    }
    by_name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{protocol::Message, transcript::Event};

    fn crossing(leg: Leg, direction: Direction, text: &str, headers: &[(&str, &str)]) -> Event {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Event::Crossed(Crossing {
            leg,
            direction,
            server: ServerName::new("s"),
            message: Message::new(text.to_owned()),
            dress: Dress { headers, ..Dress::default() },
        })
    }

    fn to_server(texts: &[&str]) -> Transcript {
        let events = texts.iter().map(|text| crossing(Leg::Upstream, Direction::Requestward, text, &[])).collect();
        Transcript { events, ..Transcript::default() }
    }

    fn to_client(text: &str, headers: &[(&str, &str)]) -> Transcript {
        let events = vec![crossing(Leg::Downstream, Direction::Replyward, text, headers)];
        Transcript { events, ..Transcript::default() }
    }

    const A: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":5.0}}"#;
    const B: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

    fn whats(direct: &Transcript, through: &Transcript, in_order: bool) -> Vec<Difference> {
        compare(direct, through, in_order).changes.into_iter().map(|change| change.what).collect()
    }

    #[test]
    fn equal_bytes_are_no_change() {
        let compared = compare(&to_server(&[A, B]), &to_server(&[A, B]), true);
        assert_eq!(compared, Compared { messages: 2, changes: Vec::new() });
    }

    #[test]
    fn one_byte_is_a_change_and_is_found_by_its_kin() {
        let other = A.replace("5.0", "5");
        let direct = Bytes::from_static(A.as_bytes());
        assert_eq!(
            whats(&to_server(&[A, B]), &to_server(&[B, &other]), true),
            [Difference::Bytes { direct, through: other.clone().into() }]
        );
        let blank = A.replace(":{", ": {");
        assert_eq!(whats(&to_server(&[A]), &to_server(&[&blank]), false).len(), 1);
    }

    #[test]
    fn what_is_lost_and_what_is_made_up_is_told() {
        let (a, b) = (Bytes::from_static(A.as_bytes()), Bytes::from_static(B.as_bytes()));
        assert_eq!(whats(&to_server(&[A, B]), &to_server(&[A]), true), [Difference::Lost(b.clone())]);
        assert_eq!(whats(&to_server(&[A]), &to_server(&[A, B]), true), [Difference::Made(b)]);
        assert_eq!(whats(&to_server(&[A]), &to_server(&[A, A]), true), [Difference::Made(a)]);
    }

    #[test]
    fn the_order_counts_where_there_is_one() {
        let (direct, through) = (to_server(&[A, B]), to_server(&[B, A]));
        assert_eq!(whats(&direct, &through, true), [Difference::Reordered]);
        assert_eq!(whats(&direct, &through, false), []);
    }

    #[test]
    fn headers_count_unless_they_belong_to_the_hop() {
        let direct = to_client(A, &[("content-type", "application/json"), ("host", "a"), ("x", "1"), ("x", "2")]);
        let moved = to_client(A, &[("x", "1"), ("host", "b"), ("x", "2"), ("content-type", "application/json")]);
        assert_eq!(whats(&direct, &moved, true), []);
        for wrong in [
            to_client(A, &[("content-type", "application/json"), ("x", "2"), ("x", "1")]),
            to_client(A, &[("content-type", "application/json"), ("x", "1")]),
            to_client(A, &[("content-type", "text/html"), ("x", "1"), ("x", "2")]),
            to_client(A, &[("content-type", "application/json"), ("x", "1"), ("x", "2"), ("y", "")]),
        ] {
            assert!(matches!(whats(&direct, &wrong, true)[..], [Difference::Dress(_)]));
        }
    }
}
