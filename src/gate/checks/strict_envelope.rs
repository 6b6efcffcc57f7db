//! `strict-envelope`: every reader takes a message for the same message.

use super::{super::check, CheckId};
use crate::{
    gate::{
        Check, Context, Docs, Event, Passing, Proposals,
        envelope::{self, Flaw, FlawKind},
    },
    protocol::{
        Direction, HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, Id, Message, Mirror, PARSE_ERROR, Revision, Shape,
        stands_for,
        strict::{Kind, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct StrictEnvelope;

static DOCS: Docs = Docs {
    id: CheckId::new("strict-envelope"),
    summary: "messages that two readers take for different ones: keys twice or in disguise, batches, bad ids, headers \
              that differ from the body",
    leg: "both, discovery",
    what: "Judges the JSON as it was sent. In objects whose members the protocol names (the message, the params and \
           results of known methods, errors, content blocks, definitions) no key may stand twice, and none may look \
           like one of the protocol's without being it: in another case, full width, with something invisible in it. \
           Requests need a method and an id that is a string or a whole number; methods that are requests need one, \
           notifications have none. Text that is not JSON, and JSON that is no message, is refused. So is a batch, \
           but in a session that was opened in 2025-03-26, the one revision that has batches: there one of at least \
           one and at most `envelope.max_batch` (256) messages is taken apart, and each message judged as if it came \
           alone; one that opens a session, or is a batch itself, is refused. \
           Where `Mcp-Method` and `Mcp-Name` are sent they must say \
           once what the body says; in the stateless era they must be sent, and so must the `Mcp-Param` headers that a \
           listed tool wants. A \
           definition that can be read in two ways, or whose `x-mcp-header` names could not stand in a request, is \
           withheld and its tool can't be called. A listing's or a resource's `ttlMs` and `cacheScope` are brought \
           to what the policy allows: more than `envelope.max_ttl_ms` (a day) becomes that, what is no number of \
           milliseconds becomes 0, what is neither public nor private becomes private.",
    why: "A gate that reads one key and a server that reads the other never spoke of the same call.",
    misses: "Keys in disguise where others say what a key means: inside arguments, structured results, vendors' \
             metadata and the properties of schemas. `Mcp-Param` headers of a tool that was never listed. What a server \
             does with an unknown member. What is refused of a batch is told with the server's first answer to the rest \
             of it.",
    example: r#"{"name":"read_messages","Name":"post_message","arguments":{}} as the params of a call"#,
    source: "T01 to T05, D22, S09; go-sdk#805, docker/mcp-gateway#414, stacklok/toolhive#5745; RFC 8259 section 4; \
             protocol rules 2, 7, 9, 11, 76 to 87",
    rules: &[
        ("no-message", "text of the client that is not JSON, or JSON that is no message"),
        ("batch", "several messages in one, or one in an array, where the session has no batches"),
        ("odd-batch", "a batch that is empty, too long, in a batch, or opens a session"),
        ("version", "the `jsonrpc` of the client's message is not exactly \"2.0\""),
        ("bad-id", "a request whose id is neither a string nor a whole number"),
        ("missing-id", "a request without an id, or a notification with one"),
        ("bad-params", "the params of a known method are neither an object nor absent"),
        ("duplicate-key", "a key of an object that the protocol owns stands twice"),
        ("look-alike-key", "a key, or a method, that only looks like one of the protocol's"),
        ("header-mismatch", "a routing header stands twice, differs from the body, or is missing where it must be"),
        ("doubtful-definition", "a definition that can be read in two ways is withheld"),
        ("doubtful-call", "a call of a tool whose definition was withheld is refused"),
        ("cache-hint", "how long, or for whom, a client may keep a result is brought to what the policy allows"),
    ],
};

impl Check for StrictEnvelope {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Event::Passing(passing @ Passing { direction, message, headers, .. }) = event else { return };
        if message.shape() == Shape::Batch {
            return batch(context, event, passing, proposals);
        }
        match direction {
            Direction::Requestward if passing.batched && message.method() == Some("initialize") => {
                proposals.refuse_as(INVALID_REQUEST, "odd-batch", "a session is not opened in a batch");
            }
            Direction::Requestward => {
                requestward(message, *headers, proposals);
                if let (Some((_, Some(name))), Some(headers)) = (check::call(event), headers)
                    && let Some(tool) = context.server(event).tools.get(name)
                    && differ(message, tool.input_schema.as_deref().unwrap_or_default(), headers)
                {
                    let why = "an `Mcp-Param` header does not say what the arguments say";
                    proposals.refuse_as_with_status(HEADER_MISMATCH, 400, "header-mismatch", why);
                }
                if let Some((_, Some(name))) = check::call(event)
                    && let Some(doubt) = context.server(event).tools.get(name).and_then(|tool| tool.doubt)
                {
                    proposals.refuse("doubtful-call", format!("the tool's definition was withheld: {doubt}"));
                }
            }
            Direction::Replyward => replyward(context, event, message, proposals),
        }
    }
}

/// Judges a batch as a whole; what it holds comes one by one.
fn batch(context: &Context<'_>, event: &Event<'_>, passing: &Passing<'_>, proposals: &mut Proposals) {
    let session = context.server(event).negotiated.as_deref().and_then(|version| version.parse::<Revision>().ok());
    let (rule, why) = match passing.message.parts().len() {
        _ if !session.is_some_and(Revision::has_batches) => ("batch", "the session has no batches"),
        _ if passing.batched => ("odd-batch", "a batch holds no batch"),
        0 => ("odd-batch", "the batch is empty"),
        count if count > context.policy(event).envelope.max_batch => {
            ("odd-batch", "the batch holds more messages than the policy allows")
        }
        _ => return,
    };
    match passing.direction {
        Direction::Requestward => proposals.refuse_as(INVALID_REQUEST, rule, why),
        Direction::Replyward => check::refuse_for_the_one_waiting(context, event, proposals, rule, why),
    }
}

fn requestward(message: &Message, headers: Option<&[(String, String)]>, proposals: &mut Proposals) {
    let mut refuse = |rule, why: &str| proposals.refuse_as(INVALID_REQUEST, rule, why);
    match message.shape() {
        // An HTTP GET or DELETE carries no message.
        Shape::Broken if message.raw().is_empty() => return,
        Shape::Broken => return proposals.refuse_as(PARSE_ERROR, "no-message", "the text is not JSON"),
        Shape::Batch => return,
        Shape::Other => return refuse("no-message", "the text is no JSON-RPC message"),
        Shape::Request | Shape::Notification | Shape::Response => {}
    }
    if !check::is_jsonrpc_2(message) {
        return refuse("version", "the message's `jsonrpc` is not \"2.0\"");
    }
    if let Some(flaw) = envelope::flaw(message, None) {
        return refuse(rule_of(&flaw), &flaw.words("the client"));
    }
    let Some(method) = message.method() else { return };
    if envelope::is_disguised_method(method) {
        return refuse("look-alike-key", "the method only looks like one of the protocol's");
    }
    let is_notice = method.starts_with("notifications/");
    match message.shape() {
        Shape::Request if !message.id().is_some_and(is_plain_id) => {
            return refuse("bad-id", "the request's id is neither a string nor a whole number");
        }
        Shape::Request if is_notice => return refuse("missing-id", "a notification has no id"),
        Shape::Notification if !is_notice && envelope::is_known_method(method) => {
            return refuse("missing-id", "a request needs an id");
        }
        _ => {}
    }
    if envelope::is_known_method(method) && !message.params().is_none_or(are_params) {
        return proposals.refuse_as(INVALID_PARAMS, "bad-params", "the params are not an object");
    }
    if let Some(why) = headers.and_then(|headers| mismatch(message, method, headers)) {
        proposals.refuse_as_with_status(HEADER_MISMATCH, 400, "header-mismatch", why);
    }
}

fn rule_of(flaw: &Flaw) -> &'static str {
    match flaw.kind {
        FlawKind::Twice => "duplicate-key",
        FlawKind::LooksAlike => "look-alike-key",
    }
}

/// Ids of MCP: a string, or a whole number in its one spelling.
fn is_plain_id(id: &Id) -> bool {
    match id {
        Id::String(_) => true,
        Id::Number(text) => text != "-0" && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'),
        Id::Null => false,
    }
}

/// Careless clients send null, or an empty array, for no params at all.
fn are_params(params: &Node) -> bool {
    match &params.kind {
        Kind::Object(_) | Kind::Null => true,
        Kind::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// How the routing headers differ from the body, if they do.
fn mismatch(message: &Message, method: &str, headers: &[(String, String)]) -> Option<&'static str> {
    let differs = |header: &str, wanted: Option<&str>| {
        // Servers behind CGI and its heirs read `mcp_name` as `mcp-name`.
        let is_it = |name: &str| name == header || name.replace('_', "-") == header;
        let mut values = headers.iter().filter(|(name, _)| is_it(name)).map(|(_, value)| value);
        let Some(first) = values.next() else { return message.is_stateless() && wanted.is_some() };
        values.next().is_some() || !wanted.is_some_and(|wanted| stands_for(first, wanted))
    };
    if differs("mcp-method", Some(method)) {
        return Some("the `Mcp-Method` header is not the body's method");
    }
    differs("mcp-name", message.target()).then_some("the `Mcp-Name` header does not name what the body names")
}

/// Whether the headers that a tool wants for its arguments say otherwise than these
/// do. Headers that it doesn't know are somebody else's.
fn differ(message: &Message, schema: &str, headers: &[(String, String)]) -> bool {
    let arguments = message.params().and_then(|params| params.member("arguments"));
    Mirror::in_text(schema).iter().any(|mirror| {
        let is_it = |name: &str| name == mirror.header || name.replace('_', "-") == mirror.header.replace('_', "-");
        let mut said = headers.iter().filter(|(name, _)| is_it(name)).map(|(_, value)| value.as_str());
        match (said.next(), mirror.value(arguments)) {
            (None, None) => false,
            // Who speaks an older version doesn't know of it.
            (None, Some(_)) => message.is_stateless(),
            (Some(_), None) => true,
            (Some(value), Some(text)) => {
                said.next().is_some() || !(stands_for(value, &text) || is_number(value, &text))
            }
        }
    })
}

/// Whether a number in a header is the one in the body, however both are spelled.
fn is_number(value: &str, text: &str) -> bool {
    /// From here on, two whole numbers may be one double.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let read = |text: &str| text.parse::<f64>().ok().filter(|number| number.abs() < EXACT);
    read(value).zip(read(text)).is_some_and(|(a, b)| a.to_bits() == b.to_bits())
}

fn replyward(context: &Context<'_>, event: &Event<'_>, message: &Message, proposals: &mut Proposals) {
    let answers = context.answered.map(|request| request.method.as_str());
    match message.shape() {
        // What is no message is for `reply-correlation` to drop.
        Shape::Broken | Shape::Other | Shape::Batch => return,
        Shape::Request if !message.id().is_some_and(is_plain_id) => {
            return proposals
                .discard("bad-id", "the id of the server's request is neither a string nor a whole number");
        }
        Shape::Request | Shape::Notification | Shape::Response => {}
    }
    if let Some(flaw) = envelope::flaw(message, answers) {
        let (rule, why) = (rule_of(&flaw), flaw.words("the server"));
        return match (answers, message.shape()) {
            (Some(_), _) => proposals.refuse(rule, why),
            (None, Shape::Response) => check::refuse_orphan(context, event, message, proposals, rule, &why),
            (None, _) => proposals.discard(rule, why),
        };
    }
    for (index, item) in context.listing.iter().flat_map(|listing| &listing.items).enumerate() {
        if let Some(doubt) = item.doubt {
            proposals.withhold(index, "doubtful-definition", format!("the definition can't be relied on: {doubt}"));
        }
    }
    if let Some((answers, result)) = answers.zip(message.result()) {
        cache_hints(answers, result, context.policy(event).envelope.max_ttl_ms, proposals);
    }
}

/// Brings what a server says of keeping its result to what the policy allows.
/// Absent and null members stay as they are: then nothing is kept.
fn cache_hints(answers: &str, result: &Node, longest: u64, proposals: &mut Proposals) {
    let is_kept = answers.ends_with("/list") || matches!(answers, "resources/read" | "server/discover");
    if !is_kept {
        return;
    }
    for member in result.members().iter().filter(|member| !matches!(member.value.kind, Kind::Null)) {
        let (value, span) = (&member.value, member.value.span.clone());
        match member.key.as_str() {
            "ttlMs" => match value.as_number().and_then(milliseconds) {
                None => {
                    let why = "how long the result may be kept is no number of milliseconds";
                    proposals.splice(span, "0".to_owned(), "cache-hint", why);
                }
                Some(asked) if asked > longest => {
                    let why = "the server would have its result kept longer than the policy allows";
                    proposals.splice(span, longest.to_string(), "cache-hint", why);
                }
                Some(_) => {}
            },
            "cacheScope" if !matches!(value.as_str(), Some("public" | "private")) => {
                let why = "for whom the result may be kept is neither public nor private";
                proposals.splice(span, "\"private\"".to_owned(), "cache-hint", why);
            }
            _ => {}
        }
    }
}

/// A number as spelled, as milliseconds: whole and not negative, however large.
fn milliseconds(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().unwrap_or(u64::MAX));
    }
    let (whole, fraction) = text.split_once('.')?;
    fraction.bytes().all(|byte| byte == b'0').then(|| milliseconds(whole)).flatten()
}

#[cfg(test)]
mod tests;
