//! What a server of the stateless era does otherwise.

use bytes::Bytes;
use serde_json::{Value, json};

use super::Prototype;
use crate::protocol::{
    Era, INVALID_PARAMS, Id, METHOD_NOT_FOUND, MISSING_CAPABILITY, Message, Splice, UNSUPPORTED_VERSION, apply_splices,
    meta, stands_for,
    strict::{Kind, Node},
};

/// Methods that the era does not have any more.
const GONE: [&str; 5] = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Why a request can't be served: the error's code, words and data.
pub(super) fn problem(message: &Message, server: &Prototype) -> Option<(i64, String, Option<Value>)> {
    let spoken = || server.speaks.iter().rev().map(|revision| revision.as_str());
    let supported = || json!({ "supported": spoken().collect::<Vec<_>>() });
    let method = message.method().unwrap_or_default();
    if !message.is_stateless() && method == "initialize" {
        return Some((METHOD_NOT_FOUND, "this server opens no sessions".to_owned(), Some(supported())));
    }
    let Some(version) = message.in_meta(meta::VERSION).last().and_then(Node::as_str) else {
        return Some((INVALID_PARAMS, format!("the request's _meta lacks {}", meta::VERSION), None));
    };
    let capabilities = message.in_meta(meta::CAPABILITIES).last();
    if !capabilities.is_some_and(|node| matches!(node.kind, Kind::Object(_))) {
        return Some((INVALID_PARAMS, format!("the request's _meta lacks {}", meta::CAPABILITIES), None));
    }
    if !spoken().any(|known| known == version) || Era::of(version) != Era::Stateless {
        let mut data = supported();
        data["requested"] = version.into();
        return Some((UNSUPPORTED_VERSION, "unsupported protocol version".to_owned(), Some(data)));
    }
    GONE.contains(&method).then(|| (METHOD_NOT_FOUND, "method not found".to_owned(), None))
}

/// The first message on the stream that a `subscriptions/listen` opens.
pub(super) fn acknowledged(id: &Id, request: &Message) -> Bytes {
    let wanted = request.params().and_then(|params| params.member("notifications"));
    let wanted = wanted.map_or("{}".into(), |node| String::from_utf8_lossy(&request.raw()[node.span.clone()]));
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"{}":{id}}},"notifications":{wanted}}}}}"#,
        meta::SUBSCRIPTION
    )
    .into()
}

/// What is missing of the capabilities that a request needs, as an error's data.
/// Requests of the other era declared theirs when the session opened.
pub(super) fn undeclared(message: &Message, wanted: &Value) -> Option<Value> {
    fn has(given: Option<&Node>, wanted: &Value) -> bool {
        let Some(given) = given else { return false };
        wanted.as_object().is_none_or(|wanted| wanted.iter().all(|(key, inner)| has(given.member(key), inner)))
    }
    let given = message.in_meta(meta::CAPABILITIES).last();
    (message.is_stateless() && !has(given, wanted)).then(|| json!({ "requiredCapabilities": wanted }))
}

/// A reply with what the era adds to every result, and the status that it travels
/// with on HTTP.
pub(super) fn finished(method: &str, reply: Bytes) -> (Bytes, Option<u16>) {
    let message = Message::new(reply.clone());
    let code = message.error().and_then(|error| error.member("code")).and_then(Node::as_number);
    let status = match code.and_then(|code| code.parse().ok()) {
        Some(METHOD_NOT_FOUND) => Some(404),
        Some(MISSING_CAPABILITY) => Some(400),
        _ => None,
    };
    let Some(result) = message.result().filter(|result| matches!(result.kind, Kind::Object(_))) else {
        return (reply, status);
    };
    let is_kept = method.ends_with("/list") || matches!(method, "resources/read" | "server/discover");
    let own = [("resultType", r#""complete""#), ("ttlMs", "0"), ("cacheScope", r#""private""#)];
    let own = own.iter().take(if is_kept { 3 } else { 1 }).filter(|(key, _)| result.member(key).is_none());
    let own: Vec<_> = own.map(|(key, value)| format!(r#""{key}":{value}"#)).collect();
    let comma = if result.members().is_empty() || own.is_empty() { "" } else { "," };
    let at = result.span.start + 1;
    (apply_splices(&reply, &[Splice { span: at..at, with: own.join(",") + comma }]), status)
}

/// How the headers of a request differ from its body, or what they lack.
pub(super) fn mismatch(message: &Message, headers: &[(String, String)]) -> Option<&'static str> {
    let said = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    if said("mcp-protocol-version") != message.in_meta(meta::VERSION).last().and_then(Node::as_str) {
        return Some("the MCP-Protocol-Version header is not the request's version");
    }
    if said("mcp-method") != message.method() {
        return Some("the Mcp-Method header is not the request's method");
    }
    let named = meta::IN_ROUNDS.contains(&message.method().unwrap_or_default());
    let fits = message.target().is_some_and(|target| said("mcp-name").is_some_and(|said| stands_for(said, target)));
    (named && !fits).then_some("the Mcp-Name header does not name what the request names")
}
