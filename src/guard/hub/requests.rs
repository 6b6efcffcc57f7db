//! What the client asks for, and who is asked for it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use tokio::time::{Duration, Instant};

use super::{
    opening::{Offers, merge},
    running::{Pending, Running},
};
use crate::{
    gate::ListingKind,
    guard::stateless,
    protocol::{
        INVALID_PARAMS, INVALID_REQUEST, Id, METHOD_NOT_FOUND, Message, PARSE_ERROR, REFUSED, Shape, Splice,
        apply_splices, error_reply, strict::Node,
    },
};

/// How long a server may take to open.
const OPENING: Duration = Duration::from_secs(30);

impl Running {
    pub(super) async fn asked(&mut self, message: Message) {
        match (message.shape(), message.id().cloned()) {
            (Shape::Request, Some(id)) if id != Id::Null => self.requested(id, message).await,
            (Shape::Notification, _) => self.notified(&message),
            (Shape::Response, _) => {
                if let Some((leg, body)) = self.asking.answered(&message) {
                    // A server that doesn't read what it asked for is no loss to others.
                    let _ = self.tell(leg, body);
                }
            }
            (Shape::Broken, _) => self.say(error_reply(None, PARSE_ERROR, "the message is not JSON", None)).await,
            (Shape::Batch, _) => {
                let why = "a batch can't be put to several servers; send its messages one by one";
                self.say(error_reply(None, INVALID_REQUEST, why, None)).await;
            }
            (Shape::Other | Shape::Request, _) => {
                let why = "the message is no request, no notification and no response";
                self.say(error_reply(None, INVALID_REQUEST, why, None)).await;
            }
        }
    }

    pub(super) async fn requested(&mut self, id: Id, message: Message) {
        if self.requests.contains_key(&id) {
            let why = "the id is that of a request that has not been answered";
            return self.say(error_reply(Some(&id), INVALID_REQUEST, why, None)).await;
        }
        self.watch.waits(&self.all, &id);
        let method = message.method().unwrap_or_default();
        self.meta = stateless::own_meta(&message);
        if let Some(kind) = ListingKind::of(method) {
            return self.list(id, kind, &message).await;
        }
        match method {
            "initialize" | "server/discover" => self.open(id, &message).await,
            "ping" => self.answer(&id, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)).await,
            "logging/setLevel" => {
                let left: BTreeSet<_> = self.alive().filter(|leg| self.lines[*leg].offers.logging).collect();
                let left: BTreeSet<_> =
                    left.into_iter().filter(|leg| self.tell(*leg, message.raw().clone()).is_ok()).collect();
                if left.is_empty() {
                    return self.refuse(&id, METHOD_NOT_FOUND, "no server here takes a log level").await;
                }
                self.requests.insert(id, Pending::Level { left, refused: None });
            }
            _ => self.route(id, message).await,
        }
    }

    /// Opens every server with the client's own words.
    pub(super) async fn open(&mut self, id: Id, message: &Message) {
        let left: Vec<_> = self.alive().collect();
        let left: BTreeSet<_> = left.into_iter().filter(|leg| self.tell(*leg, message.raw().clone()).is_ok()).collect();
        let due = Instant::now() + OPENING;
        let binds = message.method() == Some("initialize");
        self.requests.insert(id.clone(), Pending::Opening { left, replies: BTreeMap::new(), due, binds });
        self.opened(&id).await;
    }

    /// Answers an opening once nobody is waited for.
    pub(super) async fn opened(&mut self, id: &Id) {
        match self.requests.get(id) {
            Some(Pending::Opening { left, .. }) if left.is_empty() => {}
            _ => return,
        }
        let Some(Pending::Opening { replies, binds, .. }) = self.requests.remove(id) else { return };
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for (leg, reply) in &replies {
            match reply.result() {
                Some(result) => {
                    self.lines[*leg].offers = Offers::of(result);
                    good.push((*leg, reply));
                }
                None => bad.push((*leg, reply)),
            }
        }
        // Where one is no server of the stateless era, the client tries the other one.
        if good.is_empty() || (!binds && !bad.is_empty()) {
            let said = bad.first().map(|(_, reply)| reply.raw().clone());
            let none = || error_reply(Some(id), REFUSED, "no server could be opened", None);
            return self.answer(id, said.unwrap_or_else(none)).await;
        }
        let named: Vec<_> = good.iter().map(|(leg, reply)| (&self.lines[*leg].name, *reply)).collect();
        let merged = merge(id, &named);
        for (leg, reply) in bad {
            let why = reply.error().and_then(|error| error.member("message")).and_then(Node::as_str);
            self.lose(leg, &format!("did not open: {}", why.unwrap_or("it gave no reason"))).await;
        }
        self.answer(id, merged).await;
    }

    /// Sends a request to the one server that it is for, once that is known.
    pub(super) async fn route(&mut self, id: Id, message: Message) {
        let method = message.method().unwrap_or_default();
        let params = message.params();
        let reference = params.and_then(|params| params.member("ref"));
        let (holder, key, kinds) = match method {
            "tools/call" => (params, "name", &[ListingKind::Tools][..]),
            "prompts/get" => (params, "name", &[ListingKind::Prompts][..]),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                (params, "uri", &[ListingKind::Resources, ListingKind::Templates][..])
            }
            "completion/complete" if reference.is_some_and(|one| one.member("name").is_some()) => {
                (reference, "name", &[ListingKind::Prompts][..])
            }
            "completion/complete" => (reference, "uri", &[ListingKind::Templates, ListingKind::Resources][..]),
            _ => return self.refuse(&id, METHOD_NOT_FOUND, "this is not served for several servers at once").await,
        };
        let named = holder.and_then(|holder| holder.member(key)).and_then(|node| Some((node, node.as_str()?)));
        let Some((node, name)) = named else {
            return self.refuse(&id, INVALID_PARAMS, "the request does not name what it is for").await;
        };
        for kind in kinds {
            let Some(lists) = self.lists.get(kind) else { continue };
            let found = lists.find(name).map(|(leg, own)| (leg, own.to_owned()));
            let found = found.or_else(|| {
                let leg = (*kind == ListingKind::Templates).then(|| lists.by_template(name))??;
                Some((leg, name.to_owned()))
            });
            if let Some((leg, own)) = found {
                let with = serde_json::Value::from(own.as_str()).to_string();
                let renamed = Splice { span: node.span.clone(), with };
                let body = if own == name { message.raw().clone() } else { apply_splices(message.raw(), &[renamed]) };
                return self.forward(id, leg, body).await;
            }
            // Somebody's list was never read: it may be in there.
            if let Some(lists) = self.lists.get_mut(kind) {
                lists.read_unread();
                if lists.is_busy() {
                    lists.parked.push(message.clone());
                    self.requests.insert(id, Pending::Listed);
                    return self.fetch(*kind).await;
                }
            }
        }
        let offers = |leg: &usize| kinds.iter().any(|kind| self.lines[*leg].offers.lists(*kind));
        let candidates: Vec<_> = self.alive().filter(offers).collect();
        match candidates.as_slice() {
            // A resource need not be listed to be there.
            [only] if key == "uri" => {
                let (only, body) = (*only, message.raw().clone());
                self.forward(id, only, body).await;
            }
            _ => self.refuse(&id, INVALID_PARAMS, "no server here lists what is asked for").await,
        }
    }

    pub(super) async fn forward(&mut self, id: Id, leg: usize, body: Bytes) {
        match self.tell(leg, body) {
            Ok(()) => drop(self.requests.insert(id, Pending::One(leg))),
            Err(why) => self.refuse(&id, REFUSED, why).await,
        }
    }

    pub(super) fn notified(&mut self, message: &Message) {
        match message.method() {
            Some("notifications/initialized" | "notifications/roots/list_changed") => {
                for leg in self.alive() {
                    let _ = self.tell(leg, message.raw().clone());
                }
            }
            Some("notifications/cancelled") => {
                let id = message.params().and_then(|params| params.member("requestId")).and_then(Id::of);
                if let Some(id) = id {
                    self.cancel(&id, message);
                }
            }
            Some("notifications/progress") => {
                if let Some((leg, body)) = self.asking.progressed(message) {
                    let _ = self.tell(leg, body);
                }
            }
            // Whom it is for, nobody knows.
            _ => {}
        }
    }

    pub(super) fn cancel(&mut self, id: &Id, message: &Message) {
        match self.requests.get(id) {
            // An opening can't be taken back.
            None | Some(Pending::Opening { .. }) => return,
            Some(Pending::One(leg)) => drop(self.tell(*leg, message.raw().clone())),
            Some(Pending::Listed) => {
                for lists in self.lists.values_mut() {
                    lists.asked.retain(|asked| asked != id);
                    lists.parked.retain(|parked| parked.id() != Some(id));
                }
            }
            Some(Pending::Level { .. }) => {}
        }
        self.requests.remove(id);
        self.watch.over(&self.all, id);
    }
}
