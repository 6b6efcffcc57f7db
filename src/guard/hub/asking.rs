//! What servers ask the client for.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::protocol::{Id, Message, Splice, apply_splices, strict::Node};

/// A request of a server's that the client has not answered.
#[derive(Debug)]
struct Asked {
    leg: usize,
    /// Its id as the server wrote it.
    id: String,
    /// Its progress token as the server wrote it, where it has one.
    token: Option<String>,
}

/// Requests of all servers, under ids that are the client's to answer.
#[derive(Debug, Default)]
pub(super) struct Asking {
    last: u64,
    open: BTreeMap<u64, Asked>,
}

impl Asking {
    /// A server asks: what the client is shown. No two requests of one session
    /// have the same id there, nor the same progress token.
    pub(super) fn ask(&mut self, leg: usize, message: &Message) -> Option<Bytes> {
        let root = message.root()?;
        let id = root.member("id")?;
        let token = root.member("params").and_then(|params| params.member("_meta")?.member("progressToken"));
        self.last += 1;
        let number = self.last;
        let shown = [Some(id), token].into_iter().flatten();
        let splices: Vec<_> = shown.map(|node| Splice { span: node.span.clone(), with: number.to_string() }).collect();
        let own = |node: &Node| written(message, node);
        self.open.insert(number, Asked { leg, id: own(id), token: token.map(own) });
        Some(apply_splices(message.raw(), &splices))
    }

    /// The client answers: which server is told, and what.
    pub(super) fn answered(&mut self, message: &Message) -> Option<(usize, Bytes)> {
        let number = number(message.id()?)?;
        let asked = self.open.remove(&number)?;
        let id = message.root()?.member("id")?;
        Some((asked.leg, apply_splices(message.raw(), &[Splice { span: id.span.clone(), with: asked.id }])))
    }

    /// The client says how far it has come.
    pub(super) fn progressed(&self, message: &Message) -> Option<(usize, Bytes)> {
        let token = message.params()?.member("progressToken")?;
        let asked = self.open.get(&number(&Id::of(token)?)?)?;
        let with = asked.token.clone()?;
        Some((asked.leg, apply_splices(message.raw(), &[Splice { span: token.span.clone(), with }])))
    }

    /// A server takes a request back: what the client is told.
    pub(super) fn cancelled(&mut self, leg: usize, message: &Message) -> Option<Bytes> {
        let id = message.params()?.member("requestId")?;
        let own = written(message, id);
        let number =
            self.open.iter().find(|(_, asked)| asked.leg == leg && asked.id == own).map(|(number, _)| *number)?;
        self.open.remove(&number);
        Some(apply_splices(message.raw(), &[Splice { span: id.span.clone(), with: number.to_string() }]))
    }

    /// A server is gone: what the client is told of what it asked.
    pub(super) fn gone(&mut self, leg: usize) -> Vec<Bytes> {
        let gone: Vec<_> = self.open.iter().filter(|(_, asked)| asked.leg == leg).map(|(number, _)| *number).collect();
        let told = gone.iter().map(|number| {
            self.open.remove(number);
            let params = format!(r#"{{"requestId":{number},"reason":"the server is gone"}}"#);
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#).into()
        });
        told.collect()
    }
}

fn written(message: &Message, node: &Node) -> String {
    String::from_utf8_lossy(&message.raw()[node.span.clone()]).into_owned()
}

fn number(id: &Id) -> Option<u64> {
    match id {
        Id::Number(text) => text.parse().ok(),
        Id::String(_) | Id::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_finds_its_server_under_the_id_that_it_wrote() {
        let mut asking = Asking::default();
        let text = r#"{"jsonrpc":"2.0","id":"1","method":"roots/list","params":{"_meta":{"progressToken":"t"}}}"#;
        let shown: Vec<_> = [(0, text), (1, &text.replace("\"1\"", "1"))]
            .map(|(leg, text)| asking.ask(leg, &Message::new(text.to_owned())).unwrap())
            .into();
        assert_eq!(shown[0], text.replace("\"1\"", "1").replace("\"t\"", "1"));
        assert_eq!(shown[1], text.replace("\"1\"", "2").replace("\"t\"", "2"));
        let progress = Message::new(r#"{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#);
        let (leg, told) = asking.progressed(&progress).unwrap();
        assert_eq!((leg, told), (0, progress.text().replace(":1,", ":\"t\",").into()));
        let (leg, told) = asking.answered(&Message::new(r#"{"id": 2,"result":{}}"#)).unwrap();
        assert_eq!((leg, &told[..]), (1, &br#"{"id": 1,"result":{}}"#[..]));
        let (leg, told) = asking.answered(&Message::new(r#"{"id":1,"result":{}}"#)).unwrap();
        assert_eq!((leg, &told[..]), (0, &br#"{"id":"1","result":{}}"#[..]));
        assert_eq!(asking.answered(&Message::new(r#"{"id":1,"result":{}}"#)), None);
        asking.ask(1, &Message::new(text)).unwrap();
        let taken = Message::new(r#"{"method":"notifications/cancelled","params":{"requestId":"1"}}"#);
        assert_eq!(asking.cancelled(0, &taken), None);
        assert!(asking.cancelled(1, &taken).unwrap().ends_with(br#"{"requestId":3}}"#));
    }
}
