//! `protocol-version`: a session is opened in a version that the host wants.

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, Passing, Proposals},
    protocol::{Direction, INVALID_REQUEST, Message},
};

/// See the module.
#[derive(Debug)]
pub(super) struct ProtocolVersion;

static DOCS: Docs = Docs {
    id: CheckId::new("protocol-version"),
    summary: "sessions opened in a version that is unknown, not allowed or too old, and requests under another one",
    leg: "both",
    what: "Lets the reply to `initialize` pass only if its `protocolVersion` is, exactly once and in a string, one of \
           the policy's `wire.versions` (every revision with a handshake that this gate knows, unless it says \
           otherwise) and not older than `wire.min_version`. Over HTTP, a request whose `MCP-Protocol-Version` header \
           is not the version of the session is refused with 400; one without the header passes.",
    why: "An older version has fewer safeguards, an invented one none that anybody knows: whoever chooses the version \
          chooses the rules. And where header and session differ, two readers go by different rules.",
    misses: "Within what is allowed, a server may still answer with an older version than it was asked for. A client \
             that goes on after a refused opening: nothing but its requests' headers is held against it. A version \
             is the session's last opening's; two clients behind one gate are not told apart.",
    example: r#"{"result":{"protocolVersion":"2024-11-05",…}} as the reply to `initialize`"#,
    source: "T13, fields 25 and 26; modelcontextprotocol/inspector#679; MCP basic/lifecycle; CWE-757",
    rules: &[
        ("no-version", "the reply to `initialize` doesn't say its version exactly once, in a string"),
        ("not-allowed", "the session would be opened in a version that is not on the policy's list"),
        ("downgrade", "the session would be opened in a version older than the policy's oldest"),
        ("header", "the version in a request's header is not the session's"),
    ],
};

impl Check for ProtocolVersion {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        match event {
            Event::Passing(Passing { direction: Direction::Requestward, message, headers: Some(headers), .. })
                // The header of a request to open is about no session yet.
                if message.method() != Some("initialize") =>
            {
                requested(context, event, headers, proposals);
            }
            Event::Passing(Passing { direction: Direction::Replyward, message, .. })
                if context.answered.is_some_and(|request| request.method == "initialize") =>
            {
                opened(context, event, message, proposals);
            }
            _ => {}
        }
    }
}

fn requested(context: &Context<'_>, event: &Event<'_>, headers: &[(String, String)], proposals: &mut Proposals) {
    let wire = &context.policy(event).wire;
    let negotiated = context.server(event).negotiated.as_deref();
    let fits = |value: &str| match negotiated {
        Some(version) => value == version,
        // A session that was opened before the gate came.
        None => wire.allows_version(value),
    };
    let mut versions = headers.iter().filter(|(name, _)| name == "mcp-protocol-version").map(|(_, value)| value);
    if !versions.all(|value| fits(value.trim())) {
        let why = "the protocol version in the request's header is not the session's";
        proposals.refuse_as_with_status(INVALID_REQUEST, 400, "header", why);
    }
}

fn opened(context: &Context<'_>, event: &Event<'_>, message: &Message, proposals: &mut Proposals) {
    if message.result().is_none() {
        // The server's own refusal opens nothing.
        return;
    }
    let wire = &context.policy(event).wire;
    match check::opened_version(message) {
        None => proposals.refuse("no-version", "the server did not say in which protocol version the session opens"),
        Some(version) if !wire.lists_version(version) => {
            proposals.refuse("not-allowed", "the server opened the session in a protocol version that is not allowed");
        }
        Some(version) if wire.is_below_minimum(version) => {
            proposals.refuse("downgrade", "the server opened the session in a protocol version that is too old");
        }
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        gate::{
            Decision, Reach,
            testing::{Driver, Outcome},
        },
        protocol::{INVALID_REQUEST, Revision},
    };

    const CHECK: &str = "protocol-version";
    const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

    fn open(gate: &mut Driver, version: &str) -> Outcome {
        gate.exchange("initialize", "{}", &format!(r#"{{"protocolVersion":{version},"capabilities":{{}}}}"#))
    }

    #[test]
    fn every_revision_with_a_handshake_opens_a_session() {
        for revision in Revision::ALL {
            open(&mut Driver::only(CHECK, ""), &format!("\"{revision}\"")).passes();
        }
        let mut gate = Driver::only(CHECK, "");
        gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#).passes();
        gate.tell(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"unsupported"}}"#).passes();
    }

    #[test]
    fn unknown_versions_are_refused_under_the_requests_id() {
        for (rule, version) in [
            ("not-allowed", "\"2024-11-05\""),
            ("not-allowed", "\"1900-01-01\""),
            ("not-allowed", "\"2999-12-31\""),
            ("not-allowed", "\"DRAFT-2025-v2\""),
            ("not-allowed", "\"\""),
            ("not-allowed", "\" 2025-06-18\""),
            ("no-version", "20250618"),
            ("no-version", "null"),
            ("no-version", "[\"2025-06-18\"]"),
            ("no-version", "\"2025-06-18\",\"protocolVersion\":\"2025-06-18\""),
        ] {
            open(&mut Driver::only(CHECK, ""), version).refuses(rule).answers("101").never_says("2999");
        }
        let mut gate = Driver::only(CHECK, "");
        gate.exchange("initialize", "{}", "{}").refuses("no-version");
        gate.exchange("initialize", "{}", "\"2025-06-18\"").refuses("no-version");
    }

    #[test]
    fn the_policy_chooses_among_versions() {
        let policy = "[servers.board.wire]\nmin_version = \"2025-06-18\"\n";
        open(&mut Driver::only(CHECK, policy), "\"2025-11-25\"").passes();
        open(&mut Driver::only(CHECK, policy), "\"2025-06-18\"").passes();
        open(&mut Driver::only(CHECK, policy), "\"2025-03-26\"").refuses("downgrade");
        let policy = "[servers.board.wire]\nversions = [\"2024-11-05\"]\n";
        open(&mut Driver::only(CHECK, policy), "\"2024-11-05\"").passes();
        open(&mut Driver::only(CHECK, policy), "\"2025-06-18\"").refuses("not-allowed");
    }

    #[test]
    fn the_header_is_the_sessions_version() {
        let mut gate = Driver::only(CHECK, "");
        open(&mut gate, "\"2025-06-18\"").passes();
        let mut ask = |text, headers: &[(&str, &str)]| {
            let said = gate.ask_with(text, headers);
            gate.tell(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
            said
        };
        ask(PING, &[]).passes();
        ask(PING, &[("mcp-protocol-version", "2025-06-18")]).passes();
        let other = ask(PING, &[("mcp-protocol-version", "2025-11-25")]);
        other.refuses("header").answers("7").code(INVALID_REQUEST);
        assert!(matches!(other.ruling.decision, Decision::Refuse { status: Some(400), .. }));
        let twice = [("mcp-protocol-version", "2025-06-18"), ("mcp-protocol-version", "2025-03-26")];
        ask(PING, &twice).refuses("header");
        // A GET has no body; its header counts as well.
        ask("", &[("mcp-protocol-version", "2025-11-25")]).refuses("header");
        ask("", &[("mcp-protocol-version", "2025-06-18")]).passes();
        let again = r#"{"jsonrpc":"2.0","id":8,"method":"initialize","params":{}}"#;
        ask(again, &[("mcp-protocol-version", "2025-11-25")]).passes();
    }

    #[test]
    fn a_refused_opening_changes_no_session() {
        let mut gate = Driver::only(CHECK, "");
        open(&mut gate, "\"2025-06-18\"").passes();
        open(&mut gate, "\"2999-12-31\"").refuses("not-allowed");
        gate.ask_with(PING, &[("mcp-protocol-version", "2025-06-18")]).passes();
    }

    #[test]
    fn before_an_opening_the_header_is_held_to_the_policy() {
        let mut gate = Driver::only(CHECK, "");
        open(&mut gate, "\"2025-06-18\"").passes();
        gate.open(Reach::Memory, &[]);
        gate.ask_with(PING, &[("mcp-protocol-version", "2999-12-31")]).refuses("header");
        gate.ask_with(PING, &[("mcp-protocol-version", "2025-11-25")]).passes();
    }
}
