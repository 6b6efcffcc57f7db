//! `protocol-version`: a session is opened in a version that the host wants.

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, Passing, Proposals, WirePolicy},
    protocol::{
        Direction, Era, HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, Shape, meta,
        strict::Kind,
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct ProtocolVersion;

static DOCS: Docs = Docs {
    id: CheckId::new("protocol-version"),
    summary: "sessions opened and requests made in a version that is unknown, not allowed or too old, or in two at once",
    leg: "both",
    what: "Lets the reply to `initialize` pass only if its `protocolVersion` is, exactly once and in a string, one of \
           the policy's `wire.versions` (every revision that this gate knows, unless it says otherwise) with a \
           handshake, and not older than `wire.min_version`. Over HTTP, a request whose `MCP-Protocol-Version` header \
           is not the version of the session is refused with 400; one without the header passes. In the stateless era (from \
           2026-07-28), which is told by a request's own `_meta` and by nothing that came before, each request must \
           say its version and its client's capabilities exactly once (else -32602), in a version of that era that \
           is allowed (else -32022 with those that are), and over HTTP say the same in its header (else -32020).",
    why: "An older version has fewer safeguards, an invented one none that anybody knows: whoever chooses the version \
          chooses the rules. And where header and body or session differ, two readers go by different rules.",
    misses: "Within what is allowed, a server may still answer with an older version than it was asked for. A client \
             that goes on after a refused opening: nothing but its requests' headers is held against it. With a \
             handshake, a version is the session's last opening's; two clients behind one gate are not told apart. \
             The versions that a server lists to `server/discover`.",
    example: r#"{"result":{"protocolVersion":"2024-11-05",…}} as the reply to `initialize`"#,
    source: "T13, fields 25 and 26; modelcontextprotocol/inspector#679; MCP basic/lifecycle, basic/versioning; \
             protocol rules 25 to 28, 34, 53, 54; CWE-757",
    rules: &[
        (
            "no-version",
            "the reply to `initialize`, or a request's `_meta`, doesn't say its version exactly once, in a string",
        ),
        ("no-capabilities", "a request's `_meta` doesn't say exactly once what the client can do"),
        ("not-allowed", "a version that is not on the policy's list, or is of the other era"),
        ("downgrade", "a version older than the policy's oldest"),
        ("header", "the version in a request's header is not the session's, or not the request's own"),
        ("two-eras", "a handshake that carries what only requests of the stateless era carry"),
    ],
};

impl Check for ProtocolVersion {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        match event {
            Event::Passing(Passing { direction: Direction::Requestward, message, headers, .. })
                if message.is_stateless() =>
            {
                stateless(&context.policy(event).wire, message, *headers, proposals);
            }
            Event::Passing(Passing { direction: Direction::Requestward, message, headers: Some(headers), .. })
                // The header of a request to open is about no session yet.
                if message.method() != Some("initialize") =>
            {
                requested(context, event, message, headers, proposals);
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

/// The versions in some headers.
fn said(headers: &[(String, String)]) -> impl Iterator<Item = &str> {
    headers.iter().filter(|(name, _)| name == "mcp-protocol-version").map(|(_, value)| value.trim())
}

/// A request that says itself what it is spoken in.
fn stateless(wire: &WirePolicy, message: &Message, headers: Option<&[(String, String)]>, proposals: &mut Proposals) {
    if message.method() == Some("initialize") {
        // The method is gone from that era, which is what its servers say.
        let why = "a handshake doesn't carry the version and the capabilities of a single request";
        return proposals.refuse_as_with_status(METHOD_NOT_FOUND, 404, "two-eras", why);
    }
    let Some(version) = message.own_version() else {
        let why = "the request's `_meta` does not say exactly once which version it is spoken in";
        return proposals.refuse_as_with_status(INVALID_PARAMS, 400, "no-version", why);
    };
    let mut declared = message.in_meta(meta::CAPABILITIES);
    let is_object = declared.next().is_some_and(|node| matches!(node.kind, Kind::Object(_)));
    if !is_object || declared.next().is_some() {
        let why = "the request's `_meta` does not say exactly once what the client can do";
        return proposals.refuse_as_with_status(INVALID_PARAMS, 400, "no-capabilities", why);
    }
    if let Some(headers) = headers {
        let mut versions = said(headers).peekable();
        if versions.peek().is_none() || !versions.all(|said| said == version) {
            let why = "the request's version does not stand in its `MCP-Protocol-Version` header";
            return proposals.refuse_as_with_status(HEADER_MISMATCH, 400, "header", why);
        }
    }
    let supported = || wire.of_era(Era::Stateless);
    if Era::of(version) != Era::Stateless || !wire.lists_version(version) {
        proposals.refuse_version(supported(), "not-allowed", "the request's protocol version is not allowed");
    } else if wire.is_below_minimum(version) {
        proposals.refuse_version(supported(), "downgrade", "the request's protocol version is too old");
    }
}

fn requested(
    context: &Context<'_>,
    event: &Event<'_>,
    message: &Message,
    headers: &[(String, String)],
    proposals: &mut Proposals,
) {
    let wire = &context.policy(event).wire;
    let negotiated = context.server(event).negotiated.as_deref();
    if message.shape() == Shape::Request && said(headers).any(|version| Era::of(version) == Era::Stateless) {
        let why = "a request in this version says in its `_meta` which version it is spoken in";
        return proposals.refuse_as_with_status(INVALID_PARAMS, 400, "no-version", why);
    }
    let fits = |value: &str| match negotiated {
        Some(version) => value == version,
        // A session that was opened before the gate came.
        None => wire.allows_version(value),
    };
    if !said(headers).all(fits) {
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
        Some(version) if !wire.lists_version(version) || Era::of(version) != Era::Handshake => {
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
        protocol::{
            Era, HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Revision, UNSUPPORTED_VERSION,
        },
    };

    const CHECK: &str = "protocol-version";
    const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

    fn open(gate: &mut Driver, version: &str) -> Outcome {
        gate.exchange("initialize", "{}", &format!(r#"{{"protocolVersion":{version},"capabilities":{{}}}}"#))
    }

    #[test]
    fn every_revision_with_a_handshake_opens_a_session() {
        for revision in Revision::ALL {
            let opened = open(&mut Driver::only(CHECK, ""), &format!("\"{revision}\""));
            match revision.era() {
                Era::Handshake => opened.passes(),
                Era::Stateless => drop(opened.refuses("not-allowed")),
            }
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
        gate.ask_with(PING, &[("mcp-protocol-version", "2024-11-05")]).refuses("header");
        gate.ask_with(PING, &[("mcp-protocol-version", "2025-11-25")]).passes();
    }

    fn stateless(method: &str, meta: &str) -> String {
        let meta = meta.replace("V\"", "io.modelcontextprotocol/protocolVersion\"");
        let meta = meta.replace("C\"", "io.modelcontextprotocol/clientCapabilities\"");
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"_meta":{{{meta}}}}}}}"#)
    }

    const OWN: &str = r#""V":"2026-07-28","C":{}"#;

    #[test]
    fn a_stateless_request_says_what_it_is_spoken_in() {
        let mut gate = Driver::only(CHECK, "");
        let mut ask = |meta: &str| {
            let said = gate.ask(&stateless("tools/list", meta));
            gate.tell(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
            said
        };
        ask(OWN).passes();
        for (rule, code, meta) in [
            ("no-version", INVALID_PARAMS, r#""C":{}"#),
            ("no-version", INVALID_PARAMS, r#""V":20260728,"C":{}"#),
            ("no-version", INVALID_PARAMS, r#""V":"2026-07-28","V":"2026-07-28","C":{}"#),
            ("no-capabilities", INVALID_PARAMS, r#""V":"2026-07-28""#),
            ("no-capabilities", INVALID_PARAMS, r#""V":"2026-07-28","C":[]"#),
            ("no-capabilities", INVALID_PARAMS, r#""V":"2026-07-28","C":{},"C":{"sampling":{}}"#),
            ("not-allowed", UNSUPPORTED_VERSION, r#""V":"2025-11-25","C":{}"#),
            ("not-allowed", UNSUPPORTED_VERSION, r#""V":"2999-12-31","C":{}"#),
            ("not-allowed", UNSUPPORTED_VERSION, r#""V":" 2026-07-28","C":{}"#),
        ] {
            ask(meta).refuses(rule).answers("7").code(code);
        }
        let refused = ask(r#""V":"2999-12-31","C":{}"#).refuses("not-allowed");
        refused.says(r#""supported":["2026-07-28"]"#).says(r#""requested":"2999-12-31""#);
        Driver::only(CHECK, "").ask(&stateless("initialize", OWN)).refuses("two-eras").code(METHOD_NOT_FOUND);
        let policy = "[servers.board.wire]\nversions = [\"2025-11-25\"]\n";
        Driver::only(CHECK, policy).ask(&stateless("tools/list", OWN)).refuses("not-allowed");
        let policy = "[servers.board.wire]\nmin_version = \"2026-07-28\"\n";
        Driver::only(CHECK, policy).ask(&stateless("tools/list", OWN)).passes();
    }

    #[test]
    fn a_stateless_request_says_it_in_its_header_too() {
        let mut gate = Driver::only(CHECK, "");
        open(&mut gate, "\"2025-06-18\"").passes();
        let mut ask = |text: &str, versions: &[&str]| {
            let headers: Vec<_> = versions.iter().map(|version| ("mcp-protocol-version", *version)).collect();
            let said = gate.ask_with(text, &headers);
            gate.tell(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
            said
        };
        let own = stateless("tools/list", OWN);
        // Nothing is inferred from the session that the same client opened.
        ask(&own, &["2026-07-28"]).passes();
        for versions in [&[][..], &["2025-06-18"], &["2026-07-28", "2025-06-18"]] {
            ask(&own, versions).refuses("header").code(HEADER_MISMATCH);
        }
        ask(PING, &["2026-07-28"]).refuses("no-version").code(INVALID_PARAMS);
        ask(PING, &["2025-06-18"]).passes();
    }
}
