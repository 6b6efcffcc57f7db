//! Gates that answer every request themselves and forward nothing.

use bytes::Bytes;
use serde_json::{Value, json};

use super::silent::swallow;
use crate::{
    gate::{Decision, Event, Gate, Passing, Ruling},
    protocol::{Direction, Id, Message, REFUSED, Revision, Shape, error_reply},
};

/// Refuses every request.
#[derive(Debug)]
pub(super) struct DenyAll;

impl Gate for DenyAll {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        answered(event, |id, _| error_reply(Some(id), REFUSED, "refused: everything is", None))
    }
}

/// Answers every request with a success that looks as it should.
#[derive(Debug)]
pub(super) struct CannedYes;

impl Gate for CannedYes {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        answered(event, |id, message| {
            let reply = json!({ "jsonrpc": "2.0", "id": Value::Null, "result": made_up(message) }).to_string();
            // The id keeps its spelling.
            reply.replacen("\"id\":null", &format!("\"id\":{}", id.to_json()), 1).into()
        })
    }
}

/// A result as the method has it; a call is answered with its own arguments, so
/// that a text which is looked for may well be there.
fn made_up(message: &Message) -> Value {
    match message.method().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": message
                .params()
                .and_then(|params| params.member("protocolVersion")?.as_str())
                .unwrap_or(Revision::DEFAULT.as_str()),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "canned", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [] }),
        "resources/list" => json!({ "resources": [] }),
        "resources/templates/list" => json!({ "resourceTemplates": [] }),
        "prompts/list" => json!({ "prompts": [] }),
        "tools/call" => {
            let params = message.params().map(|params| message.raw().slice(params.span.clone()));
            let said = params.map(|raw| String::from_utf8_lossy(&raw).into_owned()).unwrap_or_default();
            json!({ "content": [{ "type": "text", "text": format!("done: {said}") }], "isError": false })
        }
        _ => json!({}),
    }
}

/// Answers the client's requests with what `answer` makes of them; the rest is
/// swallowed, and servers start.
fn answered(event: &Event<'_>, answer: impl FnOnce(&Id, &Message) -> Bytes) -> Ruling {
    let Event::Passing(Passing { direction, message, .. }) = event else {
        return match event {
            Event::Head(_) | Event::Hop(_) => swallow(),
            _ => Ruling::forward(),
        };
    };
    match (direction, message.shape(), message.id()) {
        (Direction::Requestward, Shape::Request, Some(id)) => Ruling {
            decision: Decision::Refuse { reply: Some(answer(id, message)), status: None },
            ..Ruling::forward()
        },
        (Direction::Requestward, Shape::Batch, _) => Ruling { decision: Decision::Each, ..Ruling::forward() },
        _ => swallow(),
    }
}
