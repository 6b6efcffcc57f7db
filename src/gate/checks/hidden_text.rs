//! `hidden-text`: characters in definitions that conceal instead of write.

use super::{super::check, CheckId};
use crate::{
    gate::{
        Check, Context, Docs, Event, Proposals,
        text::{Concealment, Hidden, concealed_in, concealed_in_text, described},
    },
    protocol::{
        meta,
        strict::{Kind, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct HiddenText;

static DOCS: Docs = Docs {
    id: CheckId::new("hidden-text"),
    summary: "invisible, direction, tag and control characters that conceal, in any text of a definition, a prompt or \
              the instructions",
    leg: "discovery, requestward",
    what: "Looks at the same strings as description-scan (definitions of tools, prompts, resources and templates at \
           any depth with the names of their members, `instructions`, the messages of `prompts/get`), whatever they \
           say, for characters that no reader sees: control characters and terminal sequences, tag characters, \
           variation selectors, characters of no width, and signs that turn text round. They pass where they write: \
           joiners beside letters that join, breaks in scripts without blanks, selectors and joiners of emoji, flags \
           in tags, soft hyphens in long words, marks and balanced isolates in text from right to left, and a few \
           strays in prose. They don't between Latin letters, in runs, in names, unbalanced, or in numbers that no \
           text needs. A definition with a finding is withheld and its tool can't be called; instructions are \
           blanked; a prompt is refused. Kinds that a server is known to use are excepted by `hidden.except`.",
    why: "What is approved is what is seen. A model reads what a person could not have seen, in any language and any \
          code, and two names that look alike are two tools.",
    misses: "A few bits in the choice between two honest spellings; letters in the colour of the paper, which no text \
             has; private-use and unassigned characters, which show as boxes; look-alike letters (description-scan \
             folds them); blanks of other widths; the name and title of the server itself. A terminal log as a definition's \
             example is taken for concealment. Results of tools are data and never looked at.",
    example: "`Adds two numbers.` with U+200B and U+200C between its letters, which spell something in bits",
    source: "H01 to H04, H07, D06; Unicode UAX #9, UAX #31, UTS #51, UTS #55; CVE-2021-42574",
    rules: &[
        ("hidden-definition", "a definition in which characters conceal is withheld"),
        ("hidden-call", "a call of a tool whose definition was withheld is refused"),
        ("hidden-instructions", "instructions in which characters conceal are blanked"),
        ("hidden-prompt", "a prompt in which characters conceal is refused"),
    ],
};

impl Check for HiddenText {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let except = &context.policy(event).hidden;
        let first = |found: &[Hidden]| found.iter().find(|found| !except.excepts(found.kind)).map(said);
        if let Some((_, Some(name))) = check::call(event) {
            let Some(tool) = context.server(event).tools.get(name) else { return };
            if let Some(found) = first(&context.rules.concealed().definition(&tool.definition)) {
                proposals.refuse("hidden-call", format!("the tool's definition was withheld: {found}"));
            }
            return;
        }
        let Some(message) = check::response(event) else { return };
        if let Some(listing) = context.listing {
            for (index, item) in listing.items.iter().enumerate() {
                let raw = std::str::from_utf8(&message.raw()[item.node.span.clone()]).unwrap_or_default();
                if let Some(found) = first(&context.rules.concealed().definition(raw)) {
                    proposals.withhold(index, "hidden-definition", found);
                }
            }
            return;
        }
        let Some(result) = message.result() else { return };
        match context.answered.map(|request| request.method.as_str()) {
            Some(method) if meta::is_opening(method) => {
                for member in result.members().iter().filter(|member| member.key == "instructions") {
                    if let Some(found) = first(&concealed(&member.value)) {
                        let span = member.value.span.clone();
                        proposals.splice(span, "\"\"".to_owned(), "hidden-instructions", found);
                    }
                }
            }
            Some("prompts/get") => {
                let given = context.answered.and_then(|asked| asked.request.params()?.member("arguments"));
                if let Some(found) = first(&concealed_in_prompt(result, given)) {
                    proposals.refuse("hidden-prompt", found);
                }
            }
            _ => {}
        }
    }
}

fn concealed(node: &Node) -> Vec<Hidden> {
    match &node.kind {
        Kind::String(text) => concealed_in_text(text),
        _ => concealed_in(node),
    }
}

/// What the prompt hides beside the user's own words, which a template quotes.
fn concealed_in_prompt(result: &Node, given: Option<&Node>) -> Vec<Hidden> {
    let mut found = concealed_in(result);
    let Some(given) = given.filter(|_| !found.is_empty()) else { return found };
    let mut words = Vec::new();
    given.each_string(&mut |_, text| words.push(text));
    found.retain(|hidden| {
        let text = result.pointer(&hidden.path).and_then(Node::as_str);
        let is_own = |text: &str| {
            let quoted = words.iter().filter(|word| !word.is_empty() && text.contains(**word));
            quoted.into_iter().any(|word| concealed_in_text(&text.replace(*word, " ")).is_empty())
        };
        !text.is_some_and(is_own)
    });
    found
}

/// Where, what kind and which code points; never what they hide.
fn said(found: &Hidden) -> String {
    let place = described(&found.path);
    let place = if place.is_empty() { "the text" } else { place.as_str() };
    let what = match found.kind {
        Concealment::Control => "control characters",
        Concealment::Tags => "tag characters outside of a flag",
        Concealment::Selectors => "variation selectors that select nothing",
        Concealment::Direction => "signs that turn text round",
        Concealment::Invisible => "characters of no width",
    };
    format!("{place} holds {what}: {}", found.code_points())
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const CHECK: &str = "hidden-text";
    const HONEST: &str = r#"{"name":"good","description":"Liste\u2026 \u26a0\ufe0f Deletes. \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645","inputSchema":{"type":"object"}}"#;

    #[test]
    fn a_tool_that_hides_is_withheld_and_not_callable_and_the_rest_stays() {
        for hiding in [
            r#""description":"Adds.\u200b\u200c\u200b\u200b\u200c CANARY""#,
            r#""title":"pay \u202e001\u202c CANARY""#,
            r#""inputSchema":{"properties":{"a\u200bb":{}}}"#,
            r#""inputSchema":{"properties":{"a":{"enum":["x","y\u2060"]}}}"#,
            r#""outputSchema":{"$defs":{"a":{"description":"b\udb40\udc41\udb40\udc42"}}}"#,
            r#""annotations":{"unknown":["\u001b[8mCANARY\u001b[0m"]}"#,
            r#""_meta":{"k":"\u2764\ufe0f\udb40\udd61\udb40\udd62"}"#,
        ] {
            let mut gate = Driver::only(CHECK, "");
            let listed = gate.list(&format!(r#"[{{"name":"bad",{hiding}}},{HONEST}]"#));
            assert_eq!(listed.names(), ["good"], "{hiding}");
            assert!(listed.withheld("hidden-definition") && listed.body().contains(HONEST));
            let words = format!("{:?}", listed.ruling.findings);
            assert!(words.contains("U+") && !words.contains("CANARY"), "{words}");
            gate.call("bad", "{}").refuses("hidden-call").never_says("CANARY");
            gate.call("good", "{}").passes();
        }
        let listed = Driver::only(CHECK, "").list(r#"[{"name":"find\u200b_ticket"}]"#);
        assert!(listed.withheld("hidden-definition"));
        assert!(listed.ruling.findings[0].why.contains("/name holds characters of no width: U+200B ×1"));
    }

    #[test]
    fn prompts_resources_and_templates_are_definitions_too() {
        for (method, member) in [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let item =
                |text: &str| format!(r#"{{"name":"n","uri":"x:y","uriTemplate":"x:{{y}}","description":"{text}"}}"#);
            let result = format!(r#"{{"{member}":[{},{}]}}"#, item("b\\u200ba\\u200bd"), item("Fine."));
            let outcome = Driver::only(CHECK, "").exchange(method, "{}", &result);
            assert!(outcome.withheld("hidden-definition") && outcome.body().contains("Fine."), "{method}");
        }
    }

    #[test]
    fn instructions_are_blanked_and_prompts_refused() {
        let hello = |text: &str| {
            Driver::only(CHECK, "").exchange("initialize", "{}", &format!(r#"{{"instructions":"{text}","x":5.0}}"#))
        };
        assert!(hello("Read\\u200b\\u200c first.").body().ends_with(r#""instructions":"","x":5.0}}"#));
        hello("Read first \\ud83d\\udc69\\u200d\\ud83d\\udd27.").passes();
        let get = |given: &str, text: &str| {
            let params = format!(r#"{{"name":"p","arguments":{{"note":"{given}"}}}}"#);
            let prompt = format!(r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":"{text}"}}}}]}}"#);
            Driver::only(CHECK, "").exchange("prompts/get", &params, &prompt)
        };
        get("", "Sum up: CANARY\\u200b\\u200c\\u200b").refuses("hidden-prompt").never_says("CANARY");
        get("a\\u200bb", "Sum up: a\\u200bb.").passes();
        get("a\\u200bb", "Su\\u200bm up: a\\u200bb.").refuses("hidden-prompt");
        get("\\u200b", "Sum\\u200bup.").passes();
    }

    #[test]
    fn results_are_data_and_a_policy_may_except_a_kind() {
        let log = r#"{"content":[{"type":"text","text":"\u001b[31mred\u001b[0m \u200b\u200b"}]}"#;
        Driver::only(CHECK, "").result("read", "{}", log).passes();
        let mut gate = Driver::only(CHECK, "[servers.board.hidden]\nexcept = [\"control\"]\n");
        gate.list(r#"[{"name":"a","description":"\u001b[31mred\u001b[0m"}]"#).passes();
        gate.call("a", "{}").passes();
        assert!(gate.list(r#"[{"name":"a","description":"\u001b[31mr\u200bed"}]"#).withheld("hidden-definition"));
    }
}
