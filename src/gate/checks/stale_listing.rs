//! `stale-listing`: the version that answers is the one that listed.

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, ListingKind, Passing, Proposals, Stale},
    protocol::Direction,
};

/// See the module.
#[derive(Debug)]
pub(super) struct StaleListing;

static DOCS: Docs = Docs {
    id: CheckId::new("stale-listing"),
    summary: "lists built by another version of the server than the one that answers",
    leg: "both",
    what: "Remembers which version of a server opened the session (`serverInfo`) and in whose session its tools and \
           prompts were listed. After a reconnect to another one, calls wait until the list was read again. Where the \
           policy says where a listing names the version that built it, one that names another than the session's is \
           refused; where it says where a result names the version that answered, one that names another than the \
           list's is refused, and calls wait until the list was read again. A `list_changed` notification announces a \
           new version honestly: the next list may be built by it. What names no version is not compared.",
    why: "The host chose a tool, and its user approved it, by the words and the schema of one version. Another one may \
          give the same name another meaning: an argument that was a limit is now an amount.",
    misses: "A server that changes without changing its version, and one that lies about it; definition-pins compares \
             what is listed. A server that names no version. One that announces a change may list as any \
             version. Resources, which are read by address and not by a list. A \
             client that uses its list from a session that the gate didn't see.",
    example: "tools listed in a session that `serverInfo` 3.1.0 opened, then called in one that 4.0.0 opened",
    source: "the mailbox's host; MCP basic/lifecycle, server/tools; MCP03:2025",
    rules: &[
        ("listing", "the list says that another version than the session's built it"),
        ("not-listed-again", "the list is another version's, and was not read again since"),
        ("answered", "another version answered than the one that listed"),
    ],
};

impl Check for StaleListing {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Event::Passing(Passing { direction, message, .. }) = event else { return };
        let versions = &context.server(event).versions;
        let policy = &context.policy(event).build;
        if *direction == Direction::Requestward {
            let kind = match message.method() {
                Some("tools/call") => ListingKind::Tools,
                Some("prompts/get") => ListingKind::Prompts,
                _ => return,
            };
            match versions.stale(kind) {
                Some(Stale::Reopened) if policy.relist => proposals.refuse(
                    "not-listed-again",
                    "the server has become another version since its list was read; list again first",
                ),
                Some(Stale::Built | Stale::Answered) => {
                    let why = "the list that was read last is another version's than the one that answers; list again";
                    proposals.refuse("not-listed-again", why);
                }
                Some(Stale::Reopened) | None => {}
            }
        } else if let Some(listing) = context.listing {
            if versions.stale(listing.kind) == Some(Stale::Built) {
                proposals.refuse("listing", "the list was built by another version of the server than the session's");
            }
        } else if check::call_result(context, event).is_some() && versions.another(message, policy).is_some() {
            proposals.refuse("answered", "another version of the server answered than the one that listed its tools");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::{
        Reach,
        testing::{Driver, Outcome},
    };

    const POLICY: &str = r#"
[servers.board.build]
listing = "/_meta/build"
result = "/_meta/build"
"#;
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

    fn gate() -> Driver {
        Driver::only("stale-listing", POLICY)
    }

    fn open(gate: &mut Driver, version: &str) {
        let info = format!(r#"{{"protocolVersion":"2025-06-18","serverInfo":{{"name":"mail"{version}}}}}"#);
        gate.open(Reach::Memory, &[]);
        gate.exchange("initialize", "{}", &info).passes();
    }

    fn v(version: &str) -> String {
        format!(r#","version":"{version}""#)
    }

    fn meta(build: &str) -> String {
        if build.is_empty() { String::new() } else { format!(r#","_meta":{{"build":"{build}"}}"#) }
    }

    fn list(gate: &mut Driver, build: &str) -> Outcome {
        gate.exchange("tools/list", "{}", &format!(r#"{{"tools":[{{"name":"x"}}]{}}}"#, meta(build)))
    }

    fn call(gate: &mut Driver, build: &str) -> Outcome {
        gate.result("x", "{}", &format!(r#"{{"content":[]{}}}"#, meta(build)))
    }

    #[test]
    fn after_a_reconnect_to_another_version_the_list_is_read_again() {
        for other in [v("2"), String::new(), v("1").replace("1\"", "1 \"")] {
            let mut gate = Driver::only("stale-listing", "");
            open(&mut gate, &v("1"));
            list(&mut gate, "").passes();
            open(&mut gate, &v("1"));
            call(&mut gate, "").passes();
            open(&mut gate, &other);
            call(&mut gate, "").refuses("not-listed-again");
            gate.req("prompts/get", r#"{"name":"p"}"#).passes();
            gate.req("ping", "{}").passes();
            list(&mut gate, "").passes();
            call(&mut gate, "").passes();
        }
        let mut gate = Driver::only("stale-listing", "[servers.board.build]\nrelist = false\n");
        open(&mut gate, &v("1"));
        list(&mut gate, "").passes();
        open(&mut gate, &v("2"));
        call(&mut gate, "").passes();
    }

    #[test]
    fn who_was_never_listed_or_names_no_version_is_not_compared() {
        let mut gate = gate();
        call(&mut gate, "9").passes();
        open(&mut gate, "");
        list(&mut gate, "3").passes();
        open(&mut gate, "");
        call(&mut gate, "3").passes();
        call(&mut gate, "").passes();
        let mut gate = Driver::only("stale-listing", POLICY);
        open(&mut gate, &v("1"));
        call(&mut gate, "2").passes();
        open(&mut gate, &v("2"));
        call(&mut gate, "2").passes();
    }

    #[test]
    fn a_list_of_another_version_is_refused() {
        let mut gate = gate();
        open(&mut gate, &v("1"));
        list(&mut gate, "0").refuses("listing");
        call(&mut gate, "").refuses("not-listed-again");
        list(&mut gate, "1").passes();
        call(&mut gate, "1").passes();
        gate.exchange("tools/list", r#"{"cursor":"2"}"#, r#"{"tools":[],"_meta":{"build":"0"}}"#).refuses("listing");
        gate.exchange("tools/list", "{}", r#"{"tools":[],"_meta":{"build":1}}"#).passes();
    }

    #[test]
    fn a_rolling_upgrade_is_announced() {
        let mut gate = gate();
        open(&mut gate, &v("1"));
        list(&mut gate, "1").passes();
        gate.tell(CHANGED).passes();
        list(&mut gate, "2").passes();
        call(&mut gate, "2").passes();
        list(&mut gate, "2").passes();
        list(&mut gate, "1").refuses("listing");
    }

    #[test]
    fn a_call_is_answered_by_the_version_that_listed() {
        let mut gate = gate();
        open(&mut gate, &v("1"));
        list(&mut gate, "1").passes();
        call(&mut gate, "2").refuses("answered");
        call(&mut gate, "1").refuses("not-listed-again");
        // Now both say the same.
        list(&mut gate, "2").passes();
        call(&mut gate, "2").passes();
        gate.result("x", "{}", r#"{"content":[],"isError":true,"_meta":{"build":"1"}}"#).refuses("answered");
    }

    #[test]
    fn pages_are_read_in_one_session() {
        let mut gate = gate();
        open(&mut gate, &v("1"));
        gate.exchange("tools/list", "{}", r#"{"tools":[],"nextCursor":"2"}"#).passes();
        open(&mut gate, &v("2"));
        gate.exchange("tools/list", r#"{"cursor":"2"}"#, r#"{"tools":[]}"#);
        call(&mut gate, "").refuses("not-listed-again");
    }
}
