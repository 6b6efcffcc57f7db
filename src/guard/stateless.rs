//! Requests of 2026-07-28, which belong to no session and say of themselves what
//! one would know.

use crate::protocol::{
    HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CAPABILITY, Message, UNSUPPORTED_VERSION, meta, strict::Node,
};

/// The HTTP status that an answer of no session travels with.
pub(super) fn status(answer: &Message) -> u16 {
    let code = answer.error().and_then(|error| error.member("code")).and_then(Node::as_number);
    match code.and_then(|code| code.parse().ok()) {
        Some(METHOD_NOT_FOUND) => 404,
        Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) => 400,
        _ => 200,
    }
}

/// What every result of a list says that nobody may keep.
pub(super) const KEPT_BY_NOBODY: &str = r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#;

/// What a message of no session says of itself, as JSON, for another one that is
/// sent in its place: without what belongs to that one message.
pub(super) fn own_meta(message: &Message) -> Option<String> {
    message.own_version()?;
    let kept = [meta::VERSION, meta::CAPABILITIES, meta::CLIENT_INFO].into_iter().filter_map(|key| {
        let value = message.in_meta(key).next()?;
        let value = std::str::from_utf8(&message.raw()[value.span.clone()]).ok()?;
        Some(format!(r#""{key}":{value}"#))
    });
    Some(format!("{{{}}}", kept.collect::<Vec<_>>().join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_in_the_place_of_another_is_said_of_the_same_client() {
        let text = r#"{"id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1,"io.modelcontextprotocol/clientCapabilities":{"a": 1},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let own = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"a": 1}}"#;
        assert_eq!(own_meta(&Message::new(text)).as_deref(), Some(own));
        assert_eq!(own_meta(&Message::new(r#"{"id":1,"method":"x","params":{"_meta":{"progressToken":1}}}"#)), None);
    }

    #[test]
    fn some_errors_have_a_status_of_their_own() {
        let of = |code: i64| status(&Message::new(format!(r#"{{"id":1,"error":{{"code":{code},"message":"no"}}}}"#)));
        assert_eq!([-32601, -32020, -32021, -32022, -32602].map(of), [404, 400, 400, 400, 200]);
    }
}
