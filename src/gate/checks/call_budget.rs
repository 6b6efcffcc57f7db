//! `call-budget`: a session asks a server to act no more often than makes sense.

use super::CheckId;
use crate::gate::{Check, Context, Count, Docs, Event, Passing, Proposals, Replay, ToolBudget};

/// See the module.
#[derive(Debug)]
pub(super) struct CallBudget;

static DOCS: Docs = Docs {
    id: CheckId::new("call-budget"),
    summary: "loops, floods, and acts that are played twice",
    leg: "requestward",
    what: "Counts, over a whole session and its reconnects, what the server is asked to do or disclose: in all, the \
           calls of a tool with the same arguments (whatever the order of keys or the spelling of numbers), those \
           one after another, and those that wait for an answer. Past the policy's limits (10,000, 1000, 100 and 256 \
           unless it says otherwise) they are refused. For a tool whose policy says `replay = \"refuse\"`, a call \
           that was made before is refused, unless the earlier one is known to have failed, or carries another \
           idempotency key, or carries the same one and its outcome is not known. What is refused is not counted: the \
           server never gets it.",
    why: "A result that says 'incomplete, call again' makes a host that believes it pay the bill, or transfer the \
          money, as often as the server likes; a message that is sent again under a new id is a second transfer. \
          An honest host that waits, retries once or works through a list stays far below.",
    misses: "The gate reads no clock: a budget is a session's, not an hour's, and a new session begins a new one. A \
             loop that changes its arguments each time is only stopped by the number of calls, one that makes up a \
             new idempotency key by the number of calls of its tool. A failure that was none (the server acted and \
             then said that it did not) opens the way for a retry. Calls inside a batch are not counted.",
    example: r#"the second {"name":"transfer","arguments":{"to":"rent","cents":64000}} after the first succeeded"#,
    source: "C14, C15, R12; OWASP MCP10:2025; LLM10:2025",
    rules: &[
        ("calls", "the session, or the tool in it, has used up its calls"),
        ("identical", "the tool was called with these arguments too often"),
        ("in-a-row", "the tool was called with these arguments too often with nothing between"),
        ("in-flight", "too many calls wait for their answers"),
        ("replayed", "the act was already done, or may have been"),
        ("too-many-acts", "so many acts were done that replays can't be told any more"),
    ],
};

impl Check for CallBudget {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let (Some(count), Event::Passing(Passing { message, .. })) = (context.count, event) else { return };
        let server = &context.policy(event).budget;
        if count.total > server.calls {
            return proposals.refuse("calls", "the session has used up its calls to this server");
        }
        if message.method() != Some("tools/call") {
            return;
        }
        let tool = message.called_tool().and_then(|tool| context.policy(event).tools.get(tool));
        let unlimited = ToolBudget::default();
        let tool = tool.map_or(&unlimited, |tool| &tool.budget);
        let exceeds = |count: usize, limit: Option<usize>| limit.is_some_and(|limit| count > limit);
        if exceeds(count.tool, tool.calls) {
            proposals.refuse("calls", "the session has used up its calls of this tool");
        } else if count.waiting > server.in_flight || exceeds(count.tool_waiting, tool.in_flight) {
            proposals.refuse("in-flight", "too many calls are waiting for their answers; wait for some of them");
        } else if count.in_a_row > tool.in_a_row.unwrap_or(server.in_a_row) {
            let why = "the tool was called with the same arguments too often, one call after another";
            proposals.refuse("in-a-row", why);
        } else if count.identical > tool.identical.unwrap_or(server.identical) {
            proposals.refuse("identical", "the tool was called with the same arguments too often in this session");
        } else if tool.replay == Replay::Refuse {
            replayed(&count, proposals);
        }
    }
}

fn replayed(count: &Count, proposals: &mut Proposals) {
    match count.act {
        None => {
            proposals
                .refuse("too-many-acts", "the session did so many acts that a repeated one can't be told any more");
        }
        Some(act) if act.done => proposals.refuse("replayed", "this was already done in this session"),
        Some(act) if act.made > 1 && !act.keyed => {
            let why = "this was already asked for in this session, and whether it was done is not known";
            proposals.refuse("replayed", why);
        }
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        gate::{Reach, testing::Driver},
        protocol::REFUSED,
    };

    const POLICY: &str = r#"
[servers.board.budget]
calls = 30
identical = 6
in_a_row = 4
in_flight = 3
[servers.board.tools.pay.budget]
calls = 8
replay = "refuse"
same = ["/to", "/cents"]
key = "/key"
[servers.board.tools.book.budget]
replay = "refuse"
identical = 3
[servers.board.tools.poll.budget]
in_a_row = 20
identical = 20
"#;
    const FINE: &str = r#"{"content":[{"type":"text","text":"done CANARY"}]}"#;
    const FAILED: &str = r#"{"content":[{"type":"text","text":"try again later"}],"isError":true}"#;

    fn gate() -> Driver {
        Driver::only("call-budget", POLICY)
    }

    #[test]
    fn loops_end() {
        let mut gate = gate();
        for five in ["5", "5e0", "5.0", "0.5e1"] {
            gate.result("look", &format!(r#"{{"b":{five},"a":1}}"#), FINE).passes();
        }
        gate.result("look", r#"{ "a": 1.0, "b": 5 }"#, FINE).refuses("in-a-row").code(REFUSED);
        gate.result("look", r#"{"a":1,"b":5}"#, FINE).refuses("in-a-row");
        for _ in 0..2 {
            gate.result("look", r#"{"a":2}"#, FINE).passes();
            gate.result("look", r#"{"a":1,"b":5}"#, FINE).passes();
        }
        gate.result("look", r#"{"a":2}"#, FINE).passes();
        gate.result("look", r#"{"a":1,"b":5}"#, FINE).refuses("identical").never_says("look");
        for _ in 0..19 {
            gate.result("poll", "{}", FINE).passes();
        }
        for n in 0..2 {
            gate.result("look", &format!(r#"{{"n":{n}}}"#), FINE).passes();
        }
        gate.exchange("resources/read", r#"{"uri":"x:y"}"#, "{}").refuses("calls");
        gate.exchange("tools/list", "{}", r#"{"tools":[]}"#).passes();
    }

    #[test]
    fn absent_arguments_and_empty_ones_are_the_same() {
        let mut gate = gate();
        gate.exchange("tools/call", r#"{"name":"x"}"#, FINE).passes();
        gate.exchange("tools/call", r#"{"name":"x","arguments":{}}"#, FINE).passes();
        gate.exchange("tools/call", r#"{"name":"x","arguments":null}"#, FINE).passes();
        gate.exchange("tools/call", r#"{"arguments":{},"name":"\u0078"}"#, FINE).passes();
        gate.exchange("tools/call", r#"{"name":"x","_meta":{"progressToken":5}}"#, FINE).refuses("in-a-row");
        gate.ask(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}"#).drops("in-a-row");
    }

    #[test]
    fn waiting_calls_are_limited() {
        let mut gate = gate();
        for id in 1..=3 {
            gate.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"x{id}"}}}}"#))
                .passes();
        }
        gate.call("y", "{}").refuses("in-flight");
        gate.ask(r#"{"jsonrpc":"2.0","id":77,"method":"ping"}"#).passes();
        gate.ask(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#).passes();
        gate.result("y", "{}", FINE).passes();
        gate.call("y", "{}").passes();
        gate.call("z", "{}").refuses("in-flight");
        gate.open(Reach::Memory, &[]);
        gate.call("z", "{}").passes();
    }

    #[test]
    fn what_is_never_answered_waits_no_more_and_may_have_been_done() {
        let mut gate = gate();
        let pay = |id: u32| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"pay","arguments":{{"to":"rent","cents":1}}}}}}"#
            )
        };
        gate.ask(&pay(1)).passes();
        gate.unanswered(1);
        gate.ask(&pay(2)).refuses("replayed");
        for id in 3..=20 {
            gate.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"x{id}"}}}}"#))
                .passes();
            gate.unanswered(id);
        }
    }

    #[test]
    fn an_act_is_done_once() {
        let rent = r#"{"to":"rent","cents":64000,"note":"June"}"#;
        let mut gate = gate();
        gate.result("pay", rent, FINE).passes();
        gate.result("pay", rent, FINE).refuses("replayed").never_says("rent");
        gate.result("pay", &rent.replace("June", "again"), FINE).refuses("replayed");
        gate.result("pay", &rent.replace("64000", "6.4e4"), FINE).refuses("replayed");
        gate.result("pay", &rent.replace("64000", "64001"), FINE).passes();
        gate.open(Reach::Memory, &[]);
        gate.result("pay", rent, FINE).refuses("replayed");
        gate.result("book", r#"{"room":4}"#, FINE).passes();
        gate.result("book", r#"{"room":4}"#, FINE).refuses("replayed");
        gate.result("book", r#"{"room":5}"#, FINE).passes();
    }

    #[test]
    fn what_failed_may_be_tried_again() {
        let rent = r#"{"to":"rent","cents":64000}"#;
        let mut gate = gate();
        gate.result("pay", rent, FAILED).passes();
        gate.ask(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"pay","arguments":{"to":"rent","cents":64000}}}"#)
            .passes();
        gate.tell(r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"busy"}}"#).passes();
        gate.result("pay", rent, r#"{"content":[],"isError":"true"}"#).passes();
        // What two readers may take for a success may have been one.
        gate.result("pay", rent, FINE).refuses("replayed");
        for _ in 0..3 {
            gate.result("book", "{}", FAILED).passes();
        }
        gate.result("book", "{}", FINE).refuses("identical");
    }

    #[test]
    fn without_a_key_an_unknown_outcome_is_no_failure() {
        let call = |id: u32, key: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"pay","arguments":{{"to":"rent","cents":1{key}}}}}}}"#
            )
        };
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
        let mut gate = gate();
        gate.ask(&call(5, "")).passes();
        gate.ask(&call(6, "")).refuses("replayed");
        gate.ask(&call(5, "")).refuses("replayed");
        gate.ask(cancel).passes();
        gate.ask(&call(7, "")).refuses("replayed");
        gate.ask(&call(7, r#","key":" ""#)).refuses("replayed");
        gate.ask(&call(5, r#","key":"k-1""#)).passes();
        gate.ask(cancel).passes();
        gate.ask(&call(8, r#","key":"k-1""#)).passes();
        gate.tell(&format!(r#"{{"jsonrpc":"2.0","id":8,"result":{FINE}}}"#)).passes();
        gate.ask(&call(9, r#","key":"k-1""#)).refuses("replayed");
        gate.ask(&call(9, r#","key":"k-2""#)).passes();
    }

    #[test]
    fn an_honest_batch_passes_the_defaults() {
        let mut gate = Driver::only("call-budget", "");
        for n in 0..2000 {
            gate.result("look", &format!(r#"{{"row":{n}}}"#), FINE).passes();
        }
        for _ in 0..100 {
            gate.result("look", "{}", FINE).passes();
        }
        gate.result("look", "{}", FINE).refuses("in-a-row");
    }

    #[test]
    fn what_is_refused_is_not_counted() {
        let mut gate = Driver::new(&format!("{POLICY}\n[servers.board]\nallow = [\"pay\"]\n"));
        for _ in 0..40 {
            gate.call("other", "{}").refuses("not-callable");
        }
        gate.call("pay", r#"{"to":"rent"}"#).passes();
    }
}
