//! Whether an honest answer came through in substance.
//!
//! A gate that writes JSON anew changes bytes and harms nobody; one that puts its
//! own words into the place of an answer serves nobody. What tells them apart is
//! the server's own words: a success stays a success, an error an error, and each
//! text that people or models read is still in it, whatever stands around it.

use super::predicate::{Reading, is_unchanged};
use crate::{
    protocol::{Direction, Leg, Message, Shape, strict::Node},
    transcript::{Answer, Event, Mark, Transcript, holds_text},
};

/// Whether the client got for this step what the server answered to it.
pub(super) fn came_through(mark: &Mark, transcript: &Transcript) -> bool {
    if is_unchanged(mark, transcript) {
        return true;
    }
    let Answer::Reply(body) = &mark.answer else { return false };
    let reading = Reading::of(mark);
    if !matches!(reading, Reading::Success | Reading::Error | Reading::ToolError) {
        return false;
    }
    let (got, sent) = (Message::new(body.clone()), Message::new(mark.sent.clone()));
    let answered = answered(mark, transcript);
    let same = |request: &Message| params(request) == params(&sent);
    // A gate may write the request anew; where one came as it was, only that counts.
    let is_exact = answered.iter().any(|(request, _)| same(request));
    answered.iter().filter(|(request, _)| !is_exact || same(request)).any(|(_, said)| {
        Reading::of_reply(said) == reading
            && is_of_its_kind(&got, said)
            && words(said).into_iter().all(|word| holds_text(&got, word))
    })
}

/// What the server answered to requests like this step's, whatever ids they had.
fn answered<'a>(mark: &Mark, transcript: &'a Transcript) -> Vec<(&'a Message, &'a Message)> {
    let mut open: Vec<&Message> = Vec::new();
    let mut answered = Vec::new();
    let crossed = transcript.events.iter().filter_map(|event| match event {
        Event::Crossed(crossing) if crossing.leg == Leg::Upstream && crossing.server == mark.server => Some(crossing),
        _ => None,
    });
    for (way, message) in
        crossed.flat_map(|crossing| crossing.message.each().into_iter().map(|one| (crossing.direction, one)))
    {
        match (way, message.shape()) {
            (Direction::Requestward, Shape::Request) => open.push(message),
            (Direction::Replyward, Shape::Response) => {
                if let Some(at) = open.iter().rposition(|request| request.id() == message.id()) {
                    answered.push((open.remove(at), message));
                }
            }
            _ => {}
        }
    }
    answered.retain(|(request, _)| {
        request.method() == mark.method.as_deref() && request.called_tool() == mark.tool.as_deref()
    });
    answered
}

fn params(message: &Message) -> Option<&[u8]> {
    message.params().map(|params| &message.raw()[params.span.clone()])
}

/// Where the texts of a result stand: the list, and what its items hold.
const TEXTS: [(&str, &[&str]); 7] = [
    ("content", &["/text", "/data", "/uri", "/resource/text", "/resource/blob"]),
    ("contents", &["/text", "/blob"]),
    ("messages", &["/content/text", "/content/data", "/content/resource/text", "/content/resource/blob"]),
    ("tools", &["/name"]),
    ("resources", &["/uri"]),
    ("resourceTemplates", &["/uriTemplate"]),
    ("prompts", &["/name"]),
];

/// Whether a result holds the lists that the server's did, be they empty: a call's
/// result is no answer to a ping.
fn is_of_its_kind(got: &Message, said: &Message) -> bool {
    let (Some(got), Some(said)) = (got.result(), said.result()) else { return true };
    let lists = || TEXTS.iter().map(|(list, _)| *list).chain(["completion"]);
    let has_none = |result: &Node| lists().all(|list| result.member(list).is_none());
    let is_bare = has_none(said) && said.member("structuredContent").is_none();
    lists().all(|list| said.member(list).is_none() || got.member(list).is_some()) && (!is_bare || has_none(got))
}

/// The texts that a reply is about: what is read, not what surrounds it.
fn words(reply: &Message) -> Vec<&str> {
    if let Some(error) = reply.error() {
        return error.member("message").and_then(Node::as_str).into_iter().collect();
    }
    let Some(result) = reply.result() else { return Vec::new() };
    let mut words: Vec<&str> = TEXTS
        .iter()
        .filter_map(|(list, places)| Some((result.member(list)?, places)))
        .flat_map(|(list, places)| {
            list.items().iter().flat_map(|item| places.iter().filter_map(|place| item.pointer(place)?.as_str()))
        })
        .collect();
    if words.is_empty()
        && let Some(structured) = result.member("structuredContent")
    {
        structured.each_string(&mut |_, text| words.push(text));
    }
    words
}
