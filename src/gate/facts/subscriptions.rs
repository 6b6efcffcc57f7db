//! What clients of the stateless era listen to, and what servers say to that.

use std::collections::BTreeMap;

use super::Who;
use crate::protocol::{
    Id, Message, meta,
    strict::{Kind, Node},
};

/// How many streams are remembered; the first of them gives way.
const REMEMBERED: usize = 1024;

/// The streams that were asked for and are not over.
#[derive(Debug, Default)]
pub struct Subscriptions {
    open: BTreeMap<Id, Subscription>,
}

#[derive(Debug)]
struct Subscription {
    who: Who,
    request: Message,
    acknowledged: bool,
}

/// What a notification is to the streams that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The stream begins.
    Begins,
    /// It was asked for.
    Wanted,
    /// It was not asked for on its stream.
    Unwanted,
    /// No such stream was asked for by whoever gets it.
    Nowhere,
}

impl Subscriptions {
    /// The client listens.
    pub(super) fn asked(&mut self, id: &Id, request: &Message, who: Who) {
        if self.open.len() >= REMEMBERED {
            self.open.pop_first();
        }
        self.open.insert(id.clone(), Subscription { who, request: request.clone(), acknowledged: false });
    }

    /// The stream is over.
    pub(super) fn over(&mut self, id: &Id) {
        self.open.remove(id);
    }

    /// Nobody listens any more.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// The server says something; `None` where that is no matter of a stream's.
    /// `streams`: only what was asked for may be said at all.
    pub(super) fn heard(&mut self, message: &Message, who: Who, streams: bool) -> Option<Heard> {
        let method = message.method()?;
        let mut named = message.in_meta(meta::SUBSCRIPTION).peekable();
        if named.peek().is_none() {
            let is_streamed = wanted_by(method).is_some() || method == ACKNOWLEDGED;
            return (streams && is_streamed).then_some(Heard::Nowhere);
        }
        let id = named.next().and_then(Id::of).filter(|_| named.next().is_none());
        let found = id.and_then(|id| self.open.get_mut(&id));
        let Some(subscription) = found.filter(|found| found.who.principal == who.principal) else {
            return Some(Heard::Nowhere);
        };
        if method == ACKNOWLEDGED {
            let again = std::mem::replace(&mut subscription.acknowledged, true);
            return Some(if again { Heard::Unwanted } else { Heard::Begins });
        }
        let wants = match wanted_by(method) {
            Some(member) => subscription.wants(member, message),
            // These belong to the request that they are about.
            None => !matches!(method, "notifications/message" | "notifications/progress"),
        };
        Some(if wants { Heard::Wanted } else { Heard::Unwanted })
    }
}

impl Subscription {
    fn wants(&self, member: &str, message: &Message) -> bool {
        let wanted = self.request.params().and_then(|params| params.member("notifications")?.member(member));
        match wanted.map(|wanted| &wanted.kind) {
            Some(Kind::Bool(wants)) => *wants,
            Some(Kind::Array(addresses)) => {
                let about = message.params().and_then(|params| params.member("uri")).and_then(Node::as_str);
                about.is_some_and(|about| addresses.iter().any(|address| address.as_str() == Some(about)))
            }
            _ => false,
        }
    }
}

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The member of a filter that asks for a notification.
fn wanted_by(method: &str) -> Option<&'static str> {
    Some(match method {
        "notifications/tools/list_changed" => "toolsListChanged",
        "notifications/prompts/list_changed" => "promptsListChanged",
        "notifications/resources/list_changed" => "resourcesListChanged",
        "notifications/resources/updated" => "resourceSubscriptions",
        _ => return None,
    })
}
