//! The user's input: what forms may look like, and what nobody may ask for.

use super::{Ask, No, address};
use crate::{
    gate::{
        facts::question,
        text::{Place, asks_for_secret},
    },
    protocol::strict::Node,
};

/// Judges a request for the user's input.
pub(super) fn judge(ask: &Ask<'_>) -> Result<(), No> {
    let policy = &ask.context.policy(ask.event).requests.elicitation;
    let params = ask.params;
    let mode = params.and_then(|params| params.member("mode")).map(Node::as_str);
    ask.needs(&["elicitation"])?;
    let is_url = match mode {
        // A client that declares nothing beyond `elicitation` offers forms.
        None | Some(Some("form")) if !ask.has(&["elicitation", "url"]) => false,
        None | Some(Some("form")) => {
            ask.needs(&["elicitation", "form"])?;
            false
        }
        Some(Some("url")) => {
            ask.needs(&["elicitation", "url"])?;
            true
        }
        Some(_) => return No::because("not-declared", "there is no such mode of asking"),
    };
    ask.needs_task(&["tasks", "requests", "elicitation", "create"])?;
    Ask::allowed(policy.allow)?;
    let Some(params) = params else { return No::because("not-flat", "the request says nothing") };
    ask.waits(policy.max_in_flight)?;
    ask.counts(policy.max_requests, |asking| asking.elicited)?;
    if let Some(asking) = ask.asking {
        if asking.declines >= policy.max_declines {
            return No::because("declined", "the user declined too often in a row");
        }
        if asking.declined.contains(&question(params)) {
            return No::because("declined", "the user declined this question before");
        }
    }
    // Both kinds are held to what stands in them: a client may read either.
    if is_url || params.member("url").is_some() {
        address::judge(params, policy.origins.as_deref())?;
    }
    if is_url && params.member("requestedSchema").is_none() {
        return secret_in_words(params, true);
    }
    form(params)
}

fn form(params: &Node) -> Result<(), No> {
    let flat = || No::because("not-flat", "a form is a flat object of plain fields");
    let Some(schema) = params.member("requestedSchema") else { return flat() };
    if schema.member("type").and_then(Node::as_str) != Some("object") {
        return flat();
    }
    let fields = schema.members().iter().filter(|member| member.key == "properties").flat_map(|m| m.value.members());
    let mut open = false;
    for field in fields {
        match kind(&field.value) {
            None => return flat(),
            Some(Typed::Choice) => {}
            Some(Typed::Free) => {
                open = true;
                if asks(&field.key, &field.value) {
                    return No::because("secret-asked", "a field of the form asks for a secret");
                }
            }
        }
    }
    secret_in_words(params, open)
}

/// Who is only offered choices can't give a secret away.
fn secret_in_words(params: &Node, open: bool) -> Result<(), No> {
    let message = params.member("message").and_then(Node::as_str).unwrap_or_default();
    if open && asks_for_secret(message, Place::Sentence) {
        return No::because("secret-asked", "the message asks for a secret");
    }
    Ok(())
}

/// What can be given for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Typed {
    /// Whatever somebody types.
    Free,
    /// One or some of what is offered.
    Choice,
}

/// What can be given for a field; nothing where it is no plain one.
fn kind(field: &Node) -> Option<Typed> {
    let alternatives = ["anyOf", "oneOf"].into_iter().find_map(|key| field.member(key));
    if let Some(alternatives) = alternatives {
        let mut found = Typed::Choice;
        for one in alternatives.items() {
            if one.member("const").is_none() && kind(one)? == Typed::Free {
                found = Typed::Free;
            }
        }
        return (!alternatives.items().is_empty()).then_some(found);
    }
    if field.member("$ref").is_some() || field.member("properties").is_some() || field.member("allOf").is_some() {
        return None;
    }
    if field.member("enum").is_some() || field.member("const").is_some() {
        return Some(Typed::Choice);
    }
    match field.member("type").and_then(Node::as_str)? {
        "boolean" | "null" => Some(Typed::Choice),
        "string" | "number" | "integer" => Some(Typed::Free),
        // Several of what is offered.
        "array" => kind(field.member("items")?).filter(|items| *items == Typed::Choice),
        _ => None,
    }
}

fn asks(name: &str, field: &Node) -> bool {
    let text = |key| field.member(key).and_then(Node::as_str).unwrap_or_default();
    text("format").eq_ignore_ascii_case("password")
        || asks_for_secret(name, Place::Label)
        || asks_for_secret(text("title"), Place::Label)
        || asks_for_secret(text("description"), Place::Sentence)
}
