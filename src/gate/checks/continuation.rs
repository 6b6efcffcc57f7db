//! `continuation`: a document that is read in pages is one document.

use super::{super::check, CheckId};
use crate::gate::{
    Check, Context, Docs, Event, Proposals,
    check::Says,
    facts::{Given, Sought, Unclear},
    payload::each_json,
};

/// See the module.
#[derive(Debug)]
pub(super) struct Continuation;

static DOCS: Docs = Docs {
    id: CheckId::new("continuation"),
    summary: "pages of a document that don't belong together: two revisions, a gap, an overlap",
    leg: "both",
    what: "Where the policy says how a tool pages, follows every document that is read: its first page gives the \
           revision's digest and where the next page begins. A call for a later page passes only with that digest and \
           at that offset; a page passes only if it says its revision and whether more follows, is of the revision \
           and at the offset that was asked for, and moves on. A first page begins a document anew at any time, and a \
           call that failed may be made again. Documents are told by the arguments that the policy names, by tool.",
    why: "A page of one revision behind a page of another reads as one text that nobody ever wrote: half a contract, \
          a sentence without its 'not'. Whoever can change a document between two pages chooses where it is cut.",
    misses: "What a page holds: the gate can't tell whether a text really has the digest that the server gives it. A \
             page that is left out while the server says that nothing follows. A document that is spelled in two ways \
             counts as two, so that its second page is refused. Of more than 1024 documents at once, the oldest has to \
             be begun again.",
    example: r#"{"url":"…","offset":1200,"digest":"sha256:11…"} answered by {"digest":"sha256:9f…","text":"…"}"#,
    source: "R15; the reader's host; OWASP MCP10:2025",
    rules: &[
        ("unclear", "which page is asked for can't be told: a key twice, a value of the wrong type"),
        ("no-digest", "a later page is asked for without saying of which revision"),
        (
            "not-begun",
            "a later page is asked for of a document whose first page did not come, or whose pages broke off",
        ),
        ("other-digest", "a later page is asked for of another revision than the first page's"),
        ("other-offset", "a page is asked for, or comes, from elsewhere than where the last one ended"),
        ("no-page", "the result doesn't say its revision and whether more follows"),
        ("mixed", "the page that came is of another revision than the one that was asked for"),
        ("no-progress", "the next page would begin where this one does, or before"),
    ],
};

impl Check for Continuation {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let pages = |tool: Option<&str>| context.policy(event).tools.get(tool?)?.pages.as_ref();
        if let Some((message, tool)) = check::call(event)
            && let Some(pages) = pages(tool)
        {
            match Sought::of(message, pages) {
                Ok(asked) => requested(context, event, &asked, proposals),
                Err(Unclear::Offset) => proposals.refuse("unclear", "where the page begins is not a whole number"),
                Err(Unclear::Arguments) => {
                    proposals.refuse("unclear", "which page of which document is asked for can't be told");
                }
            }
        } else if let Some(result) = check::call_result(context, event)
            && let Some(pages) = pages(result.call.tool.as_deref())
            && result.says != Says::Failure
            // A call that can't be told was refused.
            && let Ok(asked) = Sought::of(&result.call.request, pages)
        {
            let nothing = ("no-page", "the result does not say, in plain JSON, what page of what revision it is");
            let judged = each_json(result.document, result.result, nothing, |json| {
                Given::of(json, pages).ok_or(nothing).and_then(|page| answered(&asked, &page))
            });
            if let Err((rule, why)) = judged {
                proposals.refuse(rule, why);
            }
        }
    }
}

fn requested(context: &Context<'_>, event: &Event<'_>, asked: &Sought, proposals: &mut Proposals) {
    if asked.offset == 0 {
        return;
    }
    let Some(digest) = &asked.digest else {
        return proposals.refuse("no-digest", "a later page has to be asked for with the first page's digest");
    };
    match context.server(event).readings.of(asked) {
        None => proposals.refuse("not-begun", "this document has to be read from its first page"),
        Some(reading) if reading.digest != *digest => {
            proposals.refuse("other-digest", "the digest is not that of the document's first page; begin again");
        }
        Some(reading) if reading.next != Some(asked.offset) => {
            proposals.refuse("other-offset", "the page does not begin where the last one ended; begin again");
        }
        Some(_) => {}
    }
}

fn answered(asked: &Sought, page: &Given) -> Result<(), (&'static str, &'static str)> {
    if asked.digest.as_ref().is_some_and(|digest| *digest != page.digest) {
        return Err(("mixed", "the document has changed: this page is of another revision; begin again"));
    }
    if page.offset.is_some_and(|offset| offset != asked.offset) {
        return Err(("other-offset", "the page that came is not the one that was asked for; begin again"));
    }
    if page.next.is_some_and(|next| next <= asked.offset) {
        return Err(("no-progress", "the next page would not begin behind this one"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::{Driver, Outcome};

    const POLICY: &str = r#"
[servers.board.tools.read.pages]
document = ["url"]
offset = "offset"
digest = "digest"
page_digest = "/digest"
page_offset = "/offset"
next_offset = "/next"
more = "/more"
"#;

    fn gate() -> Driver {
        Driver::only("continuation", POLICY)
    }

    fn page(digest: &str, offset: usize, next: Option<usize>) -> String {
        let next = next.map_or_else(|| "\"more\":false".to_owned(), |next| format!("\"next\":{next},\"more\":true"));
        let text = format!("{{\"digest\":\"{digest}\",\"offset\":{offset},{next},\"text\":\"CANARY\"}}");
        format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, serde_json::Value::from(text))
    }

    fn first(gate: &mut Driver, url: &str, digest: &str, next: Option<usize>) -> Outcome {
        gate.result("read", &format!(r#"{{"url":"{url}"}}"#), &page(digest, 0, next))
    }

    fn more(gate: &mut Driver, url: &str, digest: &str, offset: usize, result: &str) -> Outcome {
        gate.result("read", &format!(r#"{{"url":"{url}","offset":{offset},"digest":"{digest}"}}"#), result)
    }

    #[test]
    fn pages_of_one_revision_pass() {
        let mut gate = gate();
        first(&mut gate, "a", "d1", Some(10)).passes();
        first(&mut gate, "b", "e1", Some(7)).passes();
        more(&mut gate, "a", "d1", 10, &page("d1", 10, Some(20))).passes();
        more(&mut gate, "b", "e1", 7, &page("e1", 7, None)).passes();
        more(&mut gate, "a", "d1", 20, r#"{"content":[{"type":"text","text":"busy"}],"isError":true}"#).passes();
        more(&mut gate, "a", "d1", 20, &page("d1", 20, None)).passes();
        // Anew, in the revision that it has now.
        first(&mut gate, "a", "d2", Some(12)).passes();
        let spelled = r#"{"digest":"d2","offset":1.2e1,"url":"\u0061"}"#;
        gate.result("read", spelled, &page("d2", 12, None)).passes();
        gate.result("read", r#"{"url":"c","offset":null,"digest":null}"#, &page("f", 0, None)).passes();
        gate.result("other", r#"{"offset":3}"#, r#"{"content":[]}"#).passes();
    }

    #[test]
    fn a_later_page_needs_its_digest_and_its_place() {
        let mut gate = gate();
        let d1 = page("d1", 10, Some(20));
        more(&mut gate, "a", "d1", 10, &d1).refuses("not-begun");
        first(&mut gate, "a", "d1", Some(10)).passes();
        gate.call("read", r#"{"url":"a","offset":10}"#).refuses("no-digest");
        more(&mut gate, "a", "d0", 10, &d1).refuses("other-digest").never_says("d1");
        more(&mut gate, "a", "D1", 10, &d1).refuses("other-digest");
        more(&mut gate, "a", "d1", 9, &d1).refuses("other-offset");
        more(&mut gate, "a", "d1", 20, &d1).refuses("other-offset");
        more(&mut gate, "a/", "d1", 10, &d1).refuses("not-begun");
        for arguments in [
            r#"{"url":"a","offset":"10","digest":"d1"}"#,
            r#"{"url":"a","offset":-10,"digest":"d1"}"#,
            r#"{"url":"a","offset":10.5,"digest":"d1"}"#,
            r#"{"url":"a","offset":true,"digest":"d1"}"#,
            r#"{"url":"a","offset":0,"offset":10,"digest":"d1"}"#,
            r#"{"url":"a","offset":10,"digest":["d1"]}"#,
        ] {
            gate.call("read", arguments).refuses("unclear");
        }
        more(&mut gate, "a", "d1", 10, &page("d1", 10, None)).passes();
        more(&mut gate, "a", "d1", 20, &d1).refuses("other-offset");
    }

    #[test]
    fn a_page_of_another_revision_does_not_pass() {
        for (rule, result) in [
            ("mixed", page("d2", 10, Some(20))),
            ("other-offset", page("d1", 15, Some(20))),
            ("no-progress", page("d1", 10, Some(10))),
            ("no-progress", page("d1", 10, Some(3))),
            ("no-page", page("d1", 10, Some(20)).replace("more", "less")),
            ("no-page", page("d1", 10, Some(20)).replace("next", "last")),
            ("no-page", page("d1", 10, Some(20)).replace(":true", ":1")),
            ("no-page", page("", 10, Some(20))),
            ("no-page", r#"{"content":[{"type":"text","text":"CANARY"}]}"#.to_owned()),
            ("no-page", r#"{"content":[]}"#.to_owned()),
        ] {
            let mut gate = gate();
            first(&mut gate, "a", "d1", Some(10)).passes();
            more(&mut gate, "a", "d1", 10, &result).refuses(rule).never_says("CANARY");
            // What was begun is broken off.
            more(&mut gate, "a", "d1", 10, &page("d1", 10, None)).refuses("not-begun");
            first(&mut gate, "a", "d2", Some(10)).passes();
        }
    }

    #[test]
    fn both_halves_are_judged() {
        let both = |digest: &str| {
            let json = format!(r#"{{"digest":"{digest}","offset":10,"more":false}}"#);
            page("d1", 10, None).replace("\"content\"", &format!("\"structuredContent\":{json},\"content\""))
        };
        for (digest, passes) in [("d1", true), ("d2", false)] {
            let mut gate = gate();
            first(&mut gate, "a", "d1", Some(10)).passes();
            let said = more(&mut gate, "a", "d1", 10, &both(digest));
            if passes { said.passes() } else { drop(said.refuses("mixed")) }
        }
    }

    #[test]
    fn old_documents_give_way() {
        let mut gate = gate();
        for n in 0..1025 {
            first(&mut gate, &format!("u{n}"), "d1", Some(10)).passes();
        }
        more(&mut gate, "u0", "d1", 10, &page("d1", 10, None)).refuses("not-begun");
        more(&mut gate, "u1", "d1", 10, &page("d1", 10, None)).passes();
    }
}
