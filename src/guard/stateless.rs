//! What a message of 2026-07-28 says in its headers where it travels over HTTP.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{
    protocol::{Message, strict::Node},
    transport::Headers,
};

/// The key of the protocol version in `_meta`.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Whether a message brings its protocol version along, and belongs to no session.
pub(super) fn is_stateless(message: &Message) -> bool {
    message.method().is_some() && version(message).is_some()
}

/// The HTTP status that an answer of no session travels with.
pub(super) fn status(answer: &Message) -> u16 {
    let code = answer.error().and_then(|error| error.member("code")).and_then(Node::as_number);
    match code {
        Some("-32601") => 404,
        // A header, a capability or a version that doesn't do.
        Some("-32020" | "-32021" | "-32022") => 400,
        _ => 200,
    }
}

/// What every result of a list says that nobody may keep.
pub(super) const KEPT_BY_NOBODY: &str = r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#;

/// What a message of no session says of itself, as JSON, for another one that is
/// sent in its place: without what belongs to that one message.
pub(super) fn meta(message: &Message) -> Option<String> {
    const OWN: [&str; 3] =
        [VERSION, "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/clientInfo"];
    version(message)?;
    let meta = message.params()?.member("_meta")?;
    let kept = OWN.iter().filter_map(|key| {
        let value = std::str::from_utf8(&message.raw()[meta.member(key)?.span.clone()]).ok()?;
        Some(format!(r#""{key}":{value}"#))
    });
    Some(format!("{{{}}}", kept.collect::<Vec<_>>().join(",")))
}

fn version(message: &Message) -> Option<&str> {
    message.params()?.member("_meta")?.member(VERSION)?.as_str()
}

/// The headers that say what the body says, where the message brings its
/// protocol version along; none where it belongs to a session.
pub(super) fn headers(message: &Message) -> Headers {
    let params = message.params();
    let (Some(version), Some(method)) = (version(message), message.method()) else { return Headers::new() };
    let name = params.and_then(|params| params.member(if method == "resources/read" { "uri" } else { "name" }));
    let named = matches!(method, "tools/call" | "resources/read" | "prompts/get");
    let name = name.and_then(Node::as_str).filter(|_| named);
    [("mcp-protocol-version", Some(version)), ("mcp-method", Some(method)), ("mcp-name", name)]
        .into_iter()
        .filter_map(|(header, value)| Some((header.to_owned(), plain(value?))))
        .collect()
}

/// The value as it stands in a header: in base64 where it can't stand there as it is.
fn plain(text: &str) -> String {
    let stands = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text.trim() == text && !text.starts_with("=?");
    if stands { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &'static str) -> Vec<(String, String)> {
        headers(&Message::new(text))
    }

    #[test]
    fn headers_say_what_the_body_says() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let text = r#"{"id":1,"method":"tools/call","params":{"name":"öffne","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let all = [
            header("mcp-protocol-version", "2026-07-28"),
            header("mcp-method", "tools/call"),
            header("mcp-name", "=?base64?w7ZmZm5l?="),
        ];
        assert_eq!(of(text), all);
        let text = r#"{"id":1,"method":"tools/list","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        assert_eq!(of(text).len(), 2);
        assert_eq!(of(r#"{"id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}"#), []);
    }
}
