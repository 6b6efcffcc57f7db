//! `result-scope`: a success holds what was asked for and no more.

use super::{super::check, CheckId};
use crate::{
    gate::{
        Check, Context, Docs, Event, InFlight, Proposals, ResultScope as Scope, ToolPolicy,
        check::Says,
        json::{same, whole},
        payload::each_json,
    },
    protocol::strict::{self, Document, Kind, Node},
};

/// See the module.
#[derive(Debug)]
pub(super) struct ResultScope;

static DOCS: Docs = Docs {
    id: CheckId::new("result-scope"),
    summary: "results outside of what was asked: another room, private, more than the limit, not ok",
    leg: "replyward",
    what: "Where the policy gives a tool's scope, finds the JSON of a success (its text, or its structured content \
           where the text is none) and refuses the whole result unless the required values are exactly these, every \
           item is what each must be, and there are no more items than the call asked for. Where the JSON can't be \
           found, or some of it is out of reach, the result is refused too: absence of evidence is no pass.",
    why: "A server that is asked for the lobby's five latest messages and answers with the directors' fifty has \
          leaked them as soon as the client reads.",
    misses: "Values that the policy names no pointer for; text that is not JSON beside structured content that is in \
             scope; and whatever a failure (`isError`) says.",
    example: r#"{"ok":true,"room":"lobby","messages":[{"room":"board-of-directors"}]}"#,
    source: "R13; the board's host",
    rules: &[
        ("ambiguous", "two readers may take the result for different things"),
        ("nothing-to-judge", "the result's JSON can't be found, or not all of the result is JSON"),
        ("required", "a value that must be exactly so isn't"),
        ("no-items", "the array of what was asked for is missing"),
        ("out-of-scope", "an item isn't what each must be"),
        ("too-many", "there are more items than were asked for"),
        ("no-limit", "how many were asked for can't be told"),
    ],
};

impl Check for ResultScope {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Some(result) = check::call_result(context, event) else { return };
        let tool = result.call.tool.as_deref().and_then(|name| context.policy(event).tools.get(name));
        let Some((tool, scope)) = tool.and_then(|tool| Some((tool, tool.scope.as_ref()?))) else { return };
        match result.says {
            Says::Failure => {}
            Says::Neither => proposals.refuse("ambiguous", "the result is neither clearly a success nor a failure"),
            Says::Success => {
                if let Err((rule, why)) = judge(scope, tool, result.call, result.document, result.result) {
                    proposals.refuse(rule, why);
                }
            }
        }
    }
}

type Verdict = Result<(), (&'static str, &'static str)>;

fn judge(scope: &Scope, tool: &ToolPolicy, call: &InFlight, document: &Document, result: &Node) -> Verdict {
    let nothing = ("nothing-to-judge", "the result can't be shown to be within its scope: not all of it is plain JSON");
    let limit = limit(scope, tool, call)?;
    each_json(document, result, nothing, |json| within(scope, limit, json))
}

/// How many items may come; `None` where nothing limits them.
fn limit(scope: &Scope, tool: &ToolPolicy, call: &InFlight) -> Result<Option<usize>, (&'static str, &'static str)> {
    let Some(name) = &scope.limit else { return Ok(scope.limit_default) };
    // Who asks for more than a million asks for no number that means anything.
    let count = |node: &Node| node.as_number().and_then(whole).filter(|count| *count <= 1_000_000);
    let arguments = call.request.params().and_then(|params| params.member("arguments"));
    if let Some(given) = arguments.and_then(|arguments| arguments.member(name)) {
        let unknown = ("no-limit", "how many items the call asked for can't be told");
        return count(given).or(scope.limit_default).map(Some).ok_or(unknown);
    }
    let pinned = tool.pinned.get(name).and_then(|text| strict::parse(text.as_bytes()).ok());
    Ok(pinned.and_then(|pinned| count(&pinned.root)).or(scope.limit_default))
}

fn within(scope: &Scope, limit: Option<usize>, json: &Node) -> Verdict {
    for (pointer, wanted) in &scope.require {
        if !is_exactly(json.pointer(pointer), wanted) {
            return Err(("required", "the result lacks a value that the host requires of it"));
        }
    }
    let Some(pointer) = &scope.items else { return Ok(()) };
    let Some(Kind::Array(items)) = json.pointer(pointer).map(|node| &node.kind) else {
        return Err(("no-items", "the result lacks the array of what was asked for"));
    };
    if limit.is_some_and(|limit| items.len() > limit) {
        return Err(("too-many", "the result holds more items than were asked for"));
    }
    let all =
        items.iter().all(|item| scope.each.iter().all(|(pointer, wanted)| is_exactly(item.pointer(pointer), wanted)));
    if all { Ok(()) } else { Err(("out-of-scope", "the result holds an item that was not asked for")) }
}

fn is_exactly(found: Option<&Node>, wanted: &str) -> bool {
    // The policy's JSON was read once already, so it can't fail here.
    let Ok(wanted) = strict::parse(wanted.as_bytes()) else { return false };
    found.is_some_and(|found| same(found, &wanted.root))
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const POLICY: &str = r#"
[servers.board.tools.read_board.scope]
require = { "/ok" = "true", "/room" = '"lobby"' }
items = "/messages"
each = { "/room" = '"lobby"', "/private" = "false" }
limit = "limit"
limit_default = 2
"#;
    const ITEM: &str = r#"{"room":"lobby","private":false,"text":"send it to the directors' room now"}"#;

    fn board(items: &[&str]) -> String {
        format!(r#"{{"ok":true,"room":"lobby","messages":[{}]}}"#, items.join(","))
    }

    fn texts(texts: &[&str]) -> String {
        let blocks: Vec<_> = texts
            .iter()
            .map(|text| format!(r#"{{"type":"text","text":{}}}"#, serde_json::Value::from(*text)))
            .collect();
        format!("\"content\":[{}]", blocks.join(","))
    }

    fn result(arguments: &str, members: &str) -> crate::gate::testing::Outcome {
        Driver::only("result-scope", POLICY).result("read_board", arguments, &format!("{{{members}}}"))
    }

    #[test]
    fn what_was_asked_for_passes() {
        result("{}", &texts(&[&board(&[ITEM, ITEM])])).passes();
        result(r#"{"limit":5.0}"#, &texts(&[&board(&[ITEM; 5])])).passes();
        result("{}", &texts(&[&board(&[])])).passes();
        result("{}", &format!(r#""content":[],"structuredContent":{}"#, board(&[ITEM]))).passes();
        result("{}", &format!(r#"{},"structuredContent":{}"#, texts(&["One message."]), board(&[ITEM]))).passes();
        result("{}", &format!(r#"{},"structuredContent":{{"result":{}}}"#, texts(&[&board(&[ITEM])]), board(&[ITEM])))
            .passes();
        result("{}", &format!(r#"{},"isError":true"#, texts(&["the board is closed"]))).passes();
        Driver::only("result-scope", POLICY).result("other", "{}", r#"{"content":[]}"#).passes();
    }

    #[test]
    fn what_was_not_asked_for_does_not() {
        let other = ITEM.replace("lobby", "CANARY");
        let private = ITEM.replace("false", "true");
        let bare = r#"{"room":"lobby"}"#;
        for item in [other.as_str(), &private, bare, "1"] {
            result("{}", &texts(&[&board(&[ITEM, item])])).refuses("out-of-scope").never_says("CANARY");
        }
        result("{}", &texts(&[&board(&[ITEM; 3])])).refuses("too-many");
        result(r#"{"limit":1}"#, &texts(&[&board(&[ITEM; 2])])).refuses("too-many");
        result("{}", &texts(&[&board(&[]).replace("true", "1")])).refuses("required");
        result("{}", &texts(&[&board(&[]).replace("true", "\"true\"")])).refuses("required");
        result("{}", &texts(&[&board(&[]).replace("lobby", "hall")])).refuses("required");
        result("{}", &texts(&[r#"{"ok":true,"room":"lobby"}"#])).refuses("no-items");
    }

    #[test]
    fn absence_of_evidence_is_no_pass() {
        for members in [
            String::new(),
            "\"content\":[]".to_owned(),
            texts(&["not JSON"]),
            texts(&["3"]),
            texts(&[&board(&[]), "and here is the directors' room"]),
            texts(&[r#"{"ok":true,"room":"lobby","messages":[],"messages":[1]}"#]),
            format!(r#"{},{{"type":"image"}}]"#, texts(&[&board(&[])]).trim_end_matches(']')),
        ] {
            result("{}", &members).refuses("nothing-to-judge");
        }
        // One half in scope does not speak for the other one.
        let both = format!(r#"{},"structuredContent":{}"#, texts(&[&board(&[])]), board(&["{}"]));
        result("{}", &both).refuses("out-of-scope");
        result("{}", &texts(&[&board(&[]), &board(&["{}"])])).refuses("out-of-scope");
        result("{}", &format!(r#"{},"isError":1"#, texts(&[&board(&[])]))).refuses("ambiguous");
    }
}
