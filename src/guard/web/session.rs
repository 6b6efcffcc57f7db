//! One session of clients that speak HTTP.

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::{
    protocol::{Id, Message, Shape, Splice, apply_splices, meta, strict::Node},
    transport::{Exchange, Frame, Tasks, Verb},
};

/// A session, and who waits in it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) to_gate: mpsc::Sender<Frame>,
    pub(super) principal: Vec<(String, String)>,
    pub(super) id: Option<String>,
    /// What waits for an answer.
    pub(super) open: BTreeMap<Exchange, Asked>,
    /// The exchange that opens the session, until it is answered.
    pub(super) opening: Option<Exchange>,
    /// Counts up with every request.
    pub(super) used: u64,
    #[expect(dead_code, reason = "what serves it ends with it")]
    pub(super) tasks: Tasks,
}

impl Session {
    /// Whether its client waits for an answer that will come; a stream is none.
    pub(super) fn is_awaited(&self) -> bool {
        self.open.values().any(|asked| asked.verb != Verb::Get)
    }

    /// Its client asks: what goes on. Clients that share a session may use one id
    /// at a time; the second goes on under another.
    pub(super) fn ask(&mut self, frame: &Frame, verb: Verb) -> Frame {
        let mut asked = Asked { verb, body: frame.body.clone(), id: None, alias: None };
        let mut on = frame.clone();
        if self.id.is_none() && self.opening.is_none() {
            let message = Message::new(frame.body.clone());
            asked.id = message.id().filter(|_| message.shape() == Shape::Request).cloned();
            let taken = |other: &Asked| other.id.is_some() && other.id == asked.id;
            if self.open.values().any(taken) {
                let alias = Id::String(format!("gateproof/{}", frame.exchange.0));
                let node = message.root().and_then(|root| root.member("id"));
                on.body = under(&message, node, &alias);
                asked.alias = Some(alias);
            }
        }
        self.open.insert(frame.exchange, asked);
        on
    }

    /// What its client is told, under the id that it asked under.
    pub(super) fn restored(&self, frame: &Frame) -> Bytes {
        let asked = self.open.get(&frame.exchange);
        let Some((id, alias)) = asked.and_then(|asked| Some((asked.id.as_ref()?, asked.alias.as_ref()?))) else {
            return frame.body.clone();
        };
        let message = Message::new(frame.body.clone());
        let node = match message.shape() {
            Shape::Response => message.root().and_then(|root| root.member("id")),
            _ => message.in_meta(meta::SUBSCRIPTION).next(),
        };
        under(&message, node.filter(|node| Id::of(node).as_ref() == Some(alias)), id)
    }
}

/// A request that waits for an answer.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) verb: Verb,
    /// The message as its client wrote it.
    pub(super) body: Bytes,
    /// Its id, where several clients may use the same at a time.
    pub(super) id: Option<Id>,
    /// The id that it goes on under, where another one with its own is on the way.
    pub(super) alias: Option<Id>,
}

/// The same message with another id in this place.
fn under(message: &Message, node: Option<&Node>, id: &Id) -> Bytes {
    let splice = node.map(|node| Splice { span: node.span.clone(), with: id.to_json() });
    apply_splices(message.raw(), splice.as_slice())
}
