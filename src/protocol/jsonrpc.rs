//! A JSON-RPC message: the raw text, and what it says.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;

use super::strict::{self, Document, Kind, Node, SyntaxError};

/// A request id with its type: `1` and `"1"` are different ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// A number as spelled.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// `null`: legal JSON-RPC, never a legal MCP request id.
    Null,
}

impl Id {
    /// The id that a JSON value spells, if it may stand as an id at all.
    pub fn of(node: &Node) -> Option<Self> {
        match &node.kind {
            Kind::Number(text) => Some(Self::Number(text.clone())),
            Kind::String(text) => Some(Self::String(text.clone())),
            Kind::Null => Some(Self::Null),
            _ => None,
        }
    }

    /// The id as JSON.
    pub fn to_json(&self) -> String {
        match self {
            Self::Number(text) => text.clone(),
            Self::String(text) => serde_json::Value::from(text.as_str()).to_string(),
            Self::Null => "null".to_owned(),
        }
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self::Number(number.to_string())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

/// What kind of message a text is, told by its members alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `method` and `id`.
    Request,
    /// `method` without `id`.
    Notification,
    /// `result` or `error`, or both, without `method`.
    Response,
    /// An array of messages.
    Batch,
    /// JSON, but none of these.
    Other,
    /// Not JSON.
    Broken,
}

/// The parsed view of one message.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// What kind of message it is.
    pub shape: Shape,
    /// Its id, where it has one that may stand as an id.
    pub id: Option<Id>,
    /// Its method, where it has one.
    pub method: Option<String>,
}

/// One message: raw bytes, and a view of them that is made once, when somebody
/// first asks. Clones share it.
///
/// A message is never an error: whatever crosses a leg can be held, classified
/// and forwarded byte for byte.
#[derive(Clone, Debug)]
pub struct Message(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    raw: Bytes,
    view: OnceLock<View>,
    parts: OnceLock<Vec<Message>>,
}

#[derive(Debug)]
struct View {
    parsed: Result<Document, SyntaxError>,
    envelope: Envelope,
}

impl Message {
    /// Holds `raw`.
    pub fn new(raw: impl Into<Bytes>) -> Self {
        Self(Arc::new(Inner { raw: raw.into(), view: OnceLock::new(), parts: OnceLock::new() }))
    }

    fn view(&self) -> &View {
        self.0.view.get_or_init(|| {
            let parsed = strict::parse(&self.0.raw);
            let envelope = match &parsed {
                Ok(document) => classify(&document.root),
                Err(_) => Envelope { shape: Shape::Broken, id: None, method: None },
            };
            View { parsed, envelope }
        })
    }

    /// The bytes as they crossed the wire.
    pub fn raw(&self) -> &Bytes {
        &self.0.raw
    }

    /// The bytes as text, for people.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0.raw)
    }

    /// The document.
    ///
    /// # Errors
    /// Where the bytes are not JSON.
    pub fn document(&self) -> Result<&Document, &SyntaxError> {
        self.view().parsed.as_ref()
    }

    /// The outermost value, where the bytes are JSON.
    pub fn root(&self) -> Option<&Node> {
        self.view().parsed.as_ref().ok().map(|document| &document.root)
    }

    /// What kind of message it is.
    pub fn shape(&self) -> Shape {
        self.view().envelope.shape
    }

    /// Its id, where it has one.
    pub fn id(&self) -> Option<&Id> {
        self.view().envelope.id.as_ref()
    }

    /// Its method, where it has one.
    pub fn method(&self) -> Option<&str> {
        self.view().envelope.method.as_deref()
    }

    /// What a batch holds, each with its own bytes; nothing for any other message.
    pub fn parts(&self) -> &[Self] {
        self.0.parts.get_or_init(|| {
            // Most messages are none, and need not be read for that.
            if self.0.raw.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'[') {
                return Vec::new();
            }
            let items = self.root().map(Node::items).unwrap_or_default();
            items.iter().map(|item| Self::new(self.0.raw.slice(item.span.clone()))).collect()
        })
    }

    /// Every message in it: those of a batch, however deep they lie, or itself.
    pub fn each(&self) -> Vec<&Self> {
        match self.parts() {
            [] => vec![self],
            parts => parts.iter().flat_map(Self::each).collect(),
        }
    }

    /// The value under `params`.
    pub fn params(&self) -> Option<&Node> {
        self.root()?.member("params")
    }

    /// The value under `result`.
    pub fn result(&self) -> Option<&Node> {
        self.root()?.member("result")
    }

    /// The value under `error`.
    pub fn error(&self) -> Option<&Node> {
        self.root()?.member("error")
    }

    /// `params.name` of a `tools/call`, where it is a string.
    pub fn called_tool(&self) -> Option<&str> {
        if self.method() != Some("tools/call") {
            return None;
        }
        self.params()?.member("name")?.as_str()
    }

    /// The id of a reply that is damaged behind it: of text that begins as a message,
    /// with an id and no method, and is not JSON.
    pub fn damaged_id(&self) -> Option<Id> {
        if self.shape() != Shape::Broken {
            return None;
        }
        let members = strict::beginning(self.raw());
        let stands = |key: &str| members.iter().any(|member| member.key == key);
        let id = members.iter().find(|member| member.key == "id").and_then(|member| Id::of(&member.value));
        id.filter(|_| stands("jsonrpc") && !stands("method"))
    }

    /// Whether this is a request or a notification.
    pub fn is_call(&self) -> bool {
        matches!(self.shape(), Shape::Request | Shape::Notification)
    }
}

fn classify(root: &Node) -> Envelope {
    if matches!(root.kind, Kind::Array(_)) {
        return Envelope { shape: Shape::Batch, id: None, method: None };
    }
    let id = root.member("id");
    let method = root.member("method").and_then(Node::as_str).map(str::to_owned);
    let answered = root.member("result").is_some() || root.member("error").is_some();
    let shape = match (&method, id) {
        (Some(_), Some(_)) => Shape::Request,
        (Some(_), None) => Shape::Notification,
        (None, _) if answered => Shape::Response,
        (None, _) => Shape::Other,
    };
    Envelope { shape, id: id.and_then(Id::of), method }
}

/// A JSON-RPC error reply, as raw text.
pub fn error_reply(id: Option<&Id>, code: i64, message: &str, data: Option<&serde_json::Value>) -> Bytes {
    let id = id.map_or_else(|| "null".to_owned(), Id::to_json);
    let message = serde_json::Value::from(message);
    let data = data.map(|data| format!(",\"data\":{data}")).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}{data}}}}}"#).into()
}

/// Messages as one batch, each with its own bytes.
pub fn batch(messages: &[Bytes]) -> Bytes {
    [b"[", &messages.join(&b","[..])[..], b"]"].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_holds_its_messages_byte_for_byte() {
        let text = "\n [ {\"id\" : 1.0,\"method\":\"ping\"},7 ,[{\"id\":2},[]] ]";
        let message = Message::new(text);
        let parts: Vec<_> = message.parts().iter().map(Message::text).collect();
        assert_eq!(parts, ["{\"id\" : 1.0,\"method\":\"ping\"}", "7", "[{\"id\":2},[]]"]);
        let each: Vec<_> = message.each().into_iter().map(Message::text).collect();
        assert_eq!(each, ["{\"id\" : 1.0,\"method\":\"ping\"}", "7", "{\"id\":2}", "[]"]);
        assert_eq!(message.parts()[0].shape(), Shape::Request);
        for single in ["{\"id\":1}", "[]", "[1", "noise", ""] {
            assert!(Message::new(single).parts().is_empty());
            assert_eq!(Message::new(single).each().len(), 1);
        }
        let raw: Vec<_> = message.parts().iter().map(|part| part.raw().clone()).collect();
        assert_eq!(Message::new(batch(&raw)).parts().len(), 3);
    }

    fn shape(text: &'static str) -> Shape {
        Message::new(text).shape()
    }

    #[test]
    fn shapes() {
        assert_eq!(shape(r#"{"id":1,"method":"ping"}"#), Shape::Request);
        assert_eq!(shape(r#"{"id":null,"method":"ping"}"#), Shape::Request);
        assert_eq!(shape(r#"{"method":"x"}"#), Shape::Notification);
        assert_eq!(shape(r#"{"id":1,"result":{}}"#), Shape::Response);
        assert_eq!(shape(r#"{"id":1,"result":{},"error":{}}"#), Shape::Response);
        assert_eq!(shape(r#" [ {"id":1,"method":"ping"} ]"#), Shape::Batch);
        assert_eq!(shape("{}"), Shape::Other);
        assert_eq!(shape("Server started"), Shape::Broken);
    }

    #[test]
    fn ids_keep_value_and_type() {
        let id = |text: &'static str| Message::new(text).id().cloned();
        assert_eq!(id(r#"{"id":0,"result":{}}"#), Some(Id::Number("0".into())));
        assert_eq!(id(r#"{"id":"0","result":{}}"#), Some(Id::String("0".into())));
        assert_eq!(id(r#"{"id":null,"result":{}}"#), Some(Id::Null));
        assert_eq!(id(r#"{"id":[1],"result":{}}"#), None);
        assert_ne!(Id::from(1), Id::String("1".into()));
    }

    #[test]
    fn a_damaged_reply_still_says_what_it_answers() {
        let id = |text: &[u8]| Message::new(text.to_vec()).damaged_id();
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":7,"result":{"a"#), Some(Id::from(7)));
        assert_eq!(id(b"{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":\"\xff\"}"), Some(Id::String("7".into())));
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":7,"result":{}}{"id":8}"#), Some(Id::from(7)));
        // The number may go on where the text ends.
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":7"#), None);
        for other in [
            &br#"{"jsonrpc":"2.0","id":7,"result":{}}"#[..],
            br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"#,
            br#"{"level":"info","id":7,"#,
            br#"{"jsonrpc":"2.0","result":{"a":,"id":7}"#,
            br#"[{"jsonrpc":"2.0","id":7,"#,
            b"Server started",
        ] {
            assert_eq!(id(other), None, "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn error_replies_are_json() {
        let raw = error_reply(Some(&Id::String("a\"b".into())), REFUSED, "no \"x\"", None);
        let reply = Message::new(raw);
        assert_eq!(reply.id(), Some(&Id::String("a\"b".into())));
        assert_eq!(reply.error().unwrap().member("message").unwrap().as_str(), Some("no \"x\""));
    }

    use super::super::REFUSED;
}
