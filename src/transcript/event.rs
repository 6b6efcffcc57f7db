//! The values that a transcript is made of.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;

use crate::protocol::{Direction, Id, Leg, Message, ServerName};

/// How a message was dressed on HTTP; empty on stdio and in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dress {
    /// The status code of a response.
    pub status: Option<u16>,
    /// Headers that say something about the message, names in lower case.
    pub headers: Vec<(String, String)>,
    /// POST, GET or DELETE, for a request.
    pub verb: Option<&'static str>,
}

/// One message, as one end saw it.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// Which side of the gate.
    pub leg: Leg,
    /// Which way.
    pub direction: Direction,
    /// Whose session it belongs to.
    pub server: ServerName,
    /// The message.
    pub message: Message,
    /// Its HTTP dress.
    pub dress: Dress,
}

/// What the client made of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A reply with the request's id came; its raw bytes.
    Reply(Bytes),
    /// An HTTP response that held no such reply.
    Http {
        /// Its status code.
        status: u16,
        /// Its body.
        body: Bytes,
    },
    /// Nothing came before the deadline.
    Silence,
    /// The connection ended first.
    Closed(String),
    /// Nobody waited for an answer (a notification, or a step that waits for nothing).
    NotAwaited,
}

/// A step of the script that sent something, and what came of it.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The step's label; steps without one get `<verb>-<n>`, counted from 1.
    pub label: String,
    /// Which server it was meant for.
    pub server: ServerName,
    /// The id it was sent with.
    pub id: Option<Id>,
    /// The method, where there is one.
    pub method: Option<String>,
    /// The tool, for a call whose name is a string.
    pub tool: Option<String>,
    /// The raw bytes that the client sent.
    pub sent: Bytes,
    /// What came back. For a listing of several pages, one mark a page.
    pub answer: Answer,
    /// From handing it to the transport until its answer was taken in; `None`
    /// where no answer came.
    pub took: Option<Duration>,
}

/// What happened, in order.
#[derive(Clone, Debug)]
pub enum Event {
    /// A message crossed a leg.
    Crossed(Crossing),
    /// A server was launched: what it was told, as it saw it.
    Launched {
        /// Which server.
        server: ServerName,
        /// Its arguments.
        argv: Vec<String>,
        /// Its environment, as far as the host or the gate chose it.
        env: BTreeMap<String, String>,
    },
    /// The harness changed a server, or the host approved: says what.
    Acted(String),
    /// A connection ended, at the client (downstream) or the server (upstream).
    Closed {
        /// Which leg.
        leg: Leg,
        /// Whose session.
        server: ServerName,
        /// Why, for people.
        reason: String,
    },
    /// Something went wrong in the harness or the set-up: the trial is blocked.
    Trouble(String),
}

/// Everything that is known of one trial, from both sides.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// In the order in which the harness saw it.
    pub events: Vec<Event>,
    /// The client's steps.
    pub marks: Vec<Mark>,
    /// Each scripted server's state at the end.
    pub states: BTreeMap<ServerName, serde_json::Value>,
}

impl Transcript {
    /// The messages that crossed `leg` in `direction`, in order.
    pub fn crossings(&self, leg: Leg, direction: Direction) -> impl Iterator<Item = &Crossing> {
        self.events.iter().filter_map(move |event| match event {
            Event::Crossed(crossing) if crossing.leg == leg && crossing.direction == direction => Some(crossing),
            _ => None,
        })
    }

    /// What the servers received.
    pub fn at_server(&self) -> impl Iterator<Item = &Crossing> {
        self.crossings(Leg::Upstream, Direction::Requestward)
    }

    /// What the client received.
    pub fn at_client(&self) -> impl Iterator<Item = &Crossing> {
        self.crossings(Leg::Downstream, Direction::Replyward)
    }

    /// The marks under `label`: several for a listing of several pages.
    pub fn marked<'a>(&'a self, label: &'a str) -> impl Iterator<Item = &'a Mark> {
        self.marks.iter().filter(move |mark| mark.label == label)
    }

    /// The first trouble of the harness or the set-up.
    pub fn trouble(&self) -> Option<&str> {
        self.events.iter().find_map(|event| match event {
            Event::Trouble(what) => Some(what.as_str()),
            _ => None,
        })
    }
}

/// Whether a message holds `text`: in its raw bytes, or in a string of it once
/// unescaped.
pub fn holds_text(message: &Message, text: &str) -> bool {
    if text.is_empty() || memchr::memmem::find(message.raw(), text.as_bytes()).is_some() {
        return true;
    }
    // Without an escape, what isn't in the raw bytes is nowhere.
    if memchr::memchr(b'\\', message.raw()).is_none() {
        return false;
    }
    let mut found = false;
    if let Some(root) = message.root() {
        root.each_string(&mut |_, string| found |= string.contains(text));
    }
    found
}
