//! Whether a predicate holds of a transcript.

use std::collections::HashSet;

use super::{Manner, substance::came_through};
use crate::{
    case::{LaunchedAs, Predicate, ReplyWants, Seen, StateIs},
    protocol::{
        Direction, Leg, Message, ServerName, ToolName, meta,
        strict::{self, Kind, Node},
    },
    transcript::{Answer, Crossing, Event, Mark, Transcript, holds_text},
};

/// Whether `predicate` holds. `first` is the server that predicates without one
/// mean; in [`Manner::Substance`], unchanged is what came through in substance.
pub fn holds(predicate: &Predicate, transcript: &Transcript, first: &ServerName, manner: Manner) -> bool {
    match predicate {
        Predicate::ServerGot(seen) => counted(seen, transcript.at_server()),
        Predicate::ServerGotInOrder(wanted) => {
            let mut messages = transcript.at_server().flat_map(each);
            wanted.iter().all(|seen| messages.any(|(crossing, message)| matches(seen, crossing, message)))
        }
        Predicate::ClientGot(seen) => counted(seen, transcript.at_client()),
        Predicate::State(state) => state_is(state, transcript, first),
        Predicate::Launched(wanted) => launched(wanted, transcript, first),
        Predicate::Reply(wants) => {
            let mut matching = transcript.marked(&wants.of).filter(|mark| reply_is(wants, mark));
            match wants.exactly {
                Some(wanted) => matching.count() == wanted,
                None => matching.next().is_some(),
            }
        }
        Predicate::Unchanged(step) => {
            let marks: Vec<&Mark> = transcript.marked(&step.of).collect();
            let all_are = || match manner {
                Manner::Strict => all_unchanged(&marks, transcript),
                Manner::Substance => marks.iter().all(|mark| came_through(mark, transcript)),
            };
            !marks.is_empty() && all_are()
        }
        Predicate::Not(inner) => !holds(inner, transcript, first, manner),
        Predicate::Any(any) => any.iter().any(|inner| holds(inner, transcript, first, manner)),
    }
}

/// Whether a statement about the honest work holds.
///
/// In [`Manner::Substance`] no bytes can make it fail: what must be unchanged must
/// have come through, and what must have changed need not have.
pub(super) fn served(predicate: &Predicate, transcript: &Transcript, first: &ServerName, manner: Manner) -> bool {
    match predicate {
        Predicate::Not(inner) if manner == Manner::Substance => !served_not(inner, transcript, first),
        Predicate::Any(any) => any.iter().any(|inner| served(inner, transcript, first, manner)),
        Predicate::Reply(wants) => {
            // A success that something in the way made up serves nobody.
            let own = |mark: &Mark| reply_is(wants, mark) && !is_made_up(mark, transcript);
            let is_due = wants.exactly != Some(0);
            holds(predicate, transcript, first, manner) && (!is_due || transcript.marked(&wants.of).any(own))
        }
        other => holds(other, transcript, first, manner),
    }
}

/// Whether a call was answered with a success, and no call of that tool ever came to
/// its server.
fn is_made_up(mark: &Mark, transcript: &Transcript) -> bool {
    let is_call = |(crossing, message): (&Crossing, &Message)| {
        crossing.server == mark.server
            && message.method() == mark.method.as_deref()
            && message.called_tool() == mark.tool.as_deref()
    };
    mark.method.as_deref() == Some("tools/call")
        && Reading::of(mark) == Reading::Success
        && !transcript.at_server().flat_map(each).any(is_call)
}

/// Whether what must not be so is so, whatever became of bytes.
fn served_not(predicate: &Predicate, transcript: &Transcript, first: &ServerName) -> bool {
    match predicate {
        Predicate::Unchanged(_) => false,
        Predicate::Not(inner) => !served(inner, transcript, first, Manner::Substance),
        Predicate::Any(any) => any.iter().any(|inner| served_not(inner, transcript, first)),
        other => holds(other, transcript, first, Manner::Substance),
    }
}

/// Whether a statement says something of bytes, at any depth.
pub(super) fn is_about_bytes(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Unchanged(_) => true,
        Predicate::Not(inner) => is_about_bytes(inner),
        Predicate::Any(any) => any.iter().any(is_about_bytes),
        _ => false,
    }
}

fn launched(wanted: &LaunchedAs, transcript: &Transcript, first: &ServerName) -> bool {
    let server = wanted.server.as_ref().unwrap_or(first);
    transcript.events.iter().any(|event| {
        let Event::Launched { server: of, argv, env } = event else { return false };
        of == server
            && wanted.argument.as_ref().is_none_or(|argument| argv.contains(argument))
            && wanted.env.as_ref().is_none_or(|name| {
                env.get(name).is_some_and(|value| wanted.value.as_deref().is_none_or(|part| value.contains(part)))
            })
    })
}

fn counted<'a>(seen: &Seen, crossings: impl Iterator<Item = &'a Crossing>) -> bool {
    let mut matching = crossings.flat_map(each).filter(|(crossing, message)| matches(seen, crossing, message));
    match seen.exactly {
        Some(wanted) => matching.count() == wanted,
        None => matching.next().is_some(),
    }
}

/// What crossed, message by message: a batch is as many as it holds.
fn each(crossing: &Crossing) -> impl Iterator<Item = (&Crossing, &Message)> {
    crossing.message.each().into_iter().map(move |message| (crossing, message))
}

fn matches(seen: &Seen, crossing: &Crossing, message: &Message) -> bool {
    seen.server.as_ref().is_none_or(|server| *server == crossing.server)
        && seen.method.as_deref().is_none_or(|method| is_method(message, method))
        && seen.tool.as_deref().is_none_or(|tool| message.called_tool() == Some(tool))
        && seen.text.as_deref().is_none_or(|text| holds_text(message, text))
        && seen.pointer.as_deref().is_none_or(|pointer| value_is(message.root(), pointer, seen.equals.as_deref()))
        && seen.status.is_none_or(|status| crossing.dress.status == Some(status))
        && seen.header.as_deref().is_none_or(|name| {
            crossing
                .dress
                .headers
                .iter()
                .any(|(key, value)| key == name && seen.value.as_deref().is_none_or(|part| value.contains(part)))
        })
}

/// Whether it has this method; `open` is what a session opens with, in either era.
fn is_method(message: &Message, wanted: &str) -> bool {
    message.method().is_some_and(|method| method == wanted || (wanted == "open" && meta::is_opening(method)))
}

fn value_is(root: Option<&Node>, pointer: &str, equals: Option<&str>) -> bool {
    let Some(found) = root.and_then(|root| root.pointer(pointer)) else { return false };
    equals.is_none_or(|wanted| strict::parse(wanted.as_bytes()).is_ok_and(|wanted| same(found, &wanted.root)))
}

/// Equal JSON: numbers as spelled, objects whatever the order of their keys.
fn same(a: &Node, b: &Node) -> bool {
    match (&a.kind, &b.kind) {
        (Kind::Array(a), Kind::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Kind::Object(a), Kind::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|member| b.iter().any(|other| other.key == member.key && same(&member.value, &other.value)))
        }
        (Kind::TooDeep, _) | (_, Kind::TooDeep) => false,
        (a, b) => a == b,
    }
}

fn state_is(wanted: &StateIs, transcript: &Transcript, first: &ServerName) -> bool {
    let server = wanted.server.as_ref().unwrap_or(first);
    // A server whose state is not known proves nothing, not even an absence.
    let Some(state) = transcript.states.get(server) else { return false };
    match state.pointer(&wanted.pointer) {
        None => wanted.absent,
        Some(_) if wanted.absent => false,
        Some(value) => wanted
            .equals
            .as_deref()
            .is_none_or(|text| serde_json::from_str::<serde_json::Value>(text).is_ok_and(|wanted| wanted == *value)),
    }
}

/// What a step's answer came to, as far as a client can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// A result that isn't `isError`.
    Success,
    /// A JSON-RPC error with the request's own id.
    Error,
    /// An `isError` result with the request's own id.
    ToolError,
    /// An HTTP response of 400 or more without a reply in it.
    HttpError,
    /// Something that answers nothing: a broken or foreign reply.
    Nonsense,
    /// Nothing.
    Nothing,
}

impl Reading {
    pub(super) fn of(mark: &Mark) -> Self {
        match &mark.answer {
            Answer::Reply(body) => {
                let reply = Message::new(body.clone());
                if reply.id() == mark.id.as_ref() { Self::of_reply(&reply) } else { Self::Nonsense }
            }
            Answer::Http { status, .. } if *status >= 400 => Self::HttpError,
            Answer::Http { .. } => Self::Nonsense,
            Answer::Silence | Answer::Closed(_) | Answer::NotAwaited => Self::Nothing,
        }
    }

    /// The same of a reply, whatever it answers.
    pub(super) fn of_reply(reply: &Message) -> Self {
        match (reply.error(), reply.result()) {
            (Some(_), _) => Self::Error,
            (None, Some(result)) => match result.member("isError").and_then(Node::as_bool) {
                Some(true) => Self::ToolError,
                _ => Self::Success,
            },
            (None, None) => Self::Nonsense,
        }
    }

    /// Whether the client was told no, in a shape that it can use.
    pub(super) fn is_refusal(self) -> bool {
        matches!(self, Self::Error | Self::ToolError)
    }
}

fn reply_is(wants: &ReplyWants, mark: &Mark) -> bool {
    let body = match &mark.answer {
        Answer::Reply(body) | Answer::Http { body, .. } => body.clone(),
        _ => return false,
    };
    let reply = Message::new(body);
    let reading = Reading::of(mark);
    let root = reply.root();
    wants.ok.is_none_or(|ok| match reading {
        Reading::Success => ok,
        Reading::Error | Reading::ToolError | Reading::HttpError => !ok,
        Reading::Nonsense | Reading::Nothing => false,
    }) && wants.code.is_none_or(|code| {
        let found = reply.error().and_then(|error| error.member("code")).and_then(Node::as_number);
        found.and_then(|text| text.parse::<i64>().ok()) == Some(code)
    }) && wants.is_error.is_none_or(|flag| match reading {
        Reading::ToolError => flag,
        Reading::Success => !flag,
        _ => false,
    }) && wants.status.is_none_or(|wanted| matches!(mark.answer, Answer::Http { status, .. } if status == wanted))
        && wants.text.as_deref().is_none_or(|text| holds_text(&reply, text))
        && wants.pointer.as_deref().is_none_or(|pointer| value_is(root, pointer, wants.equals.as_deref()))
        && wants.lists.as_deref().is_none_or(|name| {
            let tools = reply.result().and_then(|result| result.member("tools")).map(Node::items).unwrap_or_default();
            let name = ToolName::from(name);
            tools.iter().any(|tool| tool.member("name").and_then(Node::as_str) == Some(name.as_str()))
        })
}

/// Whether the client got for this step the very bytes of some server reply.
pub(super) fn is_unchanged(mark: &Mark, transcript: &Transcript) -> bool {
    let Answer::Reply(body) = &mark.answer else { return false };
    transcript
        .crossings(Leg::Upstream, Direction::Replyward)
        .any(|crossing| crossing.server == mark.server && holds_message(&crossing.message, body))
}

/// Whether a message is, or holds as a batch, the one with these bytes.
pub(super) fn holds_message(message: &Message, raw: &[u8]) -> bool {
    message.raw() == raw || message.each().iter().any(|part| part.raw() == raw)
}

/// The same of many marks, in one pass over the transcript.
fn all_unchanged(marks: &[&Mark], transcript: &Transcript) -> bool {
    if let [mark] = marks {
        return is_unchanged(mark, transcript);
    }
    let replies = transcript.crossings(Leg::Upstream, Direction::Replyward);
    let sent: HashSet<_> =
        replies.flat_map(each).map(|(crossing, message)| (&crossing.server, message.raw())).collect();
    marks.iter().all(|mark| match &mark.answer {
        Answer::Reply(body) => sent.contains(&(&mark.server, body)),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> Node {
        strict::parse(text.as_bytes()).unwrap().root
    }

    #[test]
    fn equality_is_by_spelling_and_not_by_order() {
        assert!(same(&node(r#"{"a":1,"b":[2]}"#), &node(r#"{"b":[2],"a":1}"#)));
        assert!(!same(&node("5.0"), &node("5")));
        assert!(!same(&node("[1,2]"), &node("[2,1]")));
        assert!(!same(&node(r#"{"a":1}"#), &node(r#"{"a":1,"a":1}"#)));
    }

    #[test]
    fn an_unknown_state_proves_nothing() {
        let gone = StateIs { server: None, pointer: "/x".into(), equals: None, absent: true };
        assert!(!state_is(&gone, &Transcript::default(), &ServerName::from("s")));
    }
}
