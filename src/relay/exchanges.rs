//! HTTP requests that still wait for an answer, and the gate as their referee.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use super::SharedGate;
use crate::{
    gate::{self, Decision, Event, Head, Hop, Via},
    protocol::{Id, ServerName},
    transport::{self, Exchange, Go, Headers, Redirect, Referee, ReplyHead},
};

/// A request that came in on HTTP.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// The id of the request in it.
    pub(super) id: Option<Id>,
    /// Why the gate stopped its response.
    pub(super) stopped: Option<Bytes>,
    /// Something was sent to the client on its stream.
    begun: bool,
}

/// Requests that wait, by exchange; asked as the referee of the upstream leg.
#[derive(Clone, Debug)]
pub struct Exchanges {
    pub(super) gate: SharedGate,
    pub(super) server: ServerName,
    waiting: Arc<Mutex<HashMap<Exchange, Waiting>>>,
    open: Arc<Mutex<HashMap<Exchange, Arc<Asked>>>>,
}

/// The client's HTTP request behind an exchange, for as long as it is open.
#[derive(Debug)]
pub(super) struct Asked {
    verb: gate::Verb,
    headers: Headers,
}

impl Asked {
    pub(super) fn new(verb: transport::Verb, headers: &Headers) -> Self {
        let verb = match verb {
            transport::Verb::Post => gate::Verb::Post,
            transport::Verb::Get => gate::Verb::Get,
            transport::Verb::Delete => gate::Verb::Delete,
        };
        Self { verb, headers: headers.clone() }
    }

    pub(super) fn via(&self) -> Via<'_> {
        Via { verb: self.verb, headers: &self.headers }
    }
}

impl Exchanges {
    /// None waiting yet.
    pub fn new(gate: SharedGate, server: ServerName) -> Self {
        Self { gate, server, waiting: Arc::default(), open: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Exchange, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<Exchange, Arc<Asked>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client asked.
    pub(super) fn open(&self, exchange: Exchange, asked: &Arc<Asked>) {
        self.opened().insert(exchange, Arc::clone(asked));
    }

    /// The request behind an exchange.
    pub(super) fn behind(&self, exchange: Exchange) -> Option<Arc<Asked>> {
        self.opened().get(&exchange).cloned()
    }

    /// Nothing more will come on an exchange.
    pub(super) fn over(&self, exchange: Exchange) {
        self.opened().remove(&exchange);
    }

    /// A request came in.
    pub(super) fn begin(&self, exchange: Exchange, id: Option<Id>) {
        self.lock().insert(exchange, Waiting { id, ..Waiting::default() });
    }

    /// Something is sent to the client for it, and it still waits.
    pub(super) fn begun(&self, exchange: Exchange) {
        if let Some(waiting) = self.lock().get_mut(&exchange) {
            waiting.begun = true;
        }
    }

    /// Whether something was sent to the client for it already.
    pub(super) fn is_begun(&self, exchange: Exchange) -> bool {
        self.lock().get(&exchange).is_some_and(|waiting| waiting.begun)
    }

    /// What seemed to answer it did not.
    pub(super) fn put_back(&self, exchange: Exchange, waiting: Waiting) {
        self.lock().insert(exchange, waiting);
    }

    /// It was answered, or nobody can answer it any more.
    pub(super) fn end(&self, exchange: Exchange) -> Option<Waiting> {
        self.lock().remove(&exchange)
    }

    /// The request that an exchange carries, if it carries one.
    fn asked(&self, exchange: Exchange) -> Option<Id> {
        self.lock().get(&exchange).and_then(|waiting| waiting.id.clone())
    }

    fn judge(&self, exchange: Exchange, event: &Event<'_>) -> Go {
        match self.gate.decide(event) {
            Decision::Forward | Decision::Rewrite(_) => Go::On,
            Decision::Refuse { reply, .. } => {
                if let Some(waiting) = self.lock().get_mut(&exchange) {
                    waiting.stopped = reply;
                }
                Go::Stop
            }
        }
    }
}

impl Referee for Exchanges {
    fn head(&self, exchange: Exchange, head: &ReplyHead) -> Go {
        let (asked, behind) = (self.asked(exchange), self.behind(exchange));
        let event = Event::Head(Head {
            server: &self.server,
            answers: asked.as_ref(),
            via: behind.as_deref().map(Asked::via),
            status: head.status,
            headers: &head.headers,
        });
        self.judge(exchange, &event)
    }

    fn redirect(&self, exchange: Exchange, redirect: &Redirect) -> Go {
        let asked = self.asked(exchange);
        let event = Event::Hop(Hop {
            server: &self.server,
            answers: asked.as_ref(),
            from: &redirect.from,
            to: &redirect.to,
            status: redirect.status,
        });
        self.judge(exchange, &event)
    }
}
