//! The servers' lists are read, and the client's is answered.

use bytes::Bytes;

use super::{
    lists::{Lists, Turned},
    running::{Pending, Running},
};
use crate::{
    gate::ListingKind,
    guard::stateless,
    protocol::{INVALID_PARAMS, Id, Message, strict::Kind},
};

/// Which notification says that a list has changed.
pub(super) fn change(kind: ListingKind) -> &'static str {
    match kind {
        ListingKind::Tools => "notifications/tools/list_changed",
        ListingKind::Prompts => "notifications/prompts/list_changed",
        ListingKind::Resources | ListingKind::Templates => "notifications/resources/list_changed",
    }
}

/// Which request asks for a list.
fn method(kind: ListingKind) -> &'static str {
    match kind {
        ListingKind::Tools => "tools/list",
        ListingKind::Prompts => "prompts/list",
        ListingKind::Resources => "resources/list",
        ListingKind::Templates => "resources/templates/list",
    }
}

impl Running {
    pub(super) async fn list(&mut self, id: Id, kind: ListingKind, message: &Message) {
        let cursor = message.params().and_then(|params| params.member("cursor"));
        if cursor.is_some_and(|cursor| !matches!(cursor.kind, Kind::Null)) {
            return self.refuse(&id, INVALID_PARAMS, "the list has one page, and no cursor was handed out").await;
        }
        self.requests.insert(id.clone(), Pending::Listed);
        let legs = self.lines.len();
        if let Some(lists) = self.lists.get_mut(&kind) {
            lists.asked.push(id);
            (0..legs).for_each(|leg| lists.read(leg));
        }
        self.fetch(kind).await;
    }

    /// Reads the lists that are to be read; answers whoever waits once all are.
    pub(super) async fn fetch(&mut self, kind: ListingKind) {
        loop {
            let Some(lists) = self.lists.get_mut(&kind) else { return };
            let Some(leg) = lists.next() else { break };
            if self.lines[leg].to.is_none() || !self.lines[leg].offers.lists(kind) {
                lists.none_of(leg);
                continue;
            }
            let (id, body) = self.page(kind, None);
            if let Some(lists) = self.lists.get_mut(&kind) {
                lists.begin(leg, id);
            }
            if let Err(why) = self.tell(leg, body) {
                self.unread(kind, why);
            }
        }
        let Some(lists) = self.lists.get_mut(&kind).filter(|lists| !lists.is_busy()) else { return };
        let asked = std::mem::take(&mut lists.asked);
        let parked = std::mem::take(&mut lists.parked);
        // Without a session nobody is told who did not ask to be.
        if asked.is_empty() && lists.has_changed() && self.meta.is_none() {
            self.say(format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, change(kind))).await;
        }
        for id in asked {
            let more = if self.meta.is_some() { stateless::KEPT_BY_NOBODY } else { "" };
            let Some(list) = self.lists.get_mut(&kind).map(|lists| lists.answer(&id, more)) else { continue };
            self.answer(&id, list).await;
        }
        self.note_taken(kind);
        for message in parked {
            if let Some(id) = message.id().cloned() {
                Box::pin(self.route(id, message)).await;
            }
        }
    }

    /// A request of the hub's own for a page.
    pub(super) fn page(&mut self, kind: ListingKind, cursor: Option<&str>) -> (Id, Bytes) {
        self.own += 1;
        let id = Id::String(format!("gateproof/{}", self.own));
        let meta = self.meta.as_ref().map(|meta| format!(r#""_meta":{meta}"#));
        let cursor = cursor.map(|cursor| format!(r#""cursor":{cursor}"#));
        let params: Vec<_> = meta.into_iter().chain(cursor).collect();
        let params = if params.is_empty() { String::new() } else { format!(r#","params":{{{}}}"#, params.join(",")) };
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{}"{params}}}"#, method(kind));
        (id, body.into())
    }

    pub(super) fn unread(&mut self, kind: ListingKind, why: &str) {
        if let Some(leg) = self.lists.get_mut(&kind).and_then(Lists::give_up) {
            (self.note)(&format!("{}: {} can't be read: {why}", self.lines[leg].name, method(kind)));
        }
    }

    pub(super) fn note_taken(&mut self, kind: ListingKind) {
        let taken = self.lists.get(&kind).map(Lists::taken).unwrap_or_default();
        for (leg, name, owner) in taken {
            if self.noted.insert((leg, name.to_owned())) {
                (self.note)(&format!(
                    "{}: {:?} is not shown, because {} lists one of the same name",
                    self.lines[leg].name, name, self.lines[owner].name
                ));
            }
        }
    }

    pub(super) async fn turned(&mut self, leg: usize, kind: ListingKind, message: &Message) {
        let Some(lists) = self.lists.get_mut(&kind) else { return };
        match lists.page(message, &self.lines[leg].renames) {
            Turned::Whole => {}
            Turned::More(cursor) => {
                let (id, body) = self.page(kind, Some(&cursor));
                if let Some(lists) = self.lists.get_mut(&kind) {
                    lists.go_on(id);
                }
                if let Err(why) = self.tell(leg, body) {
                    self.unread(kind, why);
                }
            }
            Turned::Unread(why) => {
                (self.note)(&format!(
                    "{}: {} can't be read: {}",
                    self.lines[leg].name,
                    method(kind),
                    why.escape_debug()
                ));
            }
        }
        self.fetch(kind).await;
    }
}
