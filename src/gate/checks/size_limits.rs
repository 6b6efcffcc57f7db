//! `size-limits`: nothing is larger, deeper or longer than its reader can take.

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, Passing, Proposals},
    protocol::{Direction, Message, Shape, strict::Note},
};

/// See the module.
#[derive(Debug)]
pub(super) struct SizeLimits;

static DOCS: Docs = Docs {
    id: CheckId::new("size-limits"),
    summary: "messages that are too large or nested too deep",
    leg: "both",
    what: "Refuses messages with more bytes than `wire.max_reply_bytes` and `wire.max_request_bytes` allow (2,000,000 \
           each unless the policy says otherwise), and messages nested deeper than the gate itself reads. The \
           request is answered with the refusal. In a batch each message is measured, not the whole.",
    why: "A reply that fills the context or the memory of the host ends the session for everybody; and what lies \
          deeper than the gate reads passes unjudged to a reader that goes on.",
    misses: "Time: the deadline of 25 seconds is for whoever holds the clock, not for this check. The memory of the \
             relay, which has read a message whole before it is judged; the transport has a cap of its own. Many \
             messages that are each small enough; listings of many pages are list-integrity's.",
    example: "a tool result of 2,000,001 bytes",
    source: "R10, T07; CWE-770; memtrace-public#18; kali-mcp-server#84",
    rules: &[
        ("reply-too-large", "a message of the server with more bytes than allowed"),
        ("request-too-large", "a message of the client with more bytes than allowed"),
        ("too-deep", "values nested deeper than the gate reads"),
    ],
};

impl Check for SizeLimits {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Event::Passing(passing) = event else { return };
        let message = passing.message;
        if message.shape() == Shape::Batch && !passing.batched {
            return;
        }
        let wire = &context.policy(event).wire;
        let (limit, rule, why) = match passing.direction {
            Direction::Requestward => {
                (wire.max_request_bytes, "request-too-large", "the message has more bytes than the policy allows")
            }
            Direction::Replyward => {
                (wire.max_reply_bytes, "reply-too-large", "the server's message has more bytes than the policy allows")
            }
        };
        if message.raw().len() > limit {
            refuse(context, event, passing, proposals, rule, why);
        } else if is_too_deep(message) {
            refuse(context, event, passing, proposals, "too-deep", "the message is nested too deep to be read");
        }
    }
}

fn is_too_deep(message: &Message) -> bool {
    message.document().is_ok_and(|document| document.notes.iter().any(|note| matches!(note, Note::TooDeep { .. })))
}

/// Refuses, with an answer only where the client waits for one.
fn refuse(
    context: &Context<'_>,
    event: &Event<'_>,
    passing: &Passing<'_>,
    proposals: &mut Proposals,
    rule: &'static str,
    why: &'static str,
) {
    let message = passing.message;
    match (passing.direction, message.shape()) {
        (Direction::Requestward, Shape::Notification | Shape::Response) => proposals.discard(rule, why),
        (Direction::Requestward, _) => proposals.refuse(rule, why),
        (Direction::Replyward, _) if context.answered.is_some() => proposals.refuse(rule, why),
        (Direction::Replyward, Shape::Response) => {
            check::refuse_orphan(context, event, message, proposals, rule, why);
        }
        (Direction::Replyward, _) => proposals.discard(rule, why),
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const SMALL: &str = "[servers.board.wire]\nmax_reply_bytes = 120\nmax_request_bytes = 90\n";

    fn driver() -> Driver {
        Driver::only("size-limits", SMALL)
    }

    /// `text` with its `@` blown up so that the whole has `length` bytes.
    fn padded(text: &str, length: usize) -> String {
        text.replace('@', &"x".repeat(length + 1 - text.len()))
    }

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn the_limit_is_the_last_that_passes() {
        let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"@"}}"#;
        let pong = r#"{"jsonrpc":"2.0","id":7,"result":{"x":"@"}}"#;
        let mut gate = driver();
        gate.ask(&padded(ping, 90)).passes();
        gate.tell(&padded(pong, 120)).passes();
        gate.ask(&padded(ping, 91)).refuses("request-too-large").answers("7").never_says("xxx");
        gate.ask(&padded(ping, 90)).passes();
        gate.tell(&padded(pong, 121)).refuses("reply-too-large").answers("7").never_says("xxx");
    }

    #[test]
    fn the_defaults_are_two_million_bytes() {
        let mut gate = Driver::only("size-limits", "");
        for (length, passes) in [(2_000_000, true), (2_000_001, false)] {
            gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
            let said = gate.tell(&padded(r#"{"jsonrpc":"2.0","id":7,"result":{"x":"@"}}"#, length));
            if passes {
                said.passes();
            } else {
                said.refuses("reply-too-large").answers("7");
            }
        }
    }

    #[test]
    fn nobody_is_answered_who_doesnt_wait() {
        let mut gate = driver();
        let notice = padded(r#"{"jsonrpc":"2.0","method":"notifications/message","params":"@"}"#, 200);
        gate.ask(&notice).drops("request-too-large");
        gate.tell(&notice).drops("reply-too-large");
        gate.tell(&padded(r#"{"jsonrpc":"2.0","id":9,"result":"@"}"#, 200)).drops("reply-too-large");
        gate.ask(&padded(r#"{"jsonrpc":"2.0","id":9,"result":"@"}"#, 200)).drops("request-too-large");
        gate.tell(&"x".repeat(200)).drops("reply-too-large");
    }

    #[test]
    fn what_the_gate_cannot_read_does_not_pass() {
        let mut gate = Driver::only("size-limits", "");
        let ask = |depth| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{}}}"#, nested(depth));
        let tell = |depth| format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, nested(depth));
        gate.ask(&ask(511)).passes();
        gate.tell(&tell(511)).passes();
        gate.ask(&ask(512)).refuses("too-deep").answers("7");
        gate.ask(&ask(1)).passes();
        gate.tell(&tell(512)).refuses("too-deep").answers("7");
    }
}
