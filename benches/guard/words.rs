//! The messages of both sides.

/// Opens a session.
pub(crate) const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
/// Says that it is open.
pub(crate) const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// Asks what there is.
pub(crate) const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// A call that no other is like.
pub(crate) fn call(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"find","arguments":{{"number":{id}}}}}}}"#
    )
}

/// Whether this answers the call.
pub(crate) fn answers(reply: &str, id: usize) -> bool {
    reply.contains(&format!("record {id} is"))
}

/// What the server says to a message; nothing to one that asks for nothing.
pub(crate) fn reply(asked: &str) -> Option<String> {
    let id = asked.split_once(r#""id":"#)?.1.split([',', '}']).next()?;
    let result = if asked.contains(r#""tools/call""#) {
        format!(
            r#"{{"content":[{{"type":"text","text":"record {id} is on the second shelf, between the atlas and the lamp"}}]}}"#
        )
    } else if asked.contains(r#""tools/list""#) {
        r#"{"tools":[{"name":"find","description":"Finds a record by its number.","inputSchema":{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"]}}]}"#.to_owned()
    } else {
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shelf","version":"1"}}"#
            .to_owned()
    };
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}
