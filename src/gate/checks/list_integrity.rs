//! `list-integrity`: a listing is a list, ends, and is read before it is used.

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, ListPolicy, Listing, ListingKind, Page, Proposals},
    protocol::strict::{Kind, Node},
};

/// See the module.
#[derive(Debug)]
pub(super) struct ListIntegrity;

static DOCS: Docs = Docs {
    id: CheckId::new("list-integrity"),
    summary: "listings that are no lists, that never end, that flood, and tools on pages that nobody read",
    leg: "discovery, requestward",
    what: "A reply to a listing must hold an array; null becomes an empty one, anything else is refused. Entries that \
           are no objects, have no name (an address, for resources) or are of another kind than what is listed are \
           left out. A next cursor must be a string; one that leads back to a page that was read before is refused, \
           and so is a page past `lists.max_pages` (250) and a listing of more than `lists.max_items` definitions \
           (1000) over all its pages. Until a listing that said that there is more has been read to its end, only \
           tools on the pages that were read can be called, and those that the host itself describes.",
    why: "What is not read is not judged: a tool on a page that the gate never saw has no fingerprint, no schema and \
          no scan. And a client that follows every cursor is held for as long as the server likes.",
    misses: "A client that never lists at all calls what it likes, as far as the allow-list goes. A server that \
             varies its pages between two readings (definition-pins tells). A cursor that is new each time is only \
             stopped by the number of pages.",
    example: r#"{"tools":[…],"nextCursor":"a"} in reply to the cursor "a""#,
    source: "D16 to D19; mcp-proxy#233; MCP server/utilities/pagination; protocol rule 107",
    rules: &[
        ("no-list", "the reply to a listing holds no array of definitions"),
        ("null-list", "null in the place of the array is shown as an empty one"),
        ("no-definition", "an entry that is no object, or has no name, is left out"),
        ("other-kind", "an entry of another kind than what is listed is left out"),
        ("bad-cursor", "a next cursor that is no string"),
        ("cursor-loop", "a cursor that leads back to a page that was read before"),
        ("too-many-pages", "a listing of more pages than allowed"),
        ("too-many-items", "a listing of more definitions than allowed"),
        ("unseen-page", "a call of a tool that stands on no page that was read, while there are more"),
    ],
};

impl Check for ListIntegrity {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        if let Some((_, Some(name))) = check::call(event) {
            return called(context, event, name, proposals);
        }
        let (Some(message), Some(page)) = (check::response(event), context.page) else { return };
        let kind = context.answered.and_then(|request| ListingKind::of(&request.method));
        let (Some(kind), Some(result)) = (kind, message.result()) else { return };
        let so_far = context.server(event).listed_so_far.get(&kind).copied().unwrap_or_default();
        if let Some((rule, why)) = whole(&context.policy(event).lists, result, page, so_far) {
            return proposals.refuse(rule, why);
        }
        match (context.listing, result.member(kind.member())) {
            (Some(listing), _) => each(listing, proposals),
            (None, Some(Node { kind: Kind::Null, span })) => {
                let why = "the listing has null where its definitions should stand";
                proposals.splice(span.clone(), "[]".to_owned(), "null-list", why);
            }
            (None, _) => proposals.refuse("no-list", "the reply holds no list of definitions"),
        }
    }
}

fn called(context: &Context<'_>, event: &Event<'_>, name: &str, proposals: &mut Proposals) {
    let facts = context.server(event);
    let is_unread = facts.pages.get(&ListingKind::Tools).is_some_and(crate::gate::Pages::is_unread);
    let is_described = || context.policy(event).tools.get(name).is_some_and(|tool| tool.show.is_some());
    if is_unread && !facts.tools.contains_key(name) && !is_described() {
        let why = "the tools have not been listed to the end, and the tool stands on no page that was read";
        proposals.refuse("unseen-page", why);
    }
}

/// What is wrong with a page as a whole.
fn whole(policy: &ListPolicy, result: &Node, page: Page, so_far: usize) -> Option<(&'static str, &'static str)> {
    let cursor = result.member("nextCursor").map(|cursor| &cursor.kind);
    if !matches!(cursor, None | Some(Kind::Null | Kind::String(_))) {
        return Some(("bad-cursor", "the server's next cursor is no string"));
    }
    if page.loops {
        return Some(("cursor-loop", "the server's next cursor leads back to a page that was read before"));
    }
    if page.number > policy.max_pages {
        return Some(("too-many-pages", "the server lists more pages than the policy allows"));
    }
    (so_far > policy.max_items).then_some(("too-many-items", "the server lists more than the policy allows"))
}

/// Leaves out what is no definition of its kind.
fn each(listing: &Listing, proposals: &mut Proposals) {
    for (index, item) in listing.items.iter().enumerate() {
        if !matches!(item.node.kind, Kind::Object(_)) {
            proposals.withhold(index, "no-definition", "an entry of the listing is no object");
        } else if item.name.as_deref().is_none_or(|name| name.trim().is_empty()) {
            proposals.withhold(index, "no-definition", "an entry of the listing has no name");
        } else if is_of_another_kind(listing.kind, &item.node) {
            proposals.withhold(index, "other-kind", "an entry of the listing is not of the kind that is listed");
        }
    }
}

/// Whether a definition has nothing that marks its own kind and something that
/// marks another.
fn is_of_another_kind(kind: ListingKind, definition: &Node) -> bool {
    let (own, others): (&str, &[&str]) = match kind {
        ListingKind::Tools => ("inputSchema", &["arguments", "uri", "uriTemplate"]),
        ListingKind::Prompts => ("arguments", &["inputSchema", "uri", "uriTemplate"]),
        // Their addresses are what they are known by.
        ListingKind::Resources | ListingKind::Templates => return false,
    };
    definition.member(own).is_none() && others.iter().any(|key| definition.member(key).is_some())
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const SMALL: &str = "[servers.board.lists]\nmax_items = 3\nmax_pages = 4\n";

    fn driver() -> Driver {
        Driver::only("list-integrity", SMALL)
    }

    #[test]
    fn a_listing_is_a_list() {
        for (method, member) in
            [("tools/list", "tools"), ("prompts/list", "prompts"), ("resources/templates/list", "resourceTemplates")]
        {
            for bad in ["{}", "\"x\"", "7", "true"] {
                let result = format!(r#"{{"{member}":{bad},"x":"CANARY"}}"#);
                driver().exchange(method, "{}", &result).refuses("no-list").never_says("CANARY");
            }
            driver().exchange(method, "{}", r#"{"items":[]}"#).refuses("no-list");
            driver().exchange(method, "{}", "null").refuses("no-list");
            let repaired = driver().exchange(method, "{}", &format!(r#"{{"{member}":null,"nextCursor":null}}"#));
            assert!(repaired.body().ends_with(&format!(r#"{{"{member}":[],"nextCursor":null}}}}"#)));
            driver().exchange(method, "{}", &format!(r#"{{"{member}":[],"total":0,"nextCursor":null}}"#)).passes();
        }
        driver().exchange("tools/call", r#"{"name":"a"}"#, r#"{"tools":null,"nextCursor":7}"#).passes();
    }

    #[test]
    fn entries_are_definitions_of_their_kind() {
        for bad in [
            "null",
            "7",
            "\"bad\"",
            "[]",
            "{}",
            r#"{"name":""}"#,
            r#"{"name":" "}"#,
            r#"{"name":null}"#,
            r#"{"name":["bad"]}"#,
            r#"{"name":"bad","uri":"a:b"}"#,
            r#"{"name":"bad","arguments":[]}"#,
        ] {
            let listed = driver().list(&format!(r#"[{bad},{{"name":"good"}}]"#));
            assert_eq!(listed.names(), ["good"], "{bad}");
        }
        let prompt = r#"{"prompts":[{"name":"bad","inputSchema":{}},{"name":"good"}]}"#;
        assert!(driver().exchange("prompts/list", "{}", prompt).withheld("other-kind"));
        let resource = r#"{"resources":[{"name":"no address"},{"uri":"a:a"}]}"#;
        assert!(driver().exchange("resources/list", "{}", resource).withheld("no-definition"));
        driver().list(r#"[{"name":"a","inputSchema":{},"uri":"vendor"},{"name":"b"}]"#).passes();
    }

    fn page(gate: &mut Driver, cursor: &str, tool: &str, next: &str) -> crate::gate::testing::Outcome {
        let params = if cursor.is_empty() { "{}".to_owned() } else { format!(r#"{{"cursor":{cursor}}}"#) };
        let next = if next.is_empty() { String::new() } else { format!(r#","nextCursor":{next}"#) };
        gate.exchange("tools/list", &params, &format!(r#"{{"tools":[{tool}]{next}}}"#))
    }

    #[test]
    fn cursors_lead_on() {
        let mut gate = driver();
        page(&mut gate, "", "", r#""a""#).passes();
        page(&mut gate, r#""a""#, "", r#""a""#).refuses("cursor-loop");
        page(&mut gate, r#""a""#, "", r#""""#).passes();
        page(&mut gate, r#""""#, "", r#""""#).refuses("cursor-loop");
        page(&mut gate, r#""""#, "", r#""a""#).refuses("cursor-loop");
        page(&mut gate, r#""a""#, "", r#""""#).passes();
        page(&mut gate, "null", "", r#""a""#).passes();
        page(&mut gate, r#""a""#, "", "").passes();
        for bad in ["7", "true", "{}", r#"["a"]"#] {
            page(&mut gate, "", "", bad).refuses("bad-cursor");
        }
    }

    #[test]
    fn pages_and_definitions_are_counted() {
        let mut gate = driver();
        let mut cursor = String::new();
        for number in 1..=5 {
            let next = format!(r#""{number}""#);
            let outcome = page(&mut gate, &cursor, "", &next);
            if number <= 4 {
                outcome.passes();
            } else {
                outcome.refuses("too-many-pages");
            }
            cursor = next;
        }
        let two = r#"{"name":"a"},{"name":"b"}"#;
        page(&mut gate, "", two, r#""n""#).passes();
        gate.exchange("resources/list", "{}", r#"{"resources":[{"uri":"a:a"},{"uri":"a:b"}]}"#).passes();
        page(&mut gate, r#""n""#, two, "").refuses("too-many-items");
        page(&mut gate, "", two, "").passes();
        page(&mut gate, "", &format!("{two},{two}"), "").refuses("too-many-items");
    }

    #[test]
    fn a_hundred_pages_are_honest() {
        let mut gate = Driver::only("list-integrity", "");
        let mut cursor = String::new();
        for number in 1..=100 {
            let next = if number < 100 { format!(r#""{number}""#) } else { String::new() };
            page(&mut gate, &cursor, &format!(r#"{{"name":"t{number}"}}"#), &next).passes();
            cursor = next;
        }
        gate.call("t1", "{}").passes();
        gate.call("t100", "{}").passes();
    }

    #[test]
    fn what_stands_on_an_unread_page_is_not_called() {
        let policy = "[servers.board.tools.own.show]\ndescription = \"x\"\ninput_schema = \"{}\"\n";
        let mut gate = Driver::only("list-integrity", policy);
        gate.call("second", "{}").passes();
        page(&mut gate, "", r#"{"name":"first"}"#, r#""""#).passes();
        gate.call("second", "{}").refuses("unseen-page");
        gate.call("first", "{}").passes();
        gate.call("own", "{}").passes();
        page(&mut gate, r#""""#, r#"{"name":"second"}"#, "").passes();
        gate.call("second", "{}").passes();
        gate.call("third", "{}").passes();
        // A new listing that is cut short forgets nothing that was read.
        page(&mut gate, "", r#"{"name":"first"}"#, r#""more""#).passes();
        gate.call("second", "{}").passes();
        gate.call("third", "{}").refuses("unseen-page");
    }
}
