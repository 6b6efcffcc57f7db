//! `definition-pins`: what was approved is what is shown and called.

#[cfg(test)]
mod tests;

use super::CheckId;
use crate::{
    gate::{
        Check, Context, Docs, Event, ListingKind, Passing, PinKind, PinMode, Proposals, ServerFacts, Standing, check,
    },
    protocol::{
        Direction, Message, meta,
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
           what the host approved. Whatever differs is withheld from the listing and can't be called or read; so is \
           what two different definitions share a name for. After a `list_changed` or a new connection nothing is \
           called until it has been listed again, and what a complete list lacks is not called at all. A server's \
           `instructions` are pinned alike, and blanked where they differ. So is what `prompts/get` returns without \
           arguments (`pin_prompt_messages`), from the first time that it is asked for. Approvals are kept in a \
           store by how the server is reached (its arguments one by one, or its URL): under another command, the \
           same name has no approvals and no first use. An approval counts once the store has it on disk. Where \
           the store can't be used, nothing of the server is shown or called. Approving anew is a visible act of \
           the host, and leaves a trace.",
    why: "A definition is looked at once and used for ever. A server that changes it afterwards speaks to the model \
          with an approval that was given to other words.",
    misses: "A definition that is hostile when it is approved, and messages that are hostile when they first come; \
             what a tool does; what `resources/read` returns, and `prompts/get` with arguments unless the policy \
             says so. A resource that was never listed and that no known template makes may be read, since links \
             make such. Under `first-use`, a tool called before any listing; and a first listing that never ends \
             keeps adding until it is begun anew.",
    example: "a tool whose description gained a sentence after `notifications/tools/list_changed`",
    source: "S01 to S08, S11, D18; agentmetry#142, rust-sdk#665, mcp-context-protector#20",
    rules: &[
        ("drifted", "the definition is not the approved one"),
        ("not-approved", "the definition was never approved"),
        ("unnamed", "a definition without a name can't be approved, and none without a name be used"),
        ("listed-twice", "two different definitions go by one name"),
        ("stale-list", "the server's list may have changed and was not read again"),
        ("not-listed", "the server does not list any more what is called"),
        ("instructions-drifted", "the instructions are not the approved ones, and are blanked"),
        ("messages-drifted", "a prompt's messages are not those that came first"),
        ("reach-changed", "the server is reached in another way than the one that was approved"),
        ("store-unusable", "what was approved can't be read or kept"),
    ],
};

impl Check for DefinitionPins {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let policy = context.policy(event);
        let Some(mode) = policy.pins else { return };
        let facts = context.server(event);
        match event {
            Event::Opening(_) | Event::Approval(_) => note(facts, proposals),
            Event::Passing(Passing { direction: Direction::Requestward, message, .. }) => {
                request(mode, facts, message, proposals);
            }
            Event::Passing(Passing { direction: Direction::Replyward, .. }) => {
                listing(context, facts, proposals);
                instructions(context, facts, event, proposals);
                let asked = context.answered.filter(|asked| asked.method == "prompts/get");
                let result = check::response(event).and_then(Message::result);
                if let (Some(asked), Some(_)) = (asked, result)
                    && let Some(standing) = facts.pinned.messages(policy.pin_prompt_messages, asked)
                {
                    match wrong(facts, standing) {
                        Some(("drifted", _)) => {
                            let why = "the prompt's messages are not those that came first, or were approved last";
                            proposals.refuse("messages-drifted", why);
                        }
                        Some((rule, why)) => proposals.refuse(rule, why),
                        None => {}
                    }
                }
            }
            Event::Head(_) | Event::Hop(_) | Event::Unanswered(_) | Event::Consent(_) => {}
        }
    }
}

/// Says in full what is wrong with the store: this is for the trail, which may
/// name a file. Refusals go to the client, and don't.
fn note(facts: &ServerFacts, proposals: &mut Proposals) {
    if let Some(trouble) = &facts.pinned.trouble {
        proposals.note("store-unusable", trouble.to_string());
    } else if facts.pinned.moved {
        proposals.note("reach-changed", "the store knows this name under another command or address");
    }
}

fn request(mode: PinMode, facts: &ServerFacts, message: &Message, proposals: &mut Proposals) {
    let Some(method) = message.method() else { return };
    let member = |key: &str| message.params().and_then(|params| params.member(key));
    let text = |key: &str| member(key).and_then(Node::as_str);
    let use_of = |kind: ListingKind, name: &str| match facts.pinned.used(kind, name, facts.passes.get(&kind)) {
        Standing::Unknown if mode == PinMode::Approved => Standing::NotApproved,
        standing => standing,
    };
    let standing = match (method, text("name"), text("uri")) {
        ("tools/call", Some(name), _) => use_of(ListingKind::Tools, name),
        ("prompts/get", Some(name), _) => use_of(ListingKind::Prompts, name),
        ("tools/call" | "prompts/get", None, _) => {
            return proposals.refuse("unnamed", "it is not said what is to be used");
        }
        ("resources/read" | "resources/subscribe", _, Some(uri)) => facts.pinned.read(uri),
        ("subscriptions/listen", ..) => {
            let addresses = check::addresses(message).into_iter().filter_map(Node::as_str);
            let mut standings = addresses.map(|uri| facts.pinned.read(uri));
            let Some(found) = standings.find(|standing| wrong(facts, *standing).is_some()) else { return };
            found
        }
        ("completion/complete", ..) => {
            let of = |key: &str| member("ref").and_then(|what| what.member(key)).and_then(Node::as_str);
            match (of("name"), of("uri")) {
                (Some(name), None) => use_of(ListingKind::Prompts, name),
                (None, Some(uri)) => facts.pinned.template(uri),
                _ => return,
            }
        }
        // Without the store, a list could only be shown empty.
        (method, ..) if ListingKind::of(method).is_some() && facts.pinned.trouble.is_some() => Standing::Unusable,
        _ => return,
    };
    refuse(facts, standing, proposals);
}

fn refuse(facts: &ServerFacts, standing: Standing, proposals: &mut Proposals) {
    if let Some((rule, why)) = wrong(facts, standing) {
        proposals.refuse(rule, why);
    }
}

/// The rule that stands against using something, and why.
fn wrong(facts: &ServerFacts, standing: Standing) -> Option<(&'static str, String)> {
    let (rule, why) = match standing {
        Standing::Approved | Standing::Unknown => return None,
        Standing::Drifted => ("drifted", "the definition has changed since it was approved"),
        Standing::NotApproved => ("not-approved", "the definition was never approved"),
        Standing::Twice => ("listed-twice", "two different definitions go by this name"),
        Standing::Stale => ("stale-list", "the server's list may have changed: list it again first"),
        Standing::Gone => ("not-listed", "the server does not list it any more"),
        Standing::Moved => {
            ("reach-changed", "the server is reached in another way than the one that was approved: approve it anew")
        }
        Standing::Unusable => {
            let what = facts.pinned.trouble.as_ref().map_or("it is gone", |trouble| trouble.what.as_str());
            return Some(("store-unusable", format!("the store of approved definitions can't be used: {what}")));
        }
    };
    Some((rule, why.to_owned()))
}

fn listing(context: &Context<'_>, facts: &ServerFacts, proposals: &mut Proposals) {
    let Some(listing) = context.listing else { return };
    if facts.pinned.trouble.is_some() {
        return refuse(facts, Standing::Unusable, proposals);
    }
    for (index, item) in listing.items.iter().enumerate() {
        let (Some(name), Some(definition)) = (&item.name, &item.definition) else {
            proposals.withhold(index, "unnamed", "a definition without a name can't be approved");
            continue;
        };
        let standing = facts.pinned.shown(PinKind::from(listing.kind), name, definition.fingerprint);
        if let Some((rule, why)) = wrong(facts, standing) {
            proposals.withhold(index, rule, why);
        }
    }
}

fn instructions(context: &Context<'_>, facts: &ServerFacts, event: &Event<'_>, proposals: &mut Proposals) {
    if context.answered.is_none_or(|request| !meta::is_opening(&request.method)) {
        return;
    }
    let standing = facts.pinned.instructions();
    let Some((rule, why)) = wrong(facts, standing) else { return };
    let rule = if standing == Standing::Drifted { "instructions-drifted" } else { rule };
    let result = check::response(event).and_then(Message::result);
    for member in result.map_or(&[][..], Node::members) {
        if member.key == "instructions" && member.value.kind != Kind::Null {
            proposals.splice(member.value.span.clone(), "\"\"".to_owned(), rule, format!("the instructions: {why}"));
        }
    }
}
