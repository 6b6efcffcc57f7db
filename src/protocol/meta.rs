//! What every request of the stateless era says of itself, in `params._meta`.

use bytes::Bytes;

use super::{
    Message, Splice, apply_splices,
    strict::{Kind, Member, Node},
};

/// The version that a request is spoken in.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client can do, for this request.
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Who the client says that it is.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The `subscriptions/listen` that a notification is for.
pub const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The requests that may be answered in several rounds.
pub const IN_ROUNDS: [&str; 3] = ["tools/call", "resources/read", "prompts/get"];

/// The methods whose reply says who the server is and how it is to be used.
pub fn is_opening(method: &str) -> bool {
    matches!(method, "initialize" | "server/discover")
}

/// Every value under `key`, where it stands more than once.
fn each<'a>(node: &'a Node, key: &'a str) -> impl Iterator<Item = &'a Node> {
    node.members().iter().filter(move |member| member.key == key).map(|member| &member.value)
}

impl Message {
    /// Every value under `key` in the `_meta` of its params: more than one where a
    /// key stands twice, on whatever level.
    pub fn in_meta<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Node> {
        let params = self.root().into_iter().flat_map(|root| each(root, "params"));
        params.flat_map(|params| each(params, "_meta")).flat_map(move |meta| each(meta, key))
    }

    /// Whether it is spoken in the stateless era, which is told by what its `_meta`
    /// says of itself, and by nothing that came before.
    pub fn is_stateless(&self) -> bool {
        [VERSION, CAPABILITIES].into_iter().any(|key| self.in_meta(key).next().is_some())
    }

    /// The version that it is spoken in, where it says so exactly once and in a string.
    pub fn own_version(&self) -> Option<&str> {
        let mut said = self.in_meta(VERSION);
        said.next().filter(|_| said.next().is_none()).and_then(Node::as_str)
    }

    /// What it names beside its method: a tool, a prompt or a resource.
    pub fn target(&self) -> Option<&str> {
        let key = match self.method()? {
            "tools/call" | "prompts/get" => "name",
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
            _ => return None,
        };
        self.params()?.member(key)?.as_str()
    }

    /// The message with `members` (of a JSON object, without its braces) put first
    /// into the `_meta` of its params, and every other byte as it was. One whose
    /// params can't hold any is left as it is.
    pub fn with_meta(&self, members: &str) -> Bytes {
        let mut splices = Vec::new();
        let mut put = |at: usize, with: String| splices.push(Splice { span: at..at, with });
        let comma = |members: &[Member]| if members.is_empty() { "" } else { "," };
        let Some(root) = self.root().filter(|root| !root.members().is_empty()) else { return self.raw().clone() };
        let mut params = each(root, "params").peekable();
        if params.peek().is_none() {
            put(root.span.end - 1, format!(r#","params":{{"_meta":{{{members}}}}}"#));
        }
        for params in params.filter(|params| matches!(params.kind, Kind::Object(_))) {
            let mut metas = each(params, "_meta").peekable();
            if metas.peek().is_none() {
                let more = comma(params.members());
                put(params.span.start + 1, format!(r#""_meta":{{{members}}}{more}"#));
            }
            for meta in metas.filter(|meta| matches!(meta.kind, Kind::Object(_))) {
                put(meta.span.start + 1, format!("{members}{}", comma(meta.members())));
            }
        }
        apply_splices(self.raw(), &splices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn woven(text: &str) -> String {
        String::from_utf8(Message::new(text.to_owned()).with_meta(r#""k":1"#).to_vec()).unwrap()
    }

    #[test]
    fn meta_goes_in_and_every_other_byte_stays() {
        for (text, with) in [
            (r#"{"id":1,"method":"x"}"#, r#"{"id":1,"method":"x","params":{"_meta":{"k":1}}}"#),
            (r#"{"id":1,"params":{ }}"#, r#"{"id":1,"params":{"_meta":{"k":1} }}"#),
            (r#"{"id":1,"params":{"n":5.0}}"#, r#"{"id":1,"params":{"_meta":{"k":1},"n":5.0}}"#),
            (r#"{"params":{"_meta":{"a":2},"n":1}}"#, r#"{"params":{"_meta":{"k":1,"a":2},"n":1}}"#),
            (r#"{"params":{},"params":{"a":1}}"#, r#"{"params":{"_meta":{"k":1}},"params":{"_meta":{"k":1},"a":1}}"#),
        ] {
            assert_eq!(woven(text), with);
        }
        for text in [r#"{"params":[1]}"#, r#"{"params":{"_meta":7}}"#, "{}", "[1]", "garbage"] {
            assert_eq!(woven(text), text);
        }
    }

    #[test]
    fn the_era_is_told_by_the_message_alone() {
        let message = |meta: &str| Message::new(format!(r#"{{"id":1,"method":"ping","params":{{"_meta":{meta}}}}}"#));
        let version = format!(r#"{{"{VERSION}":"2026-07-28"}}"#);
        assert_eq!(message(&version).own_version(), Some("2026-07-28"));
        assert!(message(&version).is_stateless() && message(&format!(r#"{{"{CAPABILITIES}":7}}"#)).is_stateless());
        assert!(!message(r#"{"progressToken":1}"#).is_stateless());
        let twice = message(&format!(r#"{{"{VERSION}":"2026-07-28","{VERSION}":"2026-07-28"}}"#));
        assert!(twice.is_stateless() && twice.own_version().is_none());
        assert!(message(&format!(r#"{{"{VERSION}":20260728}}"#)).own_version().is_none());
    }
}
