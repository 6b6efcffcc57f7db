//! Reads from a transcript what survived a gate.

use super::Probed;
use crate::{
    plan::outside::{Feature, Features},
    protocol::{Message, Shape, strict::Node},
    session::explain,
    transcript::{Answer, Crossing, Event, Mark, Transcript, holds_text},
};

/// The tools of the probe's server.
const TOOLS: [&str; 2] = ["read_note", "count_notes"];

/// How it shows that a feature is there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// The answers to these steps hold these texts.
    Answered(&'static [(&'static str, &'static str)]),
    /// A step was answered with a result, whatever it is.
    Result(&'static str),
    /// A message of this method, sent by the server, reached the client; with an id,
    /// the client's answer reached the server.
    Arrived(&'static str, Option<&'static str>),
    /// The first page of a listing says that there is another.
    Paged,
    /// Both requests of a batch were answered.
    Batched,
}

/// How each feature is found.
pub(super) const WAYS: [(Feature, Way); 11] = [
    (Feature::Resources, Way::Answered(&[("resources", "note://garden"), ("read", "tomatoes")])),
    (Feature::Templates, Way::Answered(&[("templates", "note://{title}")])),
    (Feature::Prompts, Way::Answered(&[("prompts", "shorten"), ("prompt", "shorten the note")])),
    (Feature::Pages, Way::Paged),
    (Feature::Ping, Way::Result("ping")),
    (Feature::Notifications, Way::Arrived("notifications/message", None)),
    (Feature::ListChanged, Way::Arrived("notifications/tools/list_changed", None)),
    (Feature::Sampling, Way::Arrived("sampling/createMessage", Some("probe-sampling"))),
    (Feature::Elicitation, Way::Arrived("elicitation/create", Some("probe-elicitation"))),
    (Feature::Roots, Way::Arrived("roots/list", Some("probe-roots"))),
    (Feature::Batches, Way::Batched),
];

/// What was heard at both ends.
#[derive(Debug)]
pub(super) struct Heard<'a> {
    transcript: &'a Transcript,
}

impl<'a> Heard<'a> {
    pub(super) fn new(transcript: &'a Transcript) -> Self {
        Self { transcript }
    }

    fn mark(&self, label: &'a str) -> Option<&'a Mark> {
        self.transcript.marked(label).next()
    }

    fn reply(&self, label: &'a str) -> Option<Message> {
        match &self.mark(label)?.answer {
            Answer::Reply(body) => Some(Message::new(body.clone())),
            _ => None,
        }
    }

    /// What came for a step, in a few words.
    fn got(&self, label: &'a str) -> String {
        let Some(mark) = self.mark(label) else { return "it was never asked".to_owned() };
        let method = mark.method.as_deref().unwrap_or("it");
        let got = match &mark.answer {
            Answer::Reply(body) => {
                let message = Message::new(body.clone());
                match message.error() {
                    Some(error) => {
                        let code = error.member("code").and_then(Node::as_number).unwrap_or("an error");
                        let text = error.member("message").and_then(Node::as_str).unwrap_or_default();
                        format!("{code} '{}'", short(text))
                    }
                    None => format!("a result without it: {}", short(&message.text())),
                }
            }
            Answer::Http { status, body } => format!("HTTP {status}: {}", short(&String::from_utf8_lossy(body))),
            Answer::Silence | Answer::NotAwaited => "no answer".to_owned(),
            Answer::Closed(why) => format!("a closed connection ({why})"),
        };
        format!("{method} got {got}")
    }

    /// Why a step that every case needs failed, with all that the gate said.
    fn failed(&self, label: &'a str) -> String {
        let mut why = self.got(label);
        let noise = self.transcript.at_client().find(|crossing| crossing.message.root().is_none());
        if let Some(Crossing { message, .. }) = noise.filter(|crossing| !crossing.message.raw().is_empty()) {
            why = format!("{why}; what it says is no JSON: {}", short(&message.text()));
        }
        let acted = self.transcript.events.iter().filter_map(|event| match event {
            Event::Acted(text) if text.starts_with("the gate is over") => Some(text),
            _ => None,
        });
        acted.fold(why, |why, text| format!("{why}; {text}"))
    }

    fn has(&self, way: Way) -> Result<(), String> {
        match way {
            Way::Answered(steps) => steps.iter().try_for_each(|(label, text)| {
                let found = self.reply(label).is_some_and(|reply| reply.result().is_some() && holds_text(&reply, text));
                if found { Ok(()) } else { Err(self.got(label)) }
            }),
            Way::Result(label) => {
                let found = self.reply(label).is_some_and(|reply| reply.result().is_some());
                if found { Ok(()) } else { Err(self.got(label)) }
            }
            Way::Arrived(method, id) => {
                let came = self.transcript.at_client().any(|crossing| crossing.message.method() == Some(method));
                if !came {
                    return Err(format!("the server's {method} never reached the client"));
                }
                let Some(id) = id else { return Ok(()) };
                let back = self
                    .transcript
                    .at_server()
                    .any(|crossing| crossing.message.shape() == Shape::Response && holds_text(&crossing.message, id));
                if back { Ok(()) } else { Err(format!("the client's answer to {method} never reached the server")) }
            }
            Way::Paged => {
                let next = self.reply("tools").and_then(|reply| Some(reply.result()?.member("nextCursor").is_some()));
                if next == Some(true) { Ok(()) } else { Err("tools/list says nothing of a next page".to_owned()) }
            }
            Way::Batched => {
                let came = |id| self.transcript.at_client().any(|crossing| holds_text(&crossing.message, id));
                if came("probe-b1") && came("probe-b2") { Ok(()) } else { Err(self.got("batch")) }
            }
        }
    }
}

/// A text that fits into a sentence.
fn short(text: &str) -> String {
    const MOST: usize = 160;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST { line } else { line.chars().take(MOST).chain(['…']).collect() }
}

/// Why no session was opened; `None` where one was.
pub(super) fn unopened(heard: &Heard<'_>) -> Option<String> {
    if let Some(trouble) = heard.transcript.trouble() {
        return Some(trouble.to_owned());
    }
    let is_open = heard.reply("open").is_some_and(|reply| reply.result().is_some());
    (!is_open).then(|| format!("the gate opens no session: {}", heard.failed("open")))
}

/// What the first session says.
pub(super) fn session(heard: &Heard<'_>) -> Probed {
    let broken = |why: String| Probed { broken: Some(why), ..Probed::default() };
    if let Some(why) = unopened(heard) {
        return broken(why);
    }
    let opened = heard.reply("open");
    let version = opened
        .as_ref()
        .and_then(Message::result)
        .and_then(|result| result.member("protocolVersion"))
        .and_then(Node::as_str);

    let listing = heard.reply("tools");
    let tools = listing.as_ref().and_then(|reply| reply.result()?.member("tools")).map(Node::items);
    let Some(tools) = tools else { return broken(format!("the gate lists no tools: {}", heard.failed("tools"))) };
    let name = |tool: &Node| tool.member("name").and_then(Node::as_str).map(str::to_owned);
    let names: Vec<String> = tools.iter().filter_map(name).collect();
    if let Some(lost) = TOOLS.iter().find(|tool| !names.iter().any(|name| name == *tool)) {
        let found = explain(&names, &TOOLS, "probe");
        let why = match &found {
            Some(template) => {
                format!("the gate renames tools ('{lost}' is in {}): --tool-name '{template}'", names.join(", "))
            }
            None => format!("the honest tool '{lost}' is not listed, but {}", names.join(", ")),
        };
        return Probed { tool_name: found, ..broken(why) };
    }
    let called = heard.reply("call").is_some_and(|reply| reply.result().is_some() && holds_text(&reply, "tomatoes"));
    if !called {
        return broken(format!("the gate carries no call: {}", heard.failed("call")));
    }
    let mut features = Features {
        revision: version.map(str::to_owned),
        added_tools: names.into_iter().filter(|name| !TOOLS.contains(&name.as_str())).collect(),
        ..Features::default()
    };
    features.absent = absent(heard, |way| !matches!(way, Way::Paged | Way::Batched)).collect();
    Probed { features, broken: None, tool_name: None }
}

/// What the second one says: features that are not there.
pub(super) fn more(heard: &Heard<'_>) -> Vec<(Feature, String)> {
    if let Some(trouble) = heard.transcript.trouble() {
        let missing = [Feature::Pages, Feature::Batches];
        return missing.map(|feature| (feature, trouble.to_owned())).to_vec();
    }
    absent(heard, |way| matches!(way, Way::Paged | Way::Batched)).collect()
}

fn absent(heard: &Heard<'_>, asked: impl Fn(Way) -> bool) -> impl Iterator<Item = (Feature, String)> {
    let ways = WAYS.into_iter().filter(move |(_, way)| asked(*way));
    ways.filter_map(|(feature, way)| Some((feature, heard.has(way).err()?)))
}
