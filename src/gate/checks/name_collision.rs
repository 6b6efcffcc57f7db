//! `name-collision`: one name, one tool.

use std::collections::BTreeSet;

use unicode_security::MixedScript as _;

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, ListingKind, NameClaim, Proposals},
    protocol::ServerName,
};

/// See the module.
#[derive(Debug)]
pub(super) struct NameCollision;

static DOCS: Docs = Docs {
    id: CheckId::new("name-collision"),
    summary: "the same or a confusable tool name from two servers, or within one",
    leg: "discovery, requestward",
    what: "Compares every tool name that any server of the session has listed by what it looks like: without case, \
           separators, width, invisible characters and look-alike letters (UTS 39). Among servers, the tool belongs \
           to the one whose `allow` in the policy names it, else to the one that listed it first; the others' is \
           withheld and can't be called. Where the host shows tools under their server's name \
           (`names.qualified`), two servers may serve the same name; where it joins both into one name \
           (`names.join`), the joined names are compared. Within a server, a name that comes twice, that mixes \
           scripts, or that comes to look like one listed before is withheld; plain ASCII names that stand side by \
           side from the beginning are the server's own affair.",
    why: "A host that puts all tools into one list calls whichever stands under the name. A newcomer takes over the \
          calls that were meant for another, with their arguments.",
    misses: "Another word for the same thing (`find` and `search`). A first server that takes a name before its \
             owner comes, where the policy doesn't say whose it is. Names of prompts and resources.",
    example: "`fоrmat_code` with a Cyrillic о, beside `format_code`",
    source: "D12, D13, S04; Codewhale#2744, litellm#15725; UTS 39; SAFE-T1004",
    rules: &[
        ("taken", "another server of the session owns the name"),
        ("joined-alike", "the name is another's once the server's name is put before it"),
        ("look-alike", "the name looks like another one of the same server"),
        ("mixed-scripts", "the name mixes letters of several scripts"),
        ("twice", "the name stands twice in one listing"),
    ],
};

type Wrong = (&'static str, &'static str);

impl Check for NameCollision {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let server = event.server();
        if let Some((_, Some(name))) = check::call(event) {
            if let Some((rule, why)) = wrong(context, server, name) {
                proposals.refuse(rule, why);
            }
            return;
        }
        let Some(listing) = context.listing.filter(|listing| listing.kind == ListingKind::Tools) else { return };
        let mut seen = BTreeSet::new();
        for (index, item) in listing.items.iter().enumerate() {
            let Some(name) = item.name.as_deref() else { continue };
            let twice = (!seen.insert(name)).then_some(("twice", "a tool of this name is listed twice"));
            if let Some((rule, why)) = twice.or_else(|| wrong(context, server, name)) {
                proposals.withhold(index, rule, why);
            }
        }
    }
}

/// What is wrong with a server's use of a name.
fn wrong(context: &Context<'_>, server: &ServerName, name: &str) -> Option<Wrong> {
    let names = context.facts.names();
    let claims = names.alike(name);
    // A name that was never listed collides with nothing.
    let own = claims.iter().find(|claim| claim.server == *server && claim.name == name)?;
    if !name.is_ascii() && !name.is_single_script() {
        return Some(("mixed-scripts", "the tool's name mixes letters of several scripts"));
    }
    let within = claims.iter().take_while(|claim| *claim != own).any(|claim| {
        let side_by_side = claim.listing == own.listing && claim.name.is_ascii() && own.name.is_ascii();
        claim.server == *server && !side_by_side
    });
    if within {
        return Some(("look-alike", "the tool's name looks like that of another tool of this server"));
    }
    let settings = &context.rules.policy().names;
    if !settings.qualified && owner(context, claims)? != server {
        return Some(("taken", "another server of the session serves a tool of this name, or one that looks like it"));
    }
    let join = settings.join.as_deref()?;
    let joined = names.joined_alike(server, join, name);
    (owner(context, joined)? != server)
        .then_some(("joined-alike", "with the server's name before it, this is the name of another server's tool"))
}

/// Whose a name is.
fn owner<'a>(context: &Context<'_>, claims: &'a [NameClaim]) -> Option<&'a ServerName> {
    let policy = context.rules.policy();
    let named = |claim: &&NameClaim| {
        let allowed = policy.servers.get(&claim.server).and_then(|settings| settings.allow.as_ref());
        allowed.is_some_and(|tools| tools.iter().any(|tool| tool.as_str() == claim.name))
    };
    claims.iter().find(named).or(claims.first()).map(|claim| &claim.server)
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    fn gate(policy: &str) -> Driver {
        Driver::only("name-collision", policy)
    }

    fn tools(names: &[&str]) -> String {
        let tools: Vec<_> = names.iter().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
        format!("[{}]", tools.join(","))
    }

    #[test]
    fn the_first_server_keeps_the_name() {
        for other in ["search", "Search", "se\u{200b}arch", "ｓearch", "s\u{435}arch", "se-arch"] {
            let mut gate = gate("");
            gate.on("web").list(&tools(&["search", "fetch"])).passes();
            assert_eq!(gate.on("mail").list(&tools(&[other, "send"])).names(), ["send"], "{other}");
            assert!(matches!(gate.on("mail").call(other, "{}").ruling.decision, crate::gate::Decision::Refuse { .. }));
            gate.on("mail").call("send", "{}").passes();
            gate.on("web").call("search", "{}").passes();
            gate.on("web").list(&tools(&["search", "fetch"])).passes();
        }
    }

    #[test]
    fn the_policy_says_whose_it_is() {
        let mut gate = gate("[servers.web]\nallow = [\"search\"]\n");
        gate.on("mail").list(&tools(&["search"])).passes();
        gate.on("web").list(&tools(&["search"])).passes();
        gate.on("mail").call("search", "{}").refuses("taken");
        gate.on("web").call("search", "{}").passes();
    }

    #[test]
    fn qualified_names_may_be_the_same() {
        let mut gate = gate("[names]\nqualified = true\n");
        gate.on("web").list(&tools(&["search"])).passes();
        gate.on("mail").list(&tools(&["search"])).passes();
        gate.on("mail").call("search", "{}").passes();
    }

    #[test]
    fn joined_names_are_compared_whole() {
        let mut gate = gate("[names]\nqualified = true\njoin = \"_\"\n");
        gate.on("db").list(&tools(&["my_rows"])).passes();
        assert!(gate.on("db_my").list(&tools(&["rows"])).withheld("joined-alike"));
        gate.on("db_my").call("rows", "{}").refuses("joined-alike");
        gate.on("db").call("my_rows", "{}").passes();
    }

    #[test]
    fn within_a_server() {
        let mut one = gate("");
        one.list(&tools(&["format_code", "Format_Code", "v1", "vl"])).passes();
        one.call("Format_Code", "{}").passes();
        let mut one = gate("");
        one.list(&tools(&["format_code"])).passes();
        assert!(one.list(&tools(&["format_code", "Format_Code"])).withheld("look-alike"));
        one.call("Format_Code", "{}").refuses("look-alike");
        // Even where the first has gone from the list.
        assert!(one.list(&tools(&["Format_Code"])).withheld("look-alike"));
        assert!(gate("").list(&tools(&["a", "b", "a"])).withheld("twice"));
    }

    #[test]
    fn scripts_pass_whole_and_not_mixed() {
        gate("").list(&tools(&["формат", "書式を整える", "μετατροπή", "café"])).passes();
        assert!(gate("").list(&tools(&["f\u{43e}rmat_code"])).withheld("mixed-scripts"));
        // Whole-script look-alikes are found beside what they look like.
        let mut gate = gate("");
        gate.on("files").list(&tools(&["copy"])).passes();
        assert!(gate.on("other").list(&tools(&["сору"])).withheld("taken"));
    }
}
