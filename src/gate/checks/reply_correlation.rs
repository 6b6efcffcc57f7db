//! `reply-correlation`: every reply belongs to one request in flight.

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, Heard, Passing, Progress, Proposals},
    protocol::{
        Direction, INVALID_REQUEST, Message, Shape,
        strict::{Kind, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct ReplyCorrelation;

static DOCS: Docs = Docs {
    id: CheckId::new("reply-correlation"),
    summary: "replies and progress that belong to no request in flight, and malformed ones",
    leg: "both",
    what: "Lets a reply pass only under the id of a request in flight, with its type, once, with either a result or \
           a well-formed error, and with `jsonrpc` exactly \"2.0\". Where a reply can only have been meant for the \
           one request in flight, that request is answered with the refusal, so that nobody waits for ever. Progress \
           passes only for a token of a request in flight, and only forwards. What is said on a stream of the \
           stateless era (`subscriptions/listen`) passes only to whoever asked for it, and only if it was asked for. \
           A second request under an id in flight \
           is refused. What the server says that is no JSON-RPC message (a log line, say) never passes; text that \
           begins as the reply to a request in flight and breaks off is refused under that id. A reply on the \
           stream of a GET that resumes nothing is dropped: its own response brings it.",
    why: "Whoever can answer under another request's id, or twice, chooses what the model believes that a tool said; \
          and a client that meets two requests under one id crosses their answers.",
    misses: "A wrong reply under the right id: a server may always lie about its own answer. With several requests \
             in flight, the one whose reply came under an invented id is not known and runs into the client's own \
             deadline. Batches, and what is wrong with the client's own messages, are strict-envelope's.",
    example: r#"{"jsonrpc":"2.0","id":"1","result":{}} as the reply to a request with id 1"#,
    source: "T06, C14; rust-sdk#1017, #938; claude-ai-mcp#539; protocol rules 2 to 9, 104, 105",
    rules: &[
        ("late-or-duplicate", "a reply to a request that was answered or cancelled is dropped"),
        ("wrong-id", "a reply under an id that nobody asked with"),
        ("version", "the `jsonrpc` of the server's message is not exactly \"2.0\""),
        ("malformed", "a reply with both a result and an error, with neither, or with an error of the wrong form"),
        ("no-message", "text of the server that is no JSON-RPC message"),
        ("id-in-use", "a request under an id that is in flight"),
        ("damaged", "text that begins as the reply to a request in flight and is not JSON"),
        ("misplaced", "a reply to a request in flight on the stream of a GET that resumes nothing"),
        ("unknown-progress", "progress for a request that isn't in flight"),
        ("stalled-progress", "progress that doesn't move on"),
        ("unknown-subscription", "a notification for a stream that nobody, or somebody else, asked for"),
        ("not-subscribed", "a notification of a kind that was not asked for on its stream"),
    ],
};

impl Check for ReplyCorrelation {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Event::Passing(Passing { direction, message, .. }) = event else { return };
        match direction {
            Direction::Requestward if context.id_in_use => {
                let why = "another request with this id has not been answered yet";
                proposals.refuse_as(INVALID_REQUEST, "id-in-use", why);
            }
            Direction::Requestward => {}
            Direction::Replyward => replyward(context, event, message, proposals),
        }
    }
}

fn replyward(context: &Context<'_>, event: &Event<'_>, message: &Message, proposals: &mut Proposals) {
    let facts = context.server(event);
    match message.shape() {
        Shape::Broken => match message.damaged_id().filter(|id| facts.in_flight.contains_key(id)) {
            Some(id) => proposals.refuse_instead_of(id, "damaged", "the server's reply is not JSON"),
            None => proposals.discard("no-message", "the server sent text that is not JSON"),
        },
        // A batch is for `strict-envelope` to refuse.
        Shape::Batch => {}
        Shape::Other => match message.id().filter(|id| facts.in_flight.contains_key(id)) {
            Some(id) => {
                let why = "the server's reply has neither a result nor an error";
                proposals.refuse_instead_of(id.clone(), "malformed", why);
            }
            None => proposals.discard("no-message", "the server sent JSON that is no message"),
        },
        Shape::Response => {
            if context.crossed.is_some() {
                // It answers a request in flight; whose, is for session-binding.
                return;
            }
            if context.misplaced {
                let why = "the reply came on the stream of a GET, not as the response to its request";
                return proposals.discard("misplaced", why);
            }
            if context.answered.is_none() {
                return orphan(context, event, message, proposals);
            }
            if !check::is_jsonrpc_2(message) {
                proposals.refuse("version", "the server's reply has a `jsonrpc` other than \"2.0\"");
            } else if let Some(why) = malformed(message) {
                proposals.refuse("malformed", why);
            }
        }
        Shape::Request | Shape::Notification if !check::is_jsonrpc_2(message) => {
            proposals.discard("version", "the server's message has a `jsonrpc` other than \"2.0\"");
        }
        Shape::Request | Shape::Notification => match context.progress {
            Some(Progress::Unknown) => {
                proposals.discard("unknown-progress", "the progress belongs to no request in flight");
            }
            Some(Progress::Stalled) => proposals.discard("stalled-progress", "the progress doesn't move on"),
            Some(Progress::Fine) | None => stream(context, proposals),
        },
    }
}

/// What is said on a stream that a client asked for.
fn stream(context: &Context<'_>, proposals: &mut Proposals) {
    match context.heard {
        Some(Heard::Nowhere) => {
            proposals.discard("unknown-subscription", "it belongs to no stream that this client asked for");
        }
        Some(Heard::Unwanted) => {
            proposals.discard("not-subscribed", "the client did not ask for this on the stream that it is said on");
        }
        Some(Heard::Begins | Heard::Wanted) | None => {}
    }
}

/// A reply that answers no request in flight.
fn orphan(context: &Context<'_>, event: &Event<'_>, message: &Message, proposals: &mut Proposals) {
    let is_late = message.id().is_some_and(|id| context.server(event).settled.contains(id));
    let (rule, why) = if is_late {
        ("late-or-duplicate", "the request was answered or cancelled before")
    } else {
        ("wrong-id", "the server answered under an id that nobody asked with")
    };
    check::refuse_orphan(context, event, message, proposals, rule, why);
}

fn malformed(message: &Message) -> Option<&'static str> {
    let members = message.root()?.members();
    let count = |key| members.iter().filter(|member| member.key == key).count();
    if count("id") > 1 {
        return Some("the server's reply has more than one id");
    }
    if count("result") + count("error") != 1 {
        return Some("the server's reply must have exactly one of a result and an error");
    }
    let error = message.error()?;
    let is_object = matches!(error.kind, Kind::Object(_));
    let code = error.member("code").and_then(Node::as_number).is_some_and(|code| code.parse::<i64>().is_ok());
    let text = error.member("message").is_some_and(|text| text.as_str().is_some());
    (!(is_object && code && text)).then_some("the server's error has no integer code or no message text")
}

#[cfg(test)]
mod tests {
    use crate::gate::{Verb, testing::Driver};

    const POLICY: &str = "";

    fn driver() -> Driver {
        Driver::only("reply-correlation", POLICY)
    }

    #[test]
    fn a_reply_with_the_right_id_passes_untouched_and_once() {
        let mut gate = driver();
        for id in ["0", "\"0\"", "\"1\"", "1"] {
            gate.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).passes();
        }
        for id in ["1", "\"1\"", "\"0\"", "0"] {
            gate.tell(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)).passes();
        }
        gate.tell(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).drops("late-or-duplicate");
    }

    #[test]
    fn a_reply_under_another_id_answers_the_one_who_waits() {
        for wrong in ["\"7\"", "8", "null", "[7]", "7.0"] {
            let mut gate = driver();
            gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
            let ruling = gate.tell(&format!(r#"{{"jsonrpc":"2.0","id":{wrong},"result":{{"a":1}}}}"#));
            ruling.refuses("wrong-id").answers("7");
            gate.tell(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).drops("late-or-duplicate");
        }
    }

    #[test]
    fn nobody_is_answered_by_guessing() {
        let mut gate = driver();
        gate.ask(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).passes();
        gate.ask(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).passes();
        gate.tell(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).drops("wrong-id");
        gate.tell(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#).passes();
    }

    #[test]
    fn malformed_replies_are_refused_under_their_own_id() {
        for (rule, reply) in [
            ("version", r#"{"jsonrpc":"1.0","id":7,"result":{}}"#),
            ("version", r#"{"id":7,"result":{}}"#),
            ("version", r#"{"jsonrpc":2.0,"id":7,"result":{}}"#),
            ("malformed", r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"x"}}"#),
            ("malformed", r#"{"jsonrpc":"2.0","id":7}"#),
            ("malformed", r#"{"jsonrpc":"2.0","id":7,"error":"broken"}"#),
            ("malformed", r#"{"jsonrpc":"2.0","id":7,"error":{"code":"1","message":"x"}}"#),
            ("malformed", r#"{"jsonrpc":"2.0","id":8,"id":7,"result":{}}"#),
        ] {
            let mut gate = driver();
            gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
            gate.tell(reply).refuses(rule).answers("7");
        }
        let mut gate = driver();
        gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
        gate.tell(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no such tool","data":1}}"#).passes();
    }

    #[test]
    fn noise_is_dropped_and_never_answered() {
        let mut gate = driver();
        gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
        for noise in ["Server started", "", "{}", "42"] {
            gate.tell(noise).drops("no-message");
        }
        gate.tell(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).passes();
    }

    #[test]
    fn a_damaged_reply_is_refused_under_the_id_that_it_begins_with() {
        for damaged in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"a":1"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{}}{"jsonrpc":"2.0","id":7,"result":{}}"#,
        ] {
            let mut gate = driver();
            gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
            gate.ask(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#).passes();
            gate.tell(damaged).refuses("damaged").answers("7");
            gate.tell(damaged).drops("no-message");
            gate.tell(r#"{"jsonrpc":"2.0","id":8,"result":{}}"#).passes();
        }
    }

    #[test]
    fn a_reply_comes_as_the_response_to_its_request() {
        let reply = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
        for (headers, passes) in [(&[][..], false), (&[("last-event-id", "a_1")], true)] {
            let mut gate = driver();
            gate.via(Verb::Post, &[]).ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
            let early = gate.via(Verb::Get, headers).tell(reply);
            if passes {
                early.passes();
            } else {
                early.drops("misplaced");
                gate.via(Verb::Post, &[]).tell(reply).passes();
                gate.via(Verb::Get, &[]).tell(reply).drops("late-or-duplicate");
            }
        }
    }

    #[test]
    fn an_id_in_flight_stays_with_its_first_request() {
        let mut gate = driver();
        gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
        gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).refuses("id-in-use");
        gate.tell(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).passes();
        gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
    }

    #[test]
    fn an_opening_cannot_be_cancelled() {
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        let mut gate = driver();
        gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#).passes();
        gate.ask(cancel).passes();
        gate.tell(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).passes();
        gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
        gate.ask(cancel).passes();
        gate.tell(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).drops("late-or-duplicate");
    }

    #[test]
    fn progress_belongs_to_a_request_and_rises() {
        let mut gate = driver();
        gate.ask(
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"t"}}}"#,
        )
        .passes();
        let progress = |token: &str, at: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{at}}}}}"#
            )
        };
        gate.tell(&progress("\"t\"", "0")).passes();
        gate.tell(&progress("\"t\"", "0.5")).passes();
        gate.tell(&progress("\"t\"", "0.5")).drops("stalled-progress");
        gate.tell(&progress("7", "1")).drops("unknown-progress");
        gate.tell(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#).passes();
        gate.tell(&progress("\"t\"", "2")).drops("unknown-progress");
    }
}
