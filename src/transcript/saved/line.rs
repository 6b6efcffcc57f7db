//! The lines of a file of transcripts.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::raw::{Raw, Verb};
use crate::{
    protocol::{Direction, Id, Leg, Message, ServerName},
    transcript::{Answer, Crossing, Dress, Event, Mark, Trail, Transcript},
};

/// The version of the file's format.
pub const SCHEMA: &str = "gateproof.transcripts/1";

/// The first line: what was played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of this format.
    pub schema: String,
    /// The version of the harness that played.
    pub gateproof: String,
    /// The digest of the corpus that was played.
    pub corpus: String,
    /// The gate, where it was not gateproof's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// The real server that took the fixtures' place, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<String>,
    /// So many trials follow: with fewer, the file is cut off.
    pub trials: usize,
}

/// What the judge of the time said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedVerdict {
    /// What the trial came to.
    pub status: String,
    /// What became of the step that the case is about.
    pub outcome: String,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedTrial {
    /// Its place in the plan, from 0.
    pub trial: usize,
    /// The case.
    pub case: String,
    /// What stood in the middle.
    pub arm: String,
    /// What it travelled on.
    pub transport: String,
    /// What it was spoken in.
    pub revision: String,
    /// What it came to then.
    pub verdict: SavedVerdict,
    /// Why it was not played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
    /// What was seen, where it was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<SavedTranscript>,
    /// What the gate says of itself, which no judge reads.
    #[serde(default)]
    pub trail: Trail,
}

/// A transcript as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedTranscript {
    events: Vec<SavedEvent>,
    marks: Vec<SavedMark>,
    states: BTreeMap<ServerName, serde_json::Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum SavedEvent {
    Crossed {
        leg: Leg,
        direction: Direction,
        server: ServerName,
        raw: Raw,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        headers: Vec<(String, String)>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verb: Option<Verb>,
    },
    Launched {
        server: ServerName,
        argv: Vec<String>,
        env: BTreeMap<String, String>,
    },
    Acted(String),
    Closed {
        leg: Leg,
        server: ServerName,
        reason: String,
    },
    Trouble(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedMark {
    label: String,
    server: ServerName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<SavedId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    sent: Raw,
    answer: SavedAnswer,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    took_ns: Option<u64>,
}

/// A number is kept as spelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SavedId {
    Number(String),
    String(String),
    Null,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum SavedAnswer {
    Reply(Raw),
    Http { status: u16, body: Raw },
    Silence,
    Closed(String),
    NotAwaited,
}

impl From<&Transcript> for SavedTranscript {
    fn from(transcript: &Transcript) -> Self {
        Self {
            events: transcript.events.iter().map(SavedEvent::from).collect(),
            marks: transcript.marks.iter().map(SavedMark::from).collect(),
            states: transcript.states.clone(),
        }
    }
}

impl From<SavedTranscript> for Transcript {
    fn from(saved: SavedTranscript) -> Self {
        Self {
            events: saved.events.into_iter().map(Event::from).collect(),
            marks: saved.marks.into_iter().map(Mark::from).collect(),
            states: saved.states,
        }
    }
}

impl From<&Event> for SavedEvent {
    fn from(event: &Event) -> Self {
        match event.clone() {
            Event::Crossed(Crossing { leg, direction, server, message, dress }) => Self::Crossed {
                leg,
                direction,
                server,
                raw: Raw(message.raw().clone()),
                status: dress.status,
                headers: dress.headers,
                verb: dress.verb.map(Verb),
            },
            Event::Launched { server, argv, env } => Self::Launched { server, argv, env },
            Event::Acted(what) => Self::Acted(what),
            Event::Closed { leg, server, reason } => Self::Closed { leg, server, reason },
            Event::Trouble(what) => Self::Trouble(what),
        }
    }
}

impl From<SavedEvent> for Event {
    fn from(saved: SavedEvent) -> Self {
        match saved {
            SavedEvent::Crossed { leg, direction, server, raw: Raw(raw), status, headers, verb } => {
                let dress = Dress { status, headers, verb: verb.map(|Verb(verb)| verb) };
                Self::Crossed(Crossing { leg, direction, server, message: Message::new(raw), dress })
            }
            SavedEvent::Launched { server, argv, env } => Self::Launched { server, argv, env },
            SavedEvent::Acted(what) => Self::Acted(what),
            SavedEvent::Closed { leg, server, reason } => Self::Closed { leg, server, reason },
            SavedEvent::Trouble(what) => Self::Trouble(what),
        }
    }
}

impl From<&Mark> for SavedMark {
    fn from(mark: &Mark) -> Self {
        let Mark { label, server, id, method, tool, sent, answer, took } = mark.clone();
        Self {
            label,
            server,
            id: id.map(|id| match id {
                Id::Number(spelled) => SavedId::Number(spelled),
                Id::String(text) => SavedId::String(text),
                Id::Null => SavedId::Null,
            }),
            method,
            tool,
            sent: Raw(sent),
            answer: match answer {
                Answer::Reply(body) => SavedAnswer::Reply(Raw(body)),
                Answer::Http { status, body } => SavedAnswer::Http { status, body: Raw(body) },
                Answer::Silence => SavedAnswer::Silence,
                Answer::Closed(reason) => SavedAnswer::Closed(reason),
                Answer::NotAwaited => SavedAnswer::NotAwaited,
            },
            took_ns: took.map(|took| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
        }
    }
}

impl From<SavedMark> for Mark {
    fn from(saved: SavedMark) -> Self {
        Self {
            label: saved.label,
            server: saved.server,
            id: saved.id.map(|id| match id {
                SavedId::Number(spelled) => Id::Number(spelled),
                SavedId::String(text) => Id::String(text),
                SavedId::Null => Id::Null,
            }),
            method: saved.method,
            tool: saved.tool,
            sent: saved.sent.0,
            answer: match saved.answer {
                SavedAnswer::Reply(Raw(body)) => Answer::Reply(body),
                SavedAnswer::Http { status, body: Raw(body) } => Answer::Http { status, body },
                SavedAnswer::Silence => Answer::Silence,
                SavedAnswer::Closed(reason) => Answer::Closed(reason),
                SavedAnswer::NotAwaited => Answer::NotAwaited,
            },
            took: saved.took_ns.map(Duration::from_nanos),
        }
    }
}
