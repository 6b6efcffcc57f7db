use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use proptest::{collection, option, prelude::*};

use super::*;
use crate::{
    protocol::{Direction, Id, Leg, Message, ServerName},
    transcript::{Act, Answer, Crossing, Dress, Event, Mark, Trail, TrailEntry, Transcript},
};

fn header(trials: usize) -> Header {
    let corpus = "0".repeat(64);
    Header { schema: SCHEMA.into(), gateproof: "0.1.0".into(), corpus, gate: None, live: None, trials }
}

fn trial(number: usize, transcript: &Transcript) -> SavedTrial {
    SavedTrial {
        trial: number,
        case: "notes.read".into(),
        arm: "naive".into(),
        transport: "memory".into(),
        revision: "2025-06-18".into(),
        verdict: SavedVerdict { status: "pass".into(), outcome: "forwarded".into() },
        untested: None,
        transcript: Some(transcript.into()),
        trail: Trail::default(),
    }
}

fn file(header: &Header, trials: &[SavedTrial]) -> Vec<u8> {
    let mut lines = vec![serde_json::to_vec(header).unwrap()];
    lines.extend(trials.iter().map(|trial| serde_json::to_vec(trial).unwrap()));
    lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect()
}

fn read(file: &[u8]) -> Result<Vec<(usize, SavedTrial)>, String> {
    let reader = Reader::new(file).map_err(|error| error.to_string())?;
    reader.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

fn bytes() -> impl Strategy<Value = Bytes> {
    let text = any::<String>().prop_map(Bytes::from);
    prop_oneof![collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from), text]
}

fn name() -> impl Strategy<Value = ServerName> {
    any::<String>().prop_map(|name| ServerName::new(name.as_str()))
}

fn leg() -> impl Strategy<Value = Leg> {
    prop_oneof![Just(Leg::Downstream), Just(Leg::Upstream)]
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Requestward), Just(Direction::Replyward)]
}

fn event() -> impl Strategy<Value = Event> {
    let verb = option::of(prop_oneof![Just("POST"), Just("GET"), Just("DELETE")]);
    let headers = collection::vec(any::<(String, String)>(), 0..3);
    let dress = (option::of(any::<u16>()), headers, verb);
    let dress = dress.prop_map(|(status, headers, verb)| Dress { status, headers, verb });
    let crossed = (leg(), direction(), name(), bytes(), dress).prop_map(|(leg, direction, server, raw, dress)| {
        Event::Crossed(Crossing { leg, direction, server, message: Message::new(raw), dress })
    });
    let launched = (name(), any::<Vec<String>>(), any::<BTreeMap<String, String>>());
    prop_oneof![
        crossed,
        launched.prop_map(|(server, argv, env)| Event::Launched { server, argv, env }),
        any::<String>().prop_map(Event::Acted),
        (leg(), name(), any::<String>()).prop_map(|(leg, server, reason)| Event::Closed { leg, server, reason }),
        any::<String>().prop_map(Event::Trouble),
    ]
}

fn mark() -> impl Strategy<Value = Mark> {
    let id = prop_oneof![
        any::<i64>().prop_map(Id::from),
        Just(Id::Number("1.50e0".into())),
        any::<String>().prop_map(Id::String),
        Just(Id::Null)
    ];
    let answer = prop_oneof![
        bytes().prop_map(Answer::Reply),
        (any::<u16>(), bytes()).prop_map(|(status, body)| Answer::Http { status, body }),
        Just(Answer::Silence),
        any::<String>().prop_map(Answer::Closed),
        Just(Answer::NotAwaited)
    ];
    let took = option::of(any::<u64>().prop_map(Duration::from_nanos));
    let words = (any::<String>(), option::of(any::<String>()), option::of(any::<String>()));
    (words, name(), option::of(id), bytes(), answer, took).prop_map(
        |((label, method, tool), server, id, sent, answer, took)| Mark {
            label,
            server,
            id,
            method,
            tool,
            sent,
            answer,
            took,
        },
    )
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let number = any::<f64>().prop_filter("a JSON number", |number| number.is_finite());
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<u64>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        number.prop_map(Into::into),
        any::<String>().prop_map(Into::into)
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect()))
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_transcript_comes_back_to_the_byte(
        events in collection::vec(event(), 0..6),
        marks in collection::vec(mark(), 0..4),
        states in collection::btree_map(name(), value(), 0..3),
    ) {
        let before = Transcript { events, marks, states };
        let found = read(&file(&header(1), &[trial(0, &before)])).unwrap();
        let after = Transcript::from(found[0].1.transcript.clone().unwrap());
        // Messages have no equality of their own; their debug form holds every byte.
        prop_assert_eq!(format!("{:?}", before), format!("{:?}", after));
    }

    #[test]
    fn no_bytes_are_too_strange(file in collection::vec(any::<u8>(), 0..80)) {
        prop_assert!(read(&file).is_err());
    }

    #[test]
    fn wherever_it_is_cut_off_it_says_so(share in 0.0..1.0) {
        let whole = file(&header(2), &[trial(0, &Transcript::default()), trial(1, &Transcript::default())]);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a small file")]
        let at = (share * whole.len() as f64) as usize;
        let said = read(&whole[..at]).unwrap_err();
        prop_assert!(said.contains("cut off") || said.contains("not whole"), "{}", said);
    }
}

#[test]
fn bytes_are_text_where_they_can_be() {
    let said = |raw: &'static [u8]| {
        let server = ServerName::new("a");
        let (leg, direction) = (Leg::Upstream, Direction::Replyward);
        let crossing = Crossing { leg, direction, server, message: Message::new(raw), dress: Dress::default() };
        let transcript = Transcript { events: vec![Event::Crossed(crossing)], ..Transcript::default() };
        serde_json::to_value(SavedTranscript::from(&transcript)).unwrap()["events"][0]["crossed"]["raw"].clone()
    };
    assert_eq!(said("{\"a\": \"é\u{0}\"}".as_bytes()), serde_json::json!("{\"a\": \"é\u{0}\"}"));
    assert_eq!(said(b"\xff{}"), serde_json::json!({ "base64": "/3t9" }));
}

#[test]
fn the_trail_stands_apart() {
    let entry = TrailEntry {
        server: "a".into(),
        direction: Direction::Replyward,
        check: "egress".into(),
        rule: "host".into(),
        why: "not allowed".into(),
        act: Act::Would,
    };
    let saved = SavedTrial { trail: Trail(vec![entry]), ..trial(0, &Transcript::default()) };
    let line = serde_json::to_value(&saved).unwrap();
    assert_eq!(line["trail"][0]["act"], "would");
    assert!(!line["transcript"].to_string().contains("egress"));
    assert_eq!(read(&file(&header(1), std::slice::from_ref(&saved))), Ok(vec![(2, saved)]));
}

#[test]
fn what_is_damaged_is_named_with_its_line() {
    let empty = Transcript::default();
    let neither = SavedTrial { transcript: None, ..trial(1, &empty) };
    let mut odd = file(&header(2), &[trial(0, &empty), trial(1, &empty)]);
    let at = odd.iter().rposition(|byte| *byte == b'{').unwrap();
    odd[at] = 0xff;
    let other = Header { schema: "gateproof.transcripts/2".into(), ..header(0) };
    for (file, said) in [
        (file(&header(2), &[trial(0, &empty), trial(0, &empty)]), "line 3 is damaged: trial 0 is there twice"),
        (file(&header(1), &[trial(1, &empty)]), "line 2 is damaged: there is no trial 1 among 1"),
        (file(&header(1), &[trial(0, &empty), trial(1, &empty)]), "line 3 is damaged: there is no trial 1"),
        (file(&header(2), &[trial(0, &empty), neither]), "line 3 is damaged: it must have either"),
        (file(&header(2), &[trial(0, &empty)]), "line 3: the file is cut off: it holds 1 of 2 trials"),
        (odd, "line 3 is damaged: "),
        (file(&other, &[]), "the format is 'gateproof.transcripts/2'"),
        (b"{\"schema\":\"gateproof.report/1\"}\n".to_vec(), "this is no file of transcripts"),
        (b"{\"schema\":\"gateproof.transcripts/1\"}\n".to_vec(), "line 1 is damaged: missing field"),
        (b"".to_vec(), "this is no file of transcripts"),
    ] {
        let error = read(&file).unwrap_err();
        assert!(error.contains(said), "{error:?} instead of {said:?}");
    }
}
