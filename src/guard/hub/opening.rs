//! The openings of several servers as one.

use serde_json::{Map, Value, json};

use crate::{
    gate::ListingKind,
    protocol::{Id, Message, ServerName, strict::Node},
};

/// What a server said that it offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub(super) struct Offers {
    tools: bool,
    prompts: bool,
    resources: bool,
    subscribe: bool,
    pub(super) logging: bool,
    completions: bool,
}

impl Offers {
    /// Of a server that has not said anything: it may have all of it.
    pub(super) fn unknown() -> Self {
        Self { tools: true, prompts: true, resources: true, subscribe: false, logging: true, completions: true }
    }

    pub(super) fn of(result: &Node) -> Self {
        let capability = |name: &str| result.member("capabilities").and_then(|all| all.member(name));
        Self {
            tools: capability("tools").is_some(),
            prompts: capability("prompts").is_some(),
            resources: capability("resources").is_some(),
            subscribe: capability("resources").and_then(|one| one.member("subscribe")?.as_bool()) == Some(true),
            logging: capability("logging").is_some(),
            completions: capability("completions").is_some(),
        }
    }

    pub(super) fn lists(self, kind: ListingKind) -> bool {
        match kind {
            ListingKind::Tools => self.tools,
            ListingKind::Prompts => self.prompts,
            ListingKind::Resources | ListingKind::Templates => self.resources,
        }
    }
}

/// One answer to the client's `initialize` or `server/discover`, made of those that servers gave: the
/// oldest of their versions, what any of them offers and can be routed, and the
/// instructions of each under its name.
pub(super) fn merge(id: &Id, replies: &[(&ServerName, &Message)]) -> String {
    let results: Vec<_> = replies.iter().filter_map(|(name, reply)| Some((*name, reply.result()?))).collect();
    let text = |result: &Node, key: &str| result.member(key).and_then(Node::as_str).map(str::to_owned);
    let version = results.iter().filter_map(|(_, result)| text(result, "protocolVersion")).min();
    let offers: Vec<_> = results.iter().map(|(_, result)| Offers::of(result)).collect();
    let any = |has: fn(&Offers) -> bool| offers.iter().any(has);
    let mut capabilities = Map::new();
    // Lists change when a server goes, whether or not it says so itself.
    let mut put = |name: &str, offered: bool, value: Value| {
        if offered {
            capabilities.insert(name.to_owned(), value);
        }
    };
    put("tools", any(|offers| offers.tools), json!({ "listChanged": true }));
    put("prompts", any(|offers| offers.prompts), json!({ "listChanged": true }));
    let resources = if any(|offers| offers.subscribe) {
        json!({ "listChanged": true, "subscribe": true })
    } else {
        json!({ "listChanged": true })
    };
    put("resources", any(|offers| offers.resources), resources);
    put("logging", any(|offers| offers.logging), json!({}));
    put("completions", any(|offers| offers.completions), json!({}));
    let mut result = Map::new();
    if let Some(version) = version {
        result.insert("protocolVersion".to_owned(), version.into());
    } else {
        // The stateless era: what all of them speak, and to be asked for again.
        let spoken = |result: &Node| -> Vec<String> {
            let versions = result.member("supportedVersions").map_or(&[][..], Node::items);
            versions.iter().filter_map(|version| version.as_str().map(str::to_owned)).collect()
        };
        let mut versions = results.first().map(|(_, result)| spoken(result)).unwrap_or_default();
        versions.retain(|version| results.iter().all(|(_, result)| spoken(result).contains(version)));
        result.insert("supportedVersions".to_owned(), versions.into());
        result.insert("resultType".to_owned(), "complete".into());
        result.insert("ttlMs".to_owned(), 0.into());
        result.insert("cacheScope".to_owned(), "private".into());
    }
    result.insert("capabilities".to_owned(), capabilities.into());
    result.insert("serverInfo".to_owned(), json!({ "name": "gateproof", "version": env!("CARGO_PKG_VERSION") }));
    let instructions: Vec<_> = results
        .iter()
        .filter_map(|(name, result)| Some(format!("# {name}\n\n{}", text(result, "instructions")?)))
        .collect();
    if !instructions.is_empty() {
        result.insert("instructions".to_owned(), instructions.join("\n\n").into());
    }
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, Value::from(result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_served_is_advertised() {
        let reply = |version: &str, rest: &str| {
            Message::new(format!(r#"{{"id":1,"result":{{"protocolVersion":"{version}","capabilities":{rest}}}}}"#))
        };
        let (one, other) = (ServerName::new("one"), ServerName::new("other"));
        let first =
            reply("2025-11-25", r#"{"tools":{},"tasks":{},"experimental":{"x":{}}},"instructions":"Ask.\nTwice.""#);
        let second = reply("2025-06-18", r#"{"resources":{"subscribe":false},"logging":{}}"#);
        let merged = Message::new(merge(&Id::String("a".to_owned()), &[(&one, &first), (&other, &second)]));
        assert_eq!(merged.id(), Some(&Id::String("a".to_owned())));
        let result = merged.result().unwrap().to_value().unwrap();
        assert_eq!(result["protocolVersion"], "2025-06-18");
        let changes = json!({ "listChanged": true });
        assert_eq!(result["capabilities"], json!({ "tools": changes, "resources": changes, "logging": {} }));
        assert_eq!(result["instructions"], "# one\n\nAsk.\nTwice.");
        assert_eq!(result["serverInfo"]["name"], "gateproof");
    }
}
