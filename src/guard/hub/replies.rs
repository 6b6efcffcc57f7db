//! What the servers say, and that they are gone.

use std::collections::BTreeSet;

use bytes::Bytes;
use tokio::time::Instant;

use super::{
    lists::Lists,
    reading::change,
    running::{Pending, Running},
};
use crate::{
    gate::ListingKind,
    guard::line::UNANSWERED,
    protocol::{Id, METHOD_NOT_FOUND, Message, REFUSED, Shape, error_reply},
    transport::Tasks,
};

impl Running {
    pub(super) async fn heard(&mut self, leg: usize, message: &Message) {
        match message.shape() {
            Shape::Response => self.replied(leg, message).await,
            Shape::Request => {
                if let Some(body) = self.asking.ask(leg, message) {
                    self.say(body).await;
                }
            }
            Shape::Notification => self.told(leg, message).await,
            Shape::Batch | Shape::Other | Shape::Broken => {}
        }
    }

    pub(super) async fn told(&mut self, leg: usize, message: &Message) {
        let method = message.method().unwrap_or_default();
        let changed: Vec<_> = ListingKind::ALL.into_iter().filter(|kind| change(*kind) == method).collect();
        if changed.is_empty() {
            let body = if method == "notifications/cancelled" {
                self.asking.cancelled(leg, message)
            } else {
                Some(message.raw().clone())
            };
            if let Some(body) = body {
                self.say(body).await;
            }
            return;
        }
        for kind in changed {
            if let Some(lists) = self.lists.get_mut(&kind).filter(|lists| lists.is_known() || lists.is_busy()) {
                lists.read(leg);
                self.fetch(kind).await;
            }
        }
    }

    pub(super) async fn replied(&mut self, leg: usize, message: &Message) {
        let Some(id) = message.id() else { return };
        let kind = self.lists.iter().find(|(_, lists)| lists.awaits(leg, id)).map(|(kind, _)| *kind);
        if let Some(kind) = kind {
            return self.turned(leg, kind, message).await;
        }
        let Some(pending) = self.requests.get_mut(id) else { return };
        // Late, or nobody's.
        if !pending.takes(leg) {
            return;
        }
        match pending {
            Pending::One(_) => self.answer(id, message.raw().clone()).await,
            Pending::Opening { replies, .. } => {
                replies.insert(leg, message.clone());
                self.opened(id).await;
            }
            Pending::Level { refused, .. } => {
                if message.error().is_some() {
                    refused.get_or_insert_with(|| message.raw().clone());
                }
                self.levelled(id, message.raw().clone()).await;
            }
            Pending::Listed => {}
        }
    }

    /// Answers a log level once every server has.
    pub(super) async fn levelled(&mut self, id: &Id, last: Bytes) {
        if let Some(Pending::Level { left, refused }) = self.requests.get(id)
            && left.is_empty()
        {
            let reply = refused.clone().unwrap_or(last);
            self.answer(id, reply).await;
        }
    }

    /// When something is due that is waited for.
    pub(super) fn due(&self) -> Option<Instant> {
        let openings = self.requests.values().filter_map(|pending| match pending {
            Pending::Opening { due, .. } => Some(*due),
            Pending::One(_) | Pending::Level { .. } | Pending::Listed => None,
        });
        openings.chain(self.lists.values().filter_map(Lists::due)).min()
    }

    /// Goes on without what didn't come in time.
    pub(super) async fn late(&mut self) {
        let now = Instant::now();
        let late: Vec<_> = self
            .lists
            .iter()
            .filter(|(_, lists)| lists.due().is_some_and(|due| due <= now))
            .map(|(kind, _)| *kind)
            .collect();
        for kind in late {
            self.unread(kind, "it takes too long");
            self.fetch(kind).await;
        }
        let (mut lost, mut unknown) = (BTreeSet::new(), Vec::new());
        for (id, pending) in &self.requests {
            match pending {
                Pending::Opening { left, due, binds: true, .. } if *due <= now => lost.extend(left.iter().copied()),
                Pending::Opening { due, binds: false, .. } if *due <= now => unknown.push(id.clone()),
                _ => {}
            }
        }
        for id in unknown {
            self.refuse(&id, METHOD_NOT_FOUND, "a server here did not say what it speaks").await;
        }
        for leg in lost {
            self.lose(leg, "did not open in time").await;
        }
    }

    pub(super) async fn lose(&mut self, leg: usize, why: &str) {
        (self.note)(&format!("{} {}", self.lines[leg].name, why.escape_debug()));
        self.lines[leg].tasks = Tasks::default();
        Box::pin(self.gone(leg)).await;
    }

    /// A server is gone: the others go on.
    pub(super) async fn gone(&mut self, leg: usize) {
        if self.lines[leg].to.take().is_none() {
            return;
        }
        (self.note)(&format!("{} is gone", self.lines[leg].name));
        for body in self.asking.gone(leg) {
            self.say(body).await;
        }
        let ids: Vec<_> = self.requests.keys().cloned().collect();
        for id in ids {
            let Some(pending) = self.requests.get_mut(&id) else { continue };
            if !pending.takes(leg) {
                continue;
            }
            match pending {
                Pending::One(_) => self.refuse(&id, REFUSED, UNANSWERED).await,
                Pending::Opening { .. } => self.opened(&id).await,
                Pending::Level { .. } => {
                    let reply = error_reply(Some(&id), REFUSED, UNANSWERED, None);
                    self.levelled(&id, reply).await;
                }
                Pending::Listed => {}
            }
        }
        for kind in ListingKind::ALL {
            if let Some(lists) = self.lists.get_mut(&kind).filter(|lists| lists.is_known() || lists.is_busy()) {
                lists.none_of(leg);
                self.fetch(kind).await;
            }
        }
    }

    /// Everybody who waits is told that there will be no answer.
    pub(super) async fn close(mut self) {
        let ids: Vec<_> = self.requests.keys().cloned().collect();
        for id in ids {
            self.refuse(&id, REFUSED, UNANSWERED).await;
        }
    }
}
