//! `definition-pins`: what was approved is what is shown and called.

use super::CheckId;
use crate::gate::{Check, Context, Docs, Event, ListingKind, Passing, PinMode, Proposals, ServerFacts, check};
use crate::{
    digest::Fingerprint,
    protocol::{
        Direction,
        strict::{Kind, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct DefinitionPins;

static DOCS: Docs = Docs {
    id: CheckId::new("definition-pins"),
    summary: "definitions that differ from the approved ones, or were never approved",
    leg: "both",
    what: "Takes the SHA-256 fingerprint of every whole definition of tools, prompts, resources and templates, in \
           RFC 8785 form. Under `first-use`, what the first complete listing holds is approved; under `approved`, \
           what the host approved. Whatever differs is withheld from the listing and can't be called or read; after \
           a `list_changed` nothing is called until the list has been read again. A server's `instructions` are \
           pinned alike, and blanked where they differ. Approving anew is a visible act of the host.",
    why: "A definition is looked at once and used for ever. A server that changes it afterwards speaks to the model \
          with an approval that was given to other words.",
    misses: "A definition that is hostile when it is approved; what a tool does; the text that `prompts/get` and \
             `resources/read` return; a change that the server hides by not listing it. A resource that was never \
             listed may be read, since templates make resources that no list holds. Under `first-use`, a first \
             listing that never ends keeps adding.",
    example: "a tool whose description gained a sentence after `notifications/tools/list_changed`",
    source: "S01, S02, S03, S05, S06; agentmetry#142, rust-sdk#665",
    rules: &[
        ("drifted", "the definition is not the approved one"),
        ("not-approved", "the definition was never approved"),
        ("unnamed", "a definition without a name can't be approved"),
        ("stale-list", "the server's list has changed and was not read again"),
        ("instructions-drifted", "the instructions are not the approved ones, and are blanked"),
    ],
};

impl Check for DefinitionPins {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Some(mode) = context.policy(event).pins else { return };
        let facts = context.server(event);
        match event {
            Event::Passing(Passing { direction: Direction::Requestward, message, .. }) => {
                let (kind, key) = match message.method() {
                    Some("tools/call") => (ListingKind::Tools, "name"),
                    Some("prompts/get") => (ListingKind::Prompts, "name"),
                    Some("resources/read" | "resources/subscribe") => (ListingKind::Resources, "uri"),
                    _ => return,
                };
                let name = message.params().and_then(|params| params.member(key)).and_then(Node::as_str);
                if let Some((rule, why)) = name.and_then(|name| dispatch(mode, facts, kind, name)) {
                    proposals.refuse(rule, why);
                }
            }
            Event::Passing(Passing { direction: Direction::Replyward, .. }) => {
                listing(context, facts, proposals);
                instructions(context, facts, event, proposals);
            }
            _ => {}
        }
    }
}

/// What is wrong with using a definition by its name.
fn dispatch(mode: PinMode, facts: &ServerFacts, kind: ListingKind, name: &str) -> Option<(&'static str, &'static str)> {
    // A list of resources changes with the data, and each read names its own.
    if kind != ListingKind::Resources && facts.stale.contains(&kind) {
        return Some(("stale-list", "the server says that its list has changed: list it again first"));
    }
    let key = (kind, name.to_owned());
    match (facts.pins.get(&key), facts.latest.get(&key)) {
        (Some(pin), Some(latest)) => differs(*pin, *latest),
        // Gone from the list: for the server to say so.
        (Some(_), None) => None,
        (None, Some(_)) => Some(NOT_APPROVED),
        (None, None) => (mode == PinMode::Approved && kind != ListingKind::Resources).then_some(NOT_APPROVED),
    }
}

const NOT_APPROVED: (&str, &str) = ("not-approved", "the definition was never approved");

fn differs(pin: Fingerprint, found: Fingerprint) -> Option<(&'static str, &'static str)> {
    (pin != found).then_some(("drifted", "the definition has changed since it was approved"))
}

fn listing(context: &Context<'_>, facts: &ServerFacts, proposals: &mut Proposals) {
    let Some(listing) = context.listing else { return };
    for (index, item) in listing.items.iter().enumerate() {
        let (Some(name), Some(fingerprint)) = (&item.name, item.fingerprint) else {
            proposals.withhold(index, "unnamed", "a definition without a name can't be approved");
            continue;
        };
        let wrong = match facts.pins.get(&(listing.kind, name.clone())) {
            Some(pin) => differs(*pin, fingerprint),
            None => Some(NOT_APPROVED),
        };
        if let Some((rule, why)) = wrong {
            proposals.withhold(index, rule, why);
        }
    }
}

fn instructions(context: &Context<'_>, facts: &ServerFacts, event: &Event<'_>, proposals: &mut Proposals) {
    let opened = context.answered.is_some_and(|request| request.method == "initialize");
    if !opened || facts.pinned_instructions == Some(facts.latest_instructions) {
        return;
    }
    let result = check::response(event).and_then(|message| message.result());
    for member in result.map_or(&[][..], Node::members) {
        if member.key == "instructions" && member.value.kind != Kind::Null {
            let why = "the server's instructions are not the approved ones";
            proposals.splice(member.value.span.clone(), "\"\"".to_owned(), "instructions-drifted", why);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const CHECK: &str = "definition-pins";
    const FIRST: &str = "[servers.board]\npins = \"first-use\"\n";
    const APPROVED: &str = "[servers.board]\npins = \"approved\"\n";
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

    fn tool(name: &str, extra: &str) -> String {
        format!(r#"{{"name":"{name}","description":"D.","inputSchema":{{"type":"object"}}{extra}}}"#)
    }

    #[test]
    fn order_and_spelling_are_no_drift() {
        let mut gate = Driver::only(CHECK, FIRST);
        gate.list(&format!("[{},{}]", tool("a", ""), tool("b", ""))).passes();
        let same = r#"{ "inputSchema":{"type":"object"},"description":"\u0044.","name":"a" }"#;
        gate.list(&format!("[{},{same}]", tool("b", ""))).passes();
        gate.call("a", "{}").passes();
        gate.call("never_listed", "{}").passes();
    }

    #[test]
    fn any_field_that_changes_is_withheld_and_not_callable() {
        for extra in [
            r#","_meta":{"x":1}"#,
            r#","title":"T""#,
            r#","outputSchema":{}"#,
            r#","annotations":{"destructiveHint":false}"#,
            r#","name":"a","anything":null"#,
        ] {
            let mut gate = Driver::only(CHECK, FIRST);
            gate.list(&format!("[{},{}]", tool("a", ""), tool("b", ""))).passes();
            let listed = gate.list(&format!("[{},{},{}]", tool("a", extra), tool("b", ""), tool("c", "")));
            assert_eq!(listed.names(), ["b"], "{extra}");
            assert!(listed.withheld("drifted") && listed.withheld("not-approved"));
            gate.call("a", "{}").refuses("drifted");
            gate.call("c", "{}").refuses("not-approved");
            gate.call("b", "{}").passes();
            gate.approve();
            gate.list(&format!("[{},{},{}]", tool("a", extra), tool("b", ""), tool("c", ""))).passes();
            gate.call("a", "{}").passes();
        }
    }

    #[test]
    fn a_second_definition_under_the_same_name_is_a_drift() {
        let mut gate = Driver::only(CHECK, FIRST);
        let listed = gate.list(&format!("[{},{}]", tool("a", ""), tool("a", r#","title":"T""#)));
        assert!(listed.withheld("drifted"));
    }

    #[test]
    fn after_list_changed_the_list_is_read_first() {
        let mut gate = Driver::only(CHECK, FIRST);
        gate.list(&format!("[{}]", tool("a", ""))).passes();
        gate.tell(CHANGED).passes();
        gate.call("a", "{}").refuses("stale-list");
        gate.approve();
        gate.call("a", "{}").refuses("stale-list");
        gate.list(&format!("[{}]", tool("a", ""))).passes();
        gate.call("a", "{}").passes();
    }

    #[test]
    fn pages_make_one_first_listing() {
        let mut gate = Driver::only(CHECK, FIRST);
        gate.exchange("tools/list", "{}", &format!(r#"{{"tools":[{}],"nextCursor":"2"}}"#, tool("a", ""))).passes();
        gate.exchange("tools/list", r#"{"cursor":"2"}"#, &format!(r#"{{"tools":[{}]}}"#, tool("b", ""))).passes();
        gate.call("b", "{}").passes();
        let later = gate.exchange("tools/list", r#"{"cursor":"2"}"#, &format!(r#"{{"tools":[{}]}}"#, tool("c", "")));
        assert!(later.withheld("not-approved"));
    }

    #[test]
    fn nothing_is_approved_before_the_host_says_so() {
        let mut gate = Driver::only(CHECK, APPROVED);
        let tools = format!("[{}]", tool("a", ""));
        assert!(gate.list(&tools).withheld("not-approved"));
        gate.call("a", "{}").refuses("not-approved");
        gate.call("never_listed", "{}").refuses("not-approved");
        gate.approve();
        gate.list(&tools).passes();
        gate.call("a", "{}").passes();
    }

    #[test]
    fn prompts_and_resources_drift_too() {
        for (list, member, key, get, value) in [
            ("prompts/list", "prompts", "name", "prompts/get", "greet"),
            ("resources/list", "resources", "uri", "resources/read", "note:1"),
        ] {
            let mut gate = Driver::only(CHECK, FIRST);
            let result = |text: &str| format!(r#"{{"{member}":[{{"{key}":"{value}","description":"{text}"}}]}}"#);
            gate.exchange(list, "{}", &result("One.")).passes();
            gate.req(get, &format!(r#"{{"{key}":"{value}"}}"#)).passes();
            assert!(gate.exchange(list, "{}", &result("Two.")).withheld("drifted"));
            gate.req(get, &format!(r#"{{"{key}":"{value}"}}"#)).refuses("drifted");
            gate.req(get, &format!(r#"{{"{key}":"dynamic:2"}}"#)).passes();
        }
    }

    #[test]
    fn instructions_are_pinned_over_a_reconnect() {
        let mut gate = Driver::only(CHECK, FIRST);
        let hello = |text: &str| format!(r#"{{"capabilities":{{}},"instructions":"{text}"}}"#);
        gate.exchange("initialize", "{}", &hello("Use it well.")).passes();
        gate.open(crate::gate::Reach::Memory, &[]);
        gate.exchange("initialize", "{}", &hello("Use it well.")).passes();
        let body = gate.exchange("initialize", "{}", &hello("CANARY")).body();
        assert!(body.contains(r#""instructions":"""#), "{body}");
    }
}
