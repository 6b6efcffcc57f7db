//! What is said beside a verdict, whatever it came to: life after a refusal, and
//! tools that no server has.

use std::collections::BTreeSet;

use super::predicate::{Reading, holds_message};
use crate::{
    protocol::{Direction, Leg, Message, ServerName, meta, strict::Node},
    transcript::{Answer, Crossing, Event, Mark, Transcript},
};

/// Whether the session still answered after the last step under `label`; `None`
/// where nothing was asked in it any more.
pub(super) fn alive_after(label: &str, transcript: &Transcript) -> Option<bool> {
    let (at, refused) = transcript.marks.iter().enumerate().rfind(|(_, mark)| mark.label == label)?;
    let over = transcript.events.iter().position(|event| answers(event, refused));
    let later: Vec<&Mark> = transcript
        .marks
        .iter()
        .skip(at + 1)
        .filter(|mark| mark.server == refused.server)
        // What opens anew is another session.
        .take_while(|mark| !mark.method.as_deref().is_some_and(meta::is_opening))
        .filter(|mark| mark.id.is_some() && mark.answer != Answer::NotAwaited)
        // What was sent together with it is not later.
        .filter(|mark| over.is_none_or(|over| transcript.events.iter().skip(over).any(|event| sends(event, mark))))
        .collect();
    let is_answered =
        |mark: &&Mark| matches!(Reading::of(mark), Reading::Success | Reading::Error | Reading::ToolError);
    (!later.is_empty()).then(|| later.iter().any(is_answered))
}

fn answers(event: &Event, mark: &Mark) -> bool {
    let (Answer::Reply(body) | Answer::Http { body, .. }) = &mark.answer else { return false };
    at_client(event, Direction::Replyward)
        .is_some_and(|crossing| crossing.server == mark.server && holds_message(&crossing.message, body))
}

fn sends(event: &Event, mark: &Mark) -> bool {
    at_client(event, Direction::Requestward)
        .is_some_and(|crossing| crossing.server == mark.server && holds_message(&crossing.message, &mark.sent))
}

fn at_client(event: &Event, way: Direction) -> Option<&Crossing> {
    match event {
        Event::Crossed(crossing) if crossing.leg == Leg::Downstream && crossing.direction == way => Some(crossing),
        _ => None,
    }
}

/// The names of tools that the client saw listed and that no listing of that
/// server ever held.
pub(super) fn added(transcript: &Transcript) -> BTreeSet<String> {
    let own: BTreeSet<(&ServerName, &str)> =
        transcript.crossings(Leg::Upstream, Direction::Replyward).flat_map(listed).collect();
    let seen = transcript.at_client().flat_map(listed);
    seen.filter(|tool| !own.contains(tool)).map(|(_, name)| name.to_owned()).collect()
}

fn listed(crossing: &Crossing) -> impl Iterator<Item = (&ServerName, &str)> {
    let tools = crossing.message.each().into_iter().flat_map(tools);
    let names = tools.filter_map(|tool| tool.member("name")?.as_str());
    names.map(|name| (&crossing.server, name))
}

fn tools(message: &Message) -> &[Node] {
    message.result().and_then(|result| result.member("tools")).map(Node::items).unwrap_or_default()
}
