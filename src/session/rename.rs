//! Undoes the names that a gate gives to tools.
//!
//! Many gates put the server's name before a tool's. What the client sends to
//! such a gate is renamed on its way out, what it is shown is renamed back, and
//! both before anything is recorded: a transcript, and so every case, knows the
//! server's own names alone. Renamed are the `name` of `tools/call`, and the names
//! in listings of tools that have the gate's form; another name in a listing is
//! left as it is, and so is whatever stands in descriptions, errors and results.

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    protocol::{Message, Splice, apply_splices, strict::Node},
    transport::{Connection, Frame},
};

/// What a gate puts around a tool's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    before: String,
    after: String,
}

/// As many frames as other legs hold.
const QUEUE: usize = 256;

impl Rename {
    /// The names of one server's tools at the gate.
    pub fn new(before: impl Into<String>, after: impl Into<String>) -> Self {
        Self { before: before.into(), after: after.into() }
    }

    /// A call as the gate must be sent it.
    pub fn towards_gate(&self, raw: &Bytes) -> Bytes {
        each(raw, |message| {
            let is_call = message.member("method").and_then(Node::as_str) == Some("tools/call");
            let name = message.pointer("/params/name").filter(|_| is_call);
            let text = |name: &Node| Some(format!("{}{}{}", self.before, name.as_str()?, self.after));
            name.and_then(|name| Some((name, text(name)?))).into_iter().collect()
        })
    }

    /// A listing as the server spelled it.
    pub fn towards_client(&self, raw: &Bytes) -> Bytes {
        each(raw, |message| {
            let tools = message.pointer("/result/tools").map(Node::items).unwrap_or_default();
            let names = tools.iter().filter_map(|tool| tool.member("name"));
            let own = |name: &Node| {
                let text = name.as_str()?.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
                Some(text.to_owned())
            };
            names.filter_map(|name| Some((name, own(name)?))).collect()
        })
    }

    /// A connection whose owner knows the server's own names alone.
    pub fn over(self, connection: Connection) -> Connection {
        let Connection { outgoing: to_gate, incoming: mut from_gate, close, mut tasks } = connection;
        let (outgoing, mut from_owner) = mpsc::channel::<Frame>(QUEUE);
        let (to_owner, incoming) = mpsc::channel(QUEUE);
        let back = self.clone();
        // Ends by itself, so that what was accepted is still sent.
        tokio::spawn(async move {
            while let Some(mut frame) = from_owner.recv().await {
                frame.body = self.towards_gate(&frame.body);
                if to_gate.send(frame).await.is_err() {
                    break;
                }
            }
        });
        tasks.keep(tokio::spawn(async move {
            while let Some(mut frame) = from_gate.recv().await {
                frame.body = back.towards_client(&frame.body);
                if to_owner.send(frame).await.is_err() {
                    break;
                }
            }
        }));
        Connection { outgoing, incoming, close, tasks }
    }
}

/// Replaces strings in a message, or in each of a batch.
fn each(raw: &Bytes, names: impl Fn(&Node) -> Vec<(&Node, String)>) -> Bytes {
    let message = Message::new(raw.clone());
    let Some(root) = message.root() else { return raw.clone() };
    let single = std::slice::from_ref(root);
    let messages = if root.items().is_empty() { single } else { root.items() };
    let found = messages.iter().flat_map(names);
    let splices: Vec<_> =
        found.map(|(node, with)| Splice { span: node.span.clone(), with: Value::from(with).to_string() }).collect();
    if splices.is_empty() { raw.clone() } else { apply_splices(raw, &splices) }
}

/// The template that explains how a gate lists a server's tools, where one does:
/// the same text around every name, `{server}` for the server's.
pub fn explain(listed: &[String], own: &[&str], server: &str) -> Option<String> {
    let longest = own.iter().max_by_key(|name| name.len())?;
    let around = listed.iter().filter_map(|name| {
        let at = name.find(longest)?;
        Some((&name[..at], &name[at + longest.len()..]))
    });
    let all = |(before, after): &(&str, &str)| {
        own.iter().all(|name| listed.iter().any(|listed| *listed == format!("{before}{name}{after}")))
    };
    let (before, after) = around.into_iter().find(all)?;
    let template = |text: &str| text.replace(server, "{server}");
    (!(before.is_empty() && after.is_empty())).then(|| format!("{}{{tool}}{}", template(before), template(after)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{self, Exchange};

    const CALL: &str = r#"{"id":1, "method":"tools/call","params":{"name":"re\u0061d","arguments":{"name":"read"}}}"#;
    const LIST: &str =
        r#"{"id":2,"result":{"tools":[{"name" : "s__read","n":5.0},{"name":"s__","x":1},{"name":"admin"}]}}"#;

    fn rename() -> Rename {
        Rename::new("s__", "!")
    }

    #[test]
    fn names_change_and_every_other_byte_stays() {
        let there = |text: &'static str| rename().towards_gate(&Bytes::from(text));
        assert_eq!(there(CALL), CALL.replace(r#""re\u0061d""#, r#""s__read!""#));
        let batch = r#"[{"method":"tools/call","params":{"name":"a"}},{"method":"ping"}]"#;
        assert_eq!(there(batch), batch.replace("\"a\"", "\"s__a!\""));
        for other in [r#"{"method":"prompts/get","params":{"name":"a"}}"#, "garbage", "[]", LIST] {
            assert_eq!(there(other), other);
        }
        let back = Rename::new("s__", "").towards_client(&Bytes::from(LIST));
        assert_eq!(back, LIST.replace("s__read", "read").replace("\"s__\"", "\"\""));
        assert_eq!(rename().towards_client(&Bytes::from(LIST)), LIST, "none has the gate's form");
    }

    #[tokio::test]
    async fn a_connection_hands_on_both_ways_and_ends() {
        let (client, mut gate) = transport::pair();
        let mut client = rename().over(client);
        client
            .outgoing
            .send(Frame::line(Exchange(1), r#"{"method":"tools/call","params":{"name":"a"}}"#))
            .await
            .unwrap();
        assert_eq!(gate.incoming.recv().await.unwrap().body, r#"{"method":"tools/call","params":{"name":"s__a!"}}"#);
        gate.outgoing.send(Frame::line(Exchange(1), r#"{"result":{"tools":[{"name":"s__a!"}]}}"#)).await.unwrap();
        assert_eq!(client.incoming.recv().await.unwrap().body, r#"{"result":{"tools":[{"name":"a"}]}}"#);
        client.outgoing = mpsc::channel(1).0;
        assert_eq!(gate.incoming.recv().await, None, "the gate hears that nothing more comes");
        drop(gate);
        assert_eq!(client.incoming.recv().await, None);
    }

    #[test]
    fn names_are_explained_by_what_stands_around_all_of_them() {
        let listed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let own = ["add", "add_all"];
        let found = explain(&listed(&["probe__add", "probe__add_all", "extra"]), &own, "probe");
        assert_eq!(found.as_deref(), Some("{server}__{tool}"));
        assert_eq!(explain(&listed(&["mcp/add/1", "mcp/add_all/1"]), &own, "probe").as_deref(), Some("mcp/{tool}/1"));
        assert_eq!(explain(&listed(&["add", "add_all"]), &own, "probe"), None);
        assert_eq!(explain(&listed(&["a_add", "b_add_all"]), &own, "probe"), None);
        assert_eq!(explain(&[], &own, "probe"), None);
    }
}
