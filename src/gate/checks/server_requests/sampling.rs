//! Completions of the client's model: what they may cost, and what they may say.

use super::{Ask, No};
use crate::{
    gate::{
        IncludeContext,
        text::{Hit, is_quoted, scan_text},
    },
    protocol::strict::{Kind, Node},
};

/// Judges a request for a completion.
pub(super) fn judge(ask: &Ask<'_>) -> Result<(), No> {
    let policy = &ask.context.policy(ask.event).requests.sampling;
    ask.needs(&["sampling"])?;
    ask.needs_task(&["tasks", "requests", "sampling", "createMessage"])?;
    Ask::allowed(policy.allow)?;
    ask.waits(policy.max_in_flight)?;
    ask.counts(policy.max_requests, |asking| asking.sampled)?;
    if ask.asking.is_some_and(|asking| asking.sampled_bytes > policy.max_bytes) {
        return No::because("too-long", "the server's prompts are together longer than allowed");
    }
    let Some(params) = ask.params else { return No::because("max-tokens", "the request says nothing") };
    if params.member("tools").is_some() || params.member("toolChoice").is_some() {
        ask.needs(&["sampling", "tools"])?;
    }
    tokens(params, policy.max_tokens)?;
    context(ask, params, policy.context)?;
    if !policy.system_prompt && params.member("systemPrompt").is_some() {
        return No::because("system-prompt", "the server may not set a system prompt");
    }
    if policy.scan { orders(ask, params) } else { Ok(()) }
}

/// Every `maxTokens` there is, for a reader may take another one than the last.
fn tokens(params: &Node, most: u64) -> Result<(), No> {
    let fits = |node: &Node| {
        let number = node.as_number().and_then(|text| text.parse::<f64>().ok());
        #[expect(clippy::cast_precision_loss, reason = "caps are far below where doubles lose digits")]
        number.is_some_and(|number| number <= most as f64)
    };
    let mut given = params.members().iter().filter(|member| member.key == "maxTokens").peekable();
    if given.peek().is_none() || !given.all(|member| fits(&member.value)) {
        return No::because("max-tokens", "the request needs a `maxTokens` within the policy's cap");
    }
    Ok(())
}

fn context(ask: &Ask<'_>, params: &Node, most: IncludeContext) -> Result<(), No> {
    for wanted in params.members().iter().filter(|member| member.key == "includeContext") {
        let level = match wanted.value.as_str() {
            Some("none") => continue,
            Some("thisServer") => IncludeContext::ThisServer,
            Some("allServers") => IncludeContext::AllServers,
            _ => return No::because("context", "the request asks for context in no way that there is"),
        };
        if level > most {
            return No::because("context", "the request asks for more context than the policy allows");
        }
        // Before 2025-11-25 context came with sampling itself.
        if ask.has_contexts {
            ask.needs(&["sampling", "context"])?;
        }
    }
    Ok(())
}

/// Orders in any text of the request, but for what the client sent itself: a
/// server that is given a text to review quotes it.
fn orders(ask: &Ask<'_>, params: &Node) -> Result<(), No> {
    let mut own = Vec::new();
    #[expect(clippy::iter_over_hash_type, reason = "whose words they are makes no difference")]
    for request in ask.context.server(ask.event).in_flight.values() {
        if let Some(arguments) = request.request.params().and_then(|params| params.member("arguments")) {
            arguments.each_string(&mut |_, text| own.push(text));
        }
    }
    let except = &ask.context.policy(ask.event).scan.except;
    let mut found = false;
    each_text(params, &mut |text| {
        let foreign = |hit: &Hit| !except.iter().any(|rule| rule == hit.rule) && !is_quoted(text, hit, &own);
        let binds = || calls_a_tool(ask, text) && !own.contains(&text);
        found = found || scan_text(text).iter().any(foreign) || asks_for_the_session(text) || binds();
    });
    if found {
        return No::because("poisoned-prompt", "the prompt gives the model an order that is not the server's to give");
    }
    Ok(())
}

/// Every string but the bytes of pictures and sound.
fn each_text<'a>(node: &'a Node, visit: &mut dyn FnMut(&'a str)) {
    match &node.kind {
        Kind::String(text) => visit(text),
        Kind::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Kind::Object(members) => {
            let kind = node.member("type").and_then(Node::as_str);
            let is_media = matches!(kind, Some("image" | "audio"));
            for member in members.iter().filter(|member| !(is_media && member.key == "data")) {
                each_text(&member.value, visit);
            }
        }
        _ => {}
    }
}

/// Whether a text wants what the model was told before, which a prompt that comes
/// alone has no use for.
fn asks_for_the_session(text: &str) -> bool {
    static WANTS: std::sync::LazyLock<Option<regex::Regex>> = std::sync::LazyLock::new(|| {
        let verbs = "repeat|print|show|output|reveal|recite|quote|reproduce|dump|copy|list|write out|tell me|give me|\
                     state|disclose|return|include";
        let whose = "your|the assistant's|the host's|the client's|the user's";
        let what = "(?:system|developer|hidden|initial|original) (?:prompt|message|instructions?)|\
                    (?:earlier|previous|prior|other|whole|entire|full) (?:conversation|chat|instructions)|\
                    conversation with the user|instructions (?:above|before|so far)|\
                    (?:everything|all|anything) (?:above|before) this";
        let pattern =
            format!(r"(?i)\b(?:{verbs})\b[^.!?\n]{{0,40}}?\b(?:(?:{whose})\b[^.!?\n]{{0,20}}?)?\b(?:{what})\b");
        regex::Regex::new(&pattern).ok()
    });
    WANTS.as_ref().is_none_or(|wants| wants.is_match(text))
}

/// Whether a text orders the call of a tool of the session by its name: a
/// completion that brings no tools has none to call.
fn calls_a_tool(ask: &Ask<'_>, text: &str) -> bool {
    const ORDERS: [&str; 6] = ["call", "invoke", "run", "execute", "use", "trigger"];
    let is_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let words: Vec<&str> = text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
    let ordered = |at: usize| {
        words[at.saturating_sub(3)..at].iter().any(|word| ORDERS.iter().any(|order| order.eq_ignore_ascii_case(word)))
    };
    let named_as_tool = |at: usize| {
        let near = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| words.get(at));
        near.into_iter().any(|word| matches!(word.trim_end_matches('.'), "tool" | "function"))
    };
    words.iter().enumerate().any(|(at, word)| {
        let word = word.trim_matches(|c| "./-".contains(c));
        let distinct = word.contains(['_', '-', '.']) || named_as_tool(at);
        distinct && ordered(at) && ask.context.facts.tools().any(|tool| tool == word)
    })
}
