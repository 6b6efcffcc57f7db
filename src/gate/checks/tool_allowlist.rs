//! `tool-allowlist`: only tools that the policy allows are listed or called.

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, ListingKind, Proposals},
    protocol::INVALID_PARAMS,
};

/// See the module.
#[derive(Debug)]
pub(super) struct ToolAllowlist;

static DOCS: Docs = Docs {
    id: CheckId::new("tool-allowlist"),
    summary: "tools that are not allowed, at listing and at every call",
    leg: "requestward, discovery",
    what: "Where the policy lists a server's allowed tools, takes every other tool out of its listings and refuses \
           every call of one, whether or not a listing came before. A name that is no string is refused too.",
    why: "A tool that is only hidden from the list is still callable by whoever knows its name; and a listing can \
          grow after it was looked at.",
    misses: "What an allowed tool does. A read tool that writes is for `approval` and `definition-pins`.",
    example: r#"{"method":"tools/call","params":{"name":"send_private"}} where only `read_board` is allowed"#,
    source: "C12; gh-aw-mcpg#3332 (a hidden tool is still callable)",
    rules: &[
        ("not-listed", "a definition of a tool that is not allowed is left out of the listing"),
        ("not-callable", "a call of a tool that is not allowed is refused"),
        ("no-name", "a call whose tool name is not a string is refused"),
    ],
};

impl Check for ToolAllowlist {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Some(allowed) = &context.policy(event).allow else { return };
        let is_allowed = |name: &str| allowed.iter().any(|tool| tool.as_str() == name);
        if let Some((_, name)) = check::call(event) {
            match name {
                None => proposals.refuse_as(INVALID_PARAMS, "no-name", "the call names no tool"),
                Some(name) if !is_allowed(name) => {
                    proposals.refuse("not-callable", "the tool is not on this server's list of allowed tools");
                }
                Some(_) => {}
            }
        }
        if let Some(listing) = context.listing.filter(|listing| listing.kind == ListingKind::Tools) {
            for (index, item) in listing.items.iter().enumerate() {
                if !item.name.as_deref().is_some_and(is_allowed) {
                    proposals.withhold(index, "not-listed", "the tool is not on the list of allowed tools");
                }
            }
        }
    }
}
