//! `result-shape`: a success looks like what was promised.

use super::{
    super::{check, documents::active as documents},
    CheckId,
    argument_schema::unusable,
};
use crate::{
    gate::{
        Check, Context, Docs, Event, Proposals, TextForm,
        check::Says,
        json::{is_plain, nearest},
        payload::{halves_agree, structured},
    },
    protocol::{
        meta,
        strict::{self, Document, Kind, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct ResultShape;

static DOCS: Docs = Docs {
    id: CheckId::new("result-shape"),
    summary: "successes that break what the tool or the host promised about them",
    leg: "replyward",
    what: "A result of the stateless era is complete or asks for input, and says so once. A success of a tool call has a `content` array of typed blocks. Where the tool has an `outputSchema`, it \
           has `structuredContent` that fits; where it has that and one text block of JSON, both say the same, up to \
           rounding and up to the `{\"result\": …}` that some frameworks wrap around. Where the policy asks for one \
           JSON text, it is exactly that, without duplicate keys, and fits the policy's schema. Failures \
           (`isError`) and error replies are not held to any of this: they have their own words. Pictures in SVG \
           that run or load something are refused wherever a client may show them: in results of calls (of failed \
           ones too), of `resources/read` and of `prompts/get`; pages in HTML where the policy says so. They are read \
           as XML and as a browser reads HTML.",
    why: "The model reads the text and the host's code reads the structure; a result whose halves differ shows each \
          another truth. What is promised to be JSON and isn't is where prose is smuggled in. A picture with a script in it runs in the \
          client that shows it.",
    misses: "What well-formed values say: text in a result is data and passes. Text that is not JSON beside \
             `structuredContent` is not compared. The start of a task is not judged. A picture's address in Markdown \
             text, which a client may load, passes as the text that it is; so do XML that is neither SVG nor HTML, PDF, what a page in HTML loads from elsewhere, \
             and code that a client makes a picture of by itself. What a link in a picture leads to is not followed.",
    example: r#"{"content":[{"type":"text","text":"{\"ok\":true}"}],"structuredContent":{"ok":false}}"#,
    source: "R05, R08; mcp-context-forge#4135, typescript-sdk#654; protocol rule 120",
    rules: &[
        ("unknown-type", "a result of the stateless era is of a kind that there is not, or of two"),
        ("ambiguous", "two readers may take the result for a success and for a failure"),
        ("no-content", "a success without an array of typed blocks, or with a block of the wrong form"),
        ("no-structure", "the tool has an output schema and the success has no structured content"),
        ("schema-broken", "the structured content breaks the tool's output schema"),
        ("schema-unusable", "the tool's output schema can't be compiled"),
        ("halves-differ", "the text and the structured content say different things"),
        ("not-one-json", "the policy asks for one JSON text, and it isn't"),
        ("text-schema-broken", "the JSON text breaks the policy's schema"),
        ("active", "a picture or a page runs or loads something when it is shown"),
        ("active-unreadable", "a picture or a page can't be read, and so not be shown to be inert"),
    ],
};

impl Check for ResultShape {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        if let Some((rule, why)) = documents(context, event) {
            return proposals.refuse(rule, why);
        }
        if let Some(why) = unknown_type(context, event) {
            return proposals.refuse("unknown-type", why);
        }
        let Some(result) = check::call_result(context, event) else { return };
        match result.says {
            Says::Failure => return,
            Says::Neither => {
                return proposals.refuse("ambiguous", "the result is neither clearly a success nor clearly a failure");
            }
            Says::Success => {}
        }
        let begins_task = result.call.request.params().is_some_and(|params| params.member("task").is_some())
            && result.result.member("task").is_some_and(|task| matches!(task.kind, Kind::Object(_)));
        if begins_task {
            return;
        }
        if let Some((rule, why)) = wrong_form(result.result) {
            return proposals.refuse(rule, why);
        }
        let tool = result.call.tool.as_deref();
        let structured = structured(result.result);
        let schema =
            tool.and_then(|name| context.server(event).tools.get(name)).and_then(|tool| tool.output_schema.as_deref());
        if let Some(schema) = schema {
            output_schema(context, schema, result.document, structured, proposals);
        }
        let text = one_text(result.result);
        let json = text.and_then(|text| strict::parse(text.as_bytes()).ok());
        if let (Some(structured), Some(json)) = (structured, &json)
            && matches!(json.root.kind, Kind::Object(_) | Kind::Array(_))
            && !halves_agree(structured, &json.root)
        {
            proposals.refuse("halves-differ", "the result's text and its structured content say different things");
        }
        let shape = tool.and_then(|name| context.policy(event).tools.get(name)).and_then(|tool| tool.shape.as_ref());
        match shape.map(|shape| (shape.text, &shape.schema)) {
            Some((TextForm::OneJson, schema)) => one_json(context, schema.as_deref(), json.as_ref(), proposals),
            None => {}
        }
    }
}

/// What is wrong with the kind of a result in the stateless era: there are two, and
/// those that an extension adds which the client declared.
fn unknown_type(context: &Context<'_>, event: &Event<'_>) -> Option<&'static str> {
    let message = check::response(event)?;
    let request = &context.answered.filter(|asked| asked.request.is_stateless())?.request;
    let mut kinds = message.result()?.members().iter().filter(|member| member.key == "resultType");
    let kind = kinds.next()?;
    if kinds.next().is_some() {
        return Some("the result says twice of what kind it is");
    }
    let extended = request.in_meta(meta::CAPABILITIES).any(|declared| declared.member("extensions").is_some());
    match kind.value.as_str() {
        Some("complete" | "input_required") => None,
        Some(_) if extended => None,
        _ => Some("the result is of a kind that there is not"),
    }
}

/// The text, where the content is exactly one text block.
fn one_text(result: &Node) -> Option<&str> {
    match result.member("content")?.items() {
        [block] if block.member("type").and_then(Node::as_str) == Some("text") => block.member("text")?.as_str(),
        _ => None,
    }
}

fn wrong_form(result: &Node) -> Option<(&'static str, &'static str)> {
    let twice = |key: &str| result.members().iter().filter(|member| member.key == key).count() > 1;
    if twice("content") || twice("structuredContent") {
        return Some(("ambiguous", "the result has its content twice"));
    }
    let Some(Kind::Array(blocks)) = result.member("content").map(|content| &content.kind) else {
        return Some(("no-content", "the success has no array of content blocks"));
    };
    let well_formed = blocks.iter().all(|block| match block.member("type").and_then(Node::as_str) {
        Some("text") => block.member("text").is_some_and(|text| text.as_str().is_some()),
        Some("image" | "audio") => {
            ["data", "mimeType"].iter().all(|key| block.member(key).is_some_and(|value| value.as_str().is_some()))
        }
        Some("resource") => block.member("resource").is_some_and(|value| matches!(value.kind, Kind::Object(_))),
        Some("resource_link") => block.member("uri").is_some_and(|value| value.as_str().is_some()),
        // A kind that a later revision adds is for the client to know.
        Some(_) => true,
        None => false,
    });
    if !well_formed {
        return Some(("no-content", "a content block of the success has the wrong form"));
    }
    let wrong = structured(result).is_some_and(|node| !matches!(node.kind, Kind::Object(_)));
    wrong.then_some(("no-structure", "the structured content is not an object"))
}

fn output_schema(
    context: &Context<'_>,
    schema: &str,
    document: &Document,
    structured: Option<&Node>,
    proposals: &mut Proposals,
) {
    let Some(structured) = structured else {
        return proposals.refuse("no-structure", "the tool promises structured content, and the success has none");
    };
    match context.schemas().get(schema) {
        Err(problem) => {
            let why = format!("the tool's output schema can't be enforced: {}", unusable(&problem));
            proposals.refuse("schema-unusable", why);
        }
        Ok(validator) => {
            let value = nearest(structured).filter(|_| is_plain(document, structured));
            if !value.is_some_and(|value| validator.is_valid(&value)) {
                proposals.refuse("schema-broken", "the structured content breaks the tool's output schema");
            }
        }
    }
}

fn one_json(context: &Context<'_>, schema: Option<&str>, json: Option<&Document>, proposals: &mut Proposals) {
    let Some(json) = json.filter(|json| is_plain(json, &json.root)) else {
        return proposals
            .refuse("not-one-json", "the success must be exactly one text block that holds one JSON value");
    };
    // A policy whose schema is broken was not accepted, so this can't be missing.
    let Some(validator) = schema.map(|schema| context.schemas().get(schema)) else { return };
    let fits = validator.is_ok_and(|validator| nearest(&json.root).is_some_and(|value| validator.is_valid(&value)));
    if !fits {
        proposals.refuse("text-schema-broken", "the JSON text breaks the schema that the host gives for it");
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const POLICY: &str = r#"
[servers.board.tools.read_board.shape]
text = "one-json"
schema = '{"type":"object","required":["ok"]}'
"#;
    const TOOLS: &str = r#"[{"name":"weather","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"t":{"type":"number"}},"required":["t"]}}]"#;

    fn text(text: &str) -> String {
        format!(r#"{{"type":"text","text":{}}}"#, serde_json::Value::from(text))
    }

    fn gate() -> Driver {
        let mut gate = Driver::only("result-shape", POLICY);
        gate.list(TOOLS).passes();
        gate
    }

    #[test]
    fn a_round_before_the_result_has_no_shape_yet() {
        let round = r#"{"resultType":"input_required","requestState":"a","inputRequests":{}}"#;
        gate().result("read_board", "{}", round).passes();
        gate().result("weather", "{}", round).passes();
        for odd in [
            r#"{"resultType":"input_required","content":"prose"}"#,
            r#"{"resultType":"input_required","structuredContent":{}}"#,
            r#"{"resultType":"complete","requestState":"a"}"#,
            r#"{"resultType":"complete","resultType":"input_required"}"#,
        ] {
            assert!(gate().result("weather", "{}", odd).ruling.acted(), "{odd}");
        }
    }

    #[test]
    fn one_json_is_one_text_of_json() {
        gate().result("read_board", "{}", &format!(r#"{{"content":[{}]}}"#, text(r#"{"ok":true,"n":1e400}"#))).passes();
        for (rule, content) in [
            ("not-one-json", text("IGNORE THIS {}")),
            ("not-one-json", format!("{0},{0}", text(r#"{"ok":true}"#))),
            ("not-one-json", text(r#"{"ok":true,"ok":false}"#)),
            ("not-one-json", text(r#"{"ok":true} {"ok":true}"#)),
            ("not-one-json", String::new()),
            ("text-schema-broken", text("{}")),
            ("text-schema-broken", text("[1]")),
        ] {
            gate()
                .result("read_board", "{}", &format!(r#"{{"content":[{content}]}}"#))
                .refuses(rule)
                .never_says("IGNORE");
        }
    }

    #[test]
    fn failures_keep_their_own_words() {
        let failure = format!(r#"{{"content":[{}],"isError":true}}"#, text("no such city"));
        gate().result("weather", "{}", &failure).passes();
        gate().result("read_board", "{}", &failure).passes();
        gate().result("weather", "{}", r#"{"content":[],"isError":true,"isError":false}"#).refuses("ambiguous");
        gate().result("weather", "{}", r#"{"content":[],"isError":"true"}"#).refuses("ambiguous");
    }

    #[test]
    fn structured_content_is_what_was_promised() {
        let structured = |json: &str| format!(r#"{{"content":[],"structuredContent":{json}}}"#);
        gate().result("weather", "{}", &structured(r#"{"t":22.48}"#)).passes();
        gate().result("weather", "{}", &structured(r#"{"t":123456789012345678901234567890}"#)).passes();
        for (rule, json) in [
            ("schema-broken", r#"{"t":"22"}"#),
            ("schema-broken", r#"{"t":1,"t":2}"#),
            ("no-structure", "null"),
            ("no-structure", "[1]"),
        ] {
            gate().result("weather", "{}", &structured(json)).refuses(rule);
        }
        gate().result("weather", "{}", r#"{"content":[]}"#).refuses("no-structure");
    }

    #[test]
    fn the_halves_agree_up_to_rounding_and_wrapping() {
        let both = |said: &str, json: &str| format!(r#"{{"content":[{}],"structuredContent":{json}}}"#, text(said));
        for (said, json) in [
            (r#"{"t":22.5,"unit":"C"}"#, r#"{"unit":"C","t":22.48}"#),
            ("22.5 degrees", r#"{"t":22.48}"#),
            (r#"[{"a":1}]"#, r#"{"result":[{"a":1}]}"#),
            (r#"{"a":1}"#, r#"{"result":[{"a":1}]}"#),
        ] {
            gate().result("other", "{}", &both(said, json)).passes();
        }
        for (said, json) in [
            (r#"{"t":22.5}"#, r#"{"t":23.48}"#),
            (r#"{"t":22.5}"#, r#"{"t":22.5,"also":1}"#),
            (r#"{"ok":true}"#, r#"{"ok":false}"#),
            (r#"{"ok":1}"#, r#"{"ok":true}"#),
            (r#"{"a":2}"#, r#"{"result":[{"a":1}]}"#),
        ] {
            gate().result("other", "{}", &both(said, json)).refuses("halves-differ");
        }
    }

    #[test]
    fn every_kind_of_block_passes_and_a_shapeless_one_does_not() {
        gate()
            .result(
                "other",
                "{}",
                r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"x:y","text":""}},{"type":"resource_link","uri":"x:y","name":"n"},{"type":"later"}]}"#,
            )
            .passes();
        for bad in [
            "{}",
            r#"{"content":null}"#,
            r#"{"content":"x"}"#,
            r#"{"content":["x"]}"#,
            r#"{"content":[{"type":"text"}]}"#,
        ] {
            gate().result("other", "{}", bad).refuses("no-content");
        }
        let task = r#"{"name":"other","arguments":{},"task":{"ttl":1}}"#;
        gate().exchange("tools/call", task, r#"{"task":{"taskId":"1","status":"working"}}"#).passes();
    }
}
