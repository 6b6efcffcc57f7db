//! HTTP requests that still wait for an answer, and the gate as their referee.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use super::SharedGate;
use crate::{
    gate::{Decision, Event, Head, Hop},
    protocol::{Id, ServerName},
    transport::{Exchange, Go, Redirect, Referee, ReplyHead},
};

/// A request that came in on HTTP.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// The id of the request in it.
    pub(super) id: Option<Id>,
    /// Why the gate stopped its response.
    pub(super) stopped: Option<Bytes>,
}

/// Requests that wait, by exchange; asked as the referee of the upstream leg.
#[derive(Clone, Debug)]
pub struct Exchanges {
    pub(super) gate: SharedGate,
    pub(super) server: ServerName,
    waiting: Arc<Mutex<HashMap<Exchange, Waiting>>>,
}

impl Exchanges {
    /// None waiting yet.
    pub fn new(gate: SharedGate, server: ServerName) -> Self {
        Self { gate, server, waiting: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Exchange, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request came in.
    pub(super) fn begin(&self, exchange: Exchange, id: Option<Id>) {
        self.lock().insert(exchange, Waiting { id, stopped: None });
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
        let asked = self.asked(exchange);
        let event = Event::Head(Head {
            server: &self.server,
            answers: asked.as_ref(),
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
