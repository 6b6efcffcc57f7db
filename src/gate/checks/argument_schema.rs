//! `argument-schema`: arguments fit the tool's schema exactly as they were sent.

use jsonschema::{ValidationError, error::ValidationErrorKind};

use super::{super::check, CheckId};
use crate::{
    gate::{
        Check, Context, Docs, Event, Proposals, SchemaProblem,
        json::{is_plain, nearest, with_fractions},
    },
    protocol::{INVALID_PARAMS, strict::Kind},
};

/// See the module.
#[derive(Debug)]
pub(super) struct ArgumentSchema;

static DOCS: Docs = Docs {
    id: CheckId::new("argument-schema"),
    summary: "arguments that break the tool's schema; nothing is coerced",
    leg: "requestward",
    what: "Holds the arguments of every call to the host's schema where the policy gives one, and else to the input \
           schema that the server listed last. They are judged as sent: `\"3\"`, `1.5` and `true` are no integers, \
           `5.0` is one, null is no absent value. Arguments that are not an object, and duplicate keys anywhere in \
           them, are refused whether a schema is known or not. Where a schema can't be compiled (a reference \
           that leaves the document, a broken or an exploding schema), its tool can't be called.",
    why: "A server that reads more than the schema says is reached by arguments that nobody looked at; a gate that \
          coerces approves one value and forwards another.",
    misses: "What the schema leaves open: without `additionalProperties: false` an extra argument fits. `format` is \
             not enforced. A number that no double holds is judged as the nearest one. A tool that was never listed \
             and has no host schema has nothing to be held to.",
    example: r#"{"name":"read_board","arguments":{"limit":true}} where `limit` is an integer"#,
    source: "C07, C08, D20, D21; ha-mcp#218, apify-mcp-server#1360, python-sdk#1112",
    rules: &[
        ("not-an-object", "arguments that are null, an array, a string, a number or a truth value"),
        ("duplicate-key", "a key stands twice in one object, or values nest too deep to be read"),
        ("schema-broken", "the arguments break the schema"),
        ("inexact-number", "a fraction where the schema wants a whole number, with more digits than a double has"),
        ("schema-unusable", "the tool's schema can't be compiled, so nothing can be held to it"),
    ],
};

impl Check for ArgumentSchema {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Some((message, name)) = check::call(event) else { return };
        let Ok(document) = message.document() else { return };
        let arguments = message.params().and_then(|params| params.member("arguments"));
        if arguments.is_some_and(|arguments| !matches!(arguments.kind, Kind::Object(_))) {
            return proposals.refuse_as(INVALID_PARAMS, "not-an-object", "the call's arguments are not an object");
        }
        if arguments.is_some_and(|arguments| !is_plain(document, arguments)) {
            let why = "the arguments have a key twice in one object, or nest too deep";
            return proposals.refuse_as(INVALID_PARAMS, "duplicate-key", why);
        }
        let Some(name) = name else { return };
        let show = context.policy(event).tools.get(name).and_then(|tool| tool.show.as_ref());
        let listed = context.server(event).tools.get(name).and_then(|tool| tool.input_schema.as_deref());
        let Some(schema) = show.map(|show| show.input_schema.as_str()).or(listed) else { return };
        let validator = match context.schemas().get(schema) {
            Ok(validator) => validator,
            Err(problem) => {
                let why = format!("the tool's input schema can't be enforced: {}", unusable(&problem));
                return proposals.refuse("schema-unusable", why);
            }
        };
        let absent = || Some(serde_json::Value::Object(serde_json::Map::new()));
        let Some(value) = arguments.map_or_else(absent, nearest) else { return };
        if let Err(broken) = validator.validate(&value) {
            let why = format!("the arguments break the tool's input schema ({})", broken.kind().keyword());
            return proposals.refuse_as(INVALID_PARAMS, "schema-broken", why);
        }
        // A fraction that was judged by a whole double may pass as an integer.
        let fractions = arguments.and_then(with_fractions);
        if fractions.is_some_and(|value| validator.iter_errors(&value).any(|broken| wants_whole(&broken))) {
            let why = "the tool's input schema wants a whole number where the arguments have a fraction";
            proposals.refuse_as(INVALID_PARAMS, "inexact-number", why);
        }
    }
}

/// Whether the schema objects to a number's being a fraction, or may do so in a
/// branch; that the stand-in is too small, or not one of some values, says nothing.
fn wants_whole(broken: &ValidationError<'_>) -> bool {
    !matches!(
        broken.kind(),
        ValidationErrorKind::Minimum { .. }
            | ValidationErrorKind::Maximum { .. }
            | ValidationErrorKind::ExclusiveMinimum { .. }
            | ValidationErrorKind::ExclusiveMaximum { .. }
            | ValidationErrorKind::Enum { .. }
            | ValidationErrorKind::Constant { .. }
    )
}

/// The problem without the words of the schema, which are the server's.
pub(super) fn unusable(problem: &SchemaProblem) -> &'static str {
    match problem {
        SchemaProblem::NotJson(_) => "it is not plain JSON",
        SchemaProblem::NotASchema(_) => "it is no schema, or it refers to something outside of it",
        SchemaProblem::TooLarge => "it is too large",
        SchemaProblem::TooCostly => "it takes too many steps to evaluate",
    }
}

#[cfg(test)]
mod tests {
    use crate::{gate::testing::Driver, protocol::INVALID_PARAMS};

    const TOOLS: &str = r#"[{"name":"read","inputSchema":{"type":"object","properties":{
        "limit":{"type":"integer","minimum":1,"maximum":10},"note":{"type":"string"},
        "maybe":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"who":{"type":["string","null"]},
        "big":{"type":"number"},"filter":{"type":"object"}},"additionalProperties":false}},
        {"name":"open","inputSchema":{"type":"object"}}]"#;

    fn listed(tools: &str) -> Driver {
        let mut gate = Driver::only("argument-schema", "");
        gate.list(&tools.replace('\n', " ")).passes();
        gate
    }

    #[test]
    fn honest_arguments_pass_byte_for_byte() {
        let mut gate = listed(TOOLS);
        for good in [
            "{}",
            r#"{"limit":5.0}"#,
            r#"{"note":"42"}"#,
            r#"{"note":"{\"a\":1}"}"#,
            r#"{"who":null}"#,
            r#"{"maybe":null}"#,
            r#"{"big":123456789012345678901234567890}"#,
            r#"{"big":0.10000000000000000555}"#,
            r#"{"filter":{"id":1,"ID":2,"":3}}"#,
        ] {
            gate.call("read", good).passes();
        }
        gate.call("open", r#"{"anything":[true]}"#).passes();
        gate.call("never_listed", r#"{"x":1}"#).passes();
        gate.req("tools/call", r#"{"name":"read"}"#).passes();
    }

    #[test]
    fn nothing_is_coerced() {
        let mut gate = listed(TOOLS);
        for bad in [
            r#"{"limit":"3"}"#,
            r#"{"limit":1.5}"#,
            r#"{"limit":true}"#,
            r#"{"limit":null}"#,
            r#"{"limit":9007199254740993}"#,
            r#"{"note":null}"#,
            r#"{"note":7}"#,
            r#"{"maybe":"true"}"#,
            r#"{"filter":"{\"a\":1}"}"#,
            r#"{"CANARY":1}"#,
        ] {
            gate.call("read", bad).refuses("schema-broken").code(INVALID_PARAMS).never_says("CANARY");
        }
    }

    #[test]
    fn a_fraction_that_a_double_would_make_whole_is_refused() {
        let tools = r#"[{"name":"read","inputSchema":{"type":"object","properties":{
            "count":{"type":"integer"},"either":{"anyOf":[{"type":"integer"},{"type":"null"}]},
            "size":{"type":"number","minimum":1}}}}]"#;
        let mut gate = listed(tools);
        for key in ["count", "either"] {
            let call = format!(r#"{{"{key}":9007199254740993.5}}"#);
            gate.call("read", &call).refuses("inexact-number").code(INVALID_PARAMS);
        }
        for key in ["size", "other"] {
            gate.call("read", &format!(r#"{{"{key}":9007199254740993.5}}"#)).passes();
        }
    }

    #[test]
    fn arguments_are_an_object_without_duplicates_whatever_the_schema() {
        let mut gate = listed(TOOLS);
        for tool in ["read", "open", "never_listed"] {
            for bad in ["null", "[]", "\"{}\"", "1", "false"] {
                gate.call(tool, bad).refuses("not-an-object").code(INVALID_PARAMS);
            }
            for bad in [r#"{"limit":1,"l\u0069mit":2}"#, r#"{"filter":{"a":1,"a":1}}"#] {
                gate.call(tool, bad).refuses("duplicate-key");
            }
        }
        let deep = format!(r#"{{"filter":{}{}}}"#, "[".repeat(600), "]".repeat(600));
        gate.call("open", &deep).refuses("duplicate-key");
    }

    #[test]
    fn the_hosts_schema_holds_in_the_servers_place() {
        let policy = r#"
[servers.board.tools.read.show]
description = "x"
input_schema = '{"type":"object","properties":{"limit":{"type":"integer"}},"additionalProperties":false}'
"#;
        let mut gate = Driver::only("argument-schema", policy);
        gate.list(TOOLS).passes();
        gate.call("read", r#"{"note":"x"}"#).refuses("schema-broken");
        gate.call("read", r#"{"limit":99}"#).passes();
    }

    #[test]
    fn what_cannot_be_compiled_cannot_be_called() {
        for bad in [
            r#"{"$ref":"https://schemas.invalid/x.json"}"#,
            r#"{"$ref":"file:///etc/hostname"}"#,
            r#"{"type":"nonsense"}"#,
            r#"{"type":"object","type":"object"}"#,
            r#""object""#,
        ] {
            let mut gate = listed(&format!(r#"[{{"name":"read","inputSchema":{bad}}}]"#));
            gate.call("read", "{}").refuses("schema-unusable").never_says("schemas.invalid");
        }
        let tree = r##"[{"name":"read","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"child":{"$ref":"#"}}}}]"##;
        listed(tree).call("read", r#"{"child":{"child":{}}}"#).passes();
        listed(tree).call("read", r#"{"child":{"child":1}}"#).refuses("schema-broken");
    }

    #[test]
    fn a_bomb_does_not_go_off() {
        let mut defs: Vec<String> = (0..40)
            .map(|n| format!(r##""d{n}":{{"allOf":[{{"$ref":"#/$defs/d{0}"}},{{"$ref":"#/$defs/d{0}"}}]}}"##, n + 1))
            .collect();
        defs.push(r#""d40":{"type":"object"}"#.to_owned());
        let bomb =
            format!(r##"[{{"name":"read","inputSchema":{{"$ref":"#/$defs/d0","$defs":{{{}}}}}}}]"##, defs.join(","));
        listed(&bomb).call("read", "{}").refuses("schema-unusable");
        let cycle = r##"[{"name":"read","inputSchema":{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}}]"##;
        listed(cycle).call("read", "{}").refuses("schema-unusable");
        let slow = r#"[{"name":"read","inputSchema":{"properties":{"s":{"pattern":"^(?=(a+)+$)(a|aa)+$"}}}}]"#;
        listed(slow).call("read", &format!(r#"{{"s":"{}!"}}"#, "a".repeat(40))).refuses("schema-broken");
    }
}
