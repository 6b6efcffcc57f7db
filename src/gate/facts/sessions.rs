//! Who speaks: principals, the sessions that they opened, and what they were handed.

use std::collections::{HashMap, VecDeque};

use super::super::{Head, Passing, Verb, Via};
use crate::{
    digest::{Fingerprint, fingerprint},
    protocol::{Message, meta, strict::Node},
};

/// How many sessions and how many states are remembered; the oldest goes first,
/// and whoever comes back with it starts afresh.
const REMEMBERED: usize = 4096;

/// Who sent something. A connection without HTTP has one principal, which has no
/// name here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Who {
    /// The digest of the credentials; `None` for whoever brings none.
    pub principal: Option<Fingerprint>,
    /// The digest of the session id, where one is given.
    pub session: Option<Fingerprint>,
}

impl Who {
    /// By what the server's requests are counted: the session, or else the principal.
    pub fn seat(self) -> Option<Fingerprint> {
        self.session.or(self.principal)
    }

    /// Who sent an HTTP request, told by the headers that name principals.
    pub(super) fn of(via: Option<Via<'_>>, principals: &[String]) -> Self {
        let Some(Via { headers, .. }) = via else { return Self::default() };
        let mut named = String::new();
        for (name, value) in headers.iter().filter(|(name, _)| principals.iter().any(|known| known == name)) {
            named.extend([name, ":", value.trim(), "\n"]);
        }
        let principal = (!named.is_empty()).then(|| Fingerprint::of(named.as_bytes()));
        Self { principal, session: sessions(headers).next().map(session) }
    }
}

/// The session ids in some headers; more than one is nobody's habit.
pub(in crate::gate) fn sessions(headers: &[(String, String)]) -> impl Iterator<Item = &str> {
    headers.iter().filter(|(name, _)| name == "mcp-session-id").map(|(_, value)| value.as_str())
}

/// The digest that a session id is known by.
pub(in crate::gate) fn session(id: &str) -> Fingerprint {
    Fingerprint::of(id.trim().as_bytes())
}

/// A session that a server opened.
#[derive(Clone, Debug)]
pub struct Session {
    /// Whose it is.
    pub principal: Option<Fingerprint>,
    /// It was ended, by its owner or by the server.
    pub over: bool,
    /// The client's `initialize`, with what it declared.
    pub initialize: Message,
    /// The client said that it is ready.
    pub initialized: bool,
}

/// What a `requestState` was handed out for: it is good for that alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateUse {
    principal: Option<Fingerprint>,
    method: String,
    target: Option<String>,
    arguments: Option<Fingerprint>,
}

impl StateUse {
    /// Stands for the use among others.
    pub(super) fn digest(&self) -> Fingerprint {
        let text = |text: &str| Some(Fingerprint::of(text.as_bytes()));
        let target = self.target.as_deref().and_then(text);
        Fingerprint::of_all(&[self.principal, text(&self.method), target, self.arguments])
    }

    /// The use that a request makes of a state that it brings.
    pub fn of(request: &Message, who: Who) -> Option<Self> {
        let method = request.method().filter(|method| meta::IN_ROUNDS.contains(method))?;
        let params = request.params();
        let target = params.and_then(|params| params.member(if method == "resources/read" { "uri" } else { "name" }));
        let arguments = params.and_then(|params| params.member("arguments"));
        Some(Self {
            principal: who.principal,
            method: method.to_owned(),
            target: target.and_then(Node::as_str).map(str::to_owned),
            arguments: arguments.map(|node| fingerprint(request.raw(), node)),
        })
    }
}

/// A map that forgets its oldest entries.
#[derive(Debug)]
pub(super) struct Remembered<T> {
    entries: HashMap<Fingerprint, T>,
    order: VecDeque<Fingerprint>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new() }
    }
}

impl<T> Remembered<T> {
    pub(super) fn get(&self, key: &Fingerprint) -> Option<&T> {
        self.entries.get(key)
    }

    fn get_mut(&mut self, key: &Fingerprint) -> Option<&mut T> {
        self.entries.get_mut(key)
    }

    pub(super) fn put(&mut self, key: Fingerprint, value: T) {
        if self.entries.insert(key, value).is_none() {
            self.order.push_back(key);
            if self.order.len() > REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.entries.remove(&oldest);
            }
        }
    }

    /// Changes every entry.
    pub(super) fn each(&mut self, change: impl FnMut(&mut T)) {
        self.entries.values_mut().for_each(change);
    }

    /// Takes an entry out.
    pub(super) fn take(&mut self, key: &Fingerprint) -> Option<T> {
        let found = self.entries.remove(key)?;
        self.order.retain(|known| known != key);
        Some(found)
    }

    /// The entry, made where there is none.
    pub(super) fn entry(&mut self, key: Fingerprint) -> &mut T
    where
        T: Default,
    {
        if !self.entries.contains_key(&key) {
            self.put(key, T::default());
        }
        self.entries.entry(key).or_default()
    }
}

/// The sessions of one server, and the states that it handed out.
#[derive(Debug, Default)]
pub struct Sessions {
    issued: Remembered<Session>,
    states: Remembered<Vec<StateUse>>,
}

impl Sessions {
    /// A session by the digest of its id.
    pub fn get(&self, session: &Fingerprint) -> Option<&Session> {
        self.issued.get(session)
    }

    /// What a state was handed out for; empty where it never was.
    pub fn uses(&self, state: &Fingerprint) -> &[StateUse] {
        self.states.get(state).map_or(&[], Vec::as_slice)
    }

    /// The server opened a session: `true` where it is somebody else's already.
    pub(super) fn opened(&mut self, passing: &Passing<'_>, request: &Message, owner: Who) -> bool {
        let Some(headers) = passing.headers else { return false };
        let mut foreign = false;
        for id in sessions(headers).map(session) {
            match self.issued.get(&id) {
                Some(known) if known.principal != owner.principal => foreign = true,
                _ => {
                    let (principal, initialize) = (owner.principal, request.clone());
                    self.issued.put(id, Session { principal, over: false, initialize, initialized: false });
                }
            }
        }
        foreign
    }

    /// The client of a session says that it is ready.
    pub(super) fn ready(&mut self, who: Who) {
        if let Some(session) = who.session.and_then(|id| self.issued.get_mut(&id)) {
            session.initialized = true;
        }
    }

    /// A response came whose status may end the session that it was asked in.
    pub(super) fn answered(&mut self, head: &Head<'_>, who: Who) {
        let ended = match head.via.map(|via| via.verb) {
            Some(Verb::Delete) => matches!(head.status, 200..300 | 404),
            // A server that has no such stream may say so with a 404 as well.
            Some(Verb::Get) => false,
            _ => head.status == 404,
        };
        if ended
            && let Some(session) = who.session.and_then(|id| self.issued.get_mut(&id))
            && session.principal == who.principal
        {
            session.over = true;
        }
    }

    /// A result hands out a state.
    pub(super) fn handed_out(&mut self, result: &Node, raw: &[u8], request: &Message, owner: Who) {
        for state in result.members().iter().filter(|member| member.key == "requestState") {
            if let Some(good_for) = StateUse::of(request, owner) {
                self.states.entry(fingerprint(raw, &state.value)).push(good_for);
            }
        }
    }
}
