//! `argument-scope`: what the host pinned, the model can't choose.

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, Proposals, json::one_line},
    protocol::{
        INVALID_PARAMS,
        strict::{Kind, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct ArgumentScope;

static DOCS: Docs = Docs {
    id: CheckId::new("argument-scope"),
    summary: "any attempt to choose what the host pinned",
    leg: "requestward",
    what: "Where the policy pins arguments of a tool, refuses every call that gives one of them itself, whatever the \
           value and in whatever case the key is spelled, and else puts the pinned ones into the arguments on their \
           way to the server. No other byte of the call changes.",
    why: "Which room is read, as whom and how visibly is the host's choice. A model that was talked into another \
          room must not be able to ask for it.",
    misses: "Another argument that means the same to the server: the host's schema (`show`) should leave it out, and \
             `argument-schema` then refuses it.",
    example: r#"{"name":"read_board","arguments":{"room":"board-of-directors"}} where `room` is pinned"#,
    source: "C07; the board's host",
    rules: &[
        ("pinned-given", "the call gives an argument that the host pinned"),
        ("no-place", "the call has no one object to put the pinned arguments into"),
        ("pinned-set", "the pinned arguments were put in"),
    ],
};

impl Check for ArgumentScope {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Some((message, Some(name))) = check::call(event) else { return };
        let Some(tool) = context.policy(event).tools.get(name).filter(|tool| !tool.pinned.is_empty()) else { return };
        let Some(params) = message.params() else { return };
        // Whoever reads the call may take another one of two `arguments`.
        let mut all = params.members().iter().filter(|member| member.key.eq_ignore_ascii_case("arguments"));
        let (arguments, second) = (all.next(), all.next());
        let is_one_object =
            arguments.is_none_or(|member| member.key == "arguments" && matches!(member.value.kind, Kind::Object(_)));
        if second.is_some() || !is_one_object {
            let why = "the call must have its arguments once, as an object";
            return proposals.refuse_as(INVALID_PARAMS, "no-place", why);
        }
        let arguments = arguments.map(|member| &member.value);
        let given = |key: &str| {
            let members = arguments.map_or(&[][..], Node::members);
            members.iter().any(|member| member.key.eq_ignore_ascii_case(key))
        };
        if tool.pinned.keys().any(|key| given(key)) {
            return proposals.refuse_as(
                INVALID_PARAMS,
                "pinned-given",
                "the call gives an argument that the host sets",
            );
        }
        let pinned: Vec<_> = tool
            .pinned
            .iter()
            .map(|(key, value)| format!("{}:{}", serde_json::Value::from(key.as_str()), one_line(value)))
            .collect();
        let pinned = pinned.join(",");
        let (into, text) = match arguments {
            Some(object) => (object, pinned),
            None => (params, format!("\"arguments\":{{{pinned}}}")),
        };
        // Right before the closing brace, after what stands there.
        let end = into.span.end - 1;
        let comma = if into.members().is_empty() { "" } else { "," };
        proposals.splice(end..end, format!("{comma}{text}"), "pinned-set", "the host's own arguments were put in");
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const POLICY: &str = r#"
[servers.board.tools.read_board.pinned]
room = '"lobby"'
private = """
false
"""
"#;

    fn call(params: &str) -> crate::gate::testing::Outcome {
        Driver::only("argument-scope", POLICY).req("tools/call", params)
    }

    #[test]
    fn the_host_sets_what_it_pinned_and_no_other_byte_changes() {
        for (sent, forwarded) in [
            (
                r#"{"name":"read_board","arguments":{ "limit":5.0, "x":1e400 }}"#,
                r#"{"name":"read_board","arguments":{ "limit":5.0, "x":1e400 ,"private":false,"room":"lobby"}}"#,
            ),
            (
                r#"{"name":"read_board","arguments":{}}"#,
                r#"{"name":"read_board","arguments":{"private":false,"room":"lobby"}}"#,
            ),
            (r#"{"name":"read_board"}"#, r#"{"name":"read_board","arguments":{"private":false,"room":"lobby"}}"#),
        ] {
            let body = call(sent).body();
            assert!(body.ends_with(&format!("\"params\":{forwarded}}}")), "{body}");
        }
        call(r#"{"name":"other","arguments":{"room":"x"}}"#).passes();
    }

    #[test]
    fn nobody_else_chooses_the_room() {
        for arguments in [
            r#"{"room":"CANARY"}"#,
            r#"{"room":"lobby"}"#,
            r#"{"Room":"CANARY"}"#,
            r#"{"r\u006fom":null}"#,
            r#"{"private":false}"#,
        ] {
            let params = format!(r#"{{"name":"read_board","arguments":{arguments}}}"#);
            call(&params).refuses("pinned-given").never_says("CANARY");
        }
        for params in [
            r#"{"name":"read_board","arguments":{},"arguments":{"room":"x"}}"#,
            r#"{"name":"read_board","Arguments":{"room":"x"}}"#,
            r#"{"name":"read_board","arguments":[]}"#,
            r#"{"name":"read_board","arguments":null}"#,
        ] {
            call(params).refuses("no-place");
        }
    }
}
