//! HTTP requests that still wait for an answer, and the gate as their referee.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use super::SharedGate;
use crate::{
    gate::{self, Decision, Event, Head, Hop, Via},
    protocol::{self, Id, REFUSED, ServerName, error_reply},
    transport::{self, Exchange, Go, Headers, Redirect, Referee, ReplyHead},
};

/// A request that came in on HTTP.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// The ids of the requests in it that have not been answered: one at most, unless
    /// it is a batch.
    pub(super) ids: Vec<Id>,
    /// Why the gate stopped its response, for each of them.
    pub(super) stopped: Vec<Bytes>,
    /// It is a batch, and what answers it is one.
    pub(super) batch: bool,
    /// What the gate refused of the batch: its answer is to hold these as well.
    pub(super) held: Vec<Bytes>,
    /// Its response said where a client that was cut off goes on.
    pub(super) resumes: bool,
    /// Something was sent to the client on its stream.
    pub(super) begun: bool,
}

impl Waiting {
    /// What answers it in the server's place, if somebody waits.
    pub(super) fn unanswered(self) -> Option<Bytes> {
        let Self { ids, stopped, batch, held, resumes, .. } = self;
        let missing = match stopped {
            // The reply may come on another stream.
            stopped if stopped.is_empty() && resumes => Vec::new(),
            stopped if stopped.is_empty() => ids.iter().map(withheld).collect(),
            stopped => stopped,
        };
        let all: Vec<_> = held.into_iter().chain(missing).collect();
        match all.as_slice() {
            [] => None,
            [one] if !batch => Some(one.clone()),
            all => Some(protocol::batch(all)),
        }
    }
}

/// The answer to a request whose answer did not pass.
pub(super) fn withheld(id: &Id) -> Bytes {
    error_reply(Some(id), REFUSED, "the server's answer was no answer to this request", None)
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
    pub(super) fn begin(&self, exchange: Exchange, waiting: Waiting) {
        self.lock().insert(exchange, waiting);
    }

    /// Something is sent to the client on its stream, and it still waits.
    pub(super) fn begun(&self, exchange: Exchange) {
        if let Some(waiting) = self.lock().get_mut(&exchange) {
            waiting.begun = true;
        }
    }

    /// Its reply may come on another stream.
    pub(super) fn resumes(&self, exchange: Exchange) {
        if let Some(waiting) = self.lock().get_mut(&exchange) {
            waiting.resumes = true;
        }
    }

    /// A message of its stream answers one request: all that came in, unless that
    /// was a batch.
    pub(super) fn answered(&self, exchange: Exchange, id: Option<&Id>) {
        let mut all = self.lock();
        match all.get_mut(&exchange) {
            Some(waiting) if waiting.batch => waiting.ids.retain(|waits| Some(waits) != id),
            _ => drop(all.remove(&exchange)),
        }
    }

    /// Whether a batch waits there.
    pub(super) fn is_batch(&self, exchange: Exchange) -> bool {
        self.lock().get(&exchange).is_some_and(|waiting| waiting.batch)
    }

    /// What was refused of the batch that came in, once.
    pub(super) fn held(&self, exchange: Exchange) -> Vec<Bytes> {
        self.lock().get_mut(&exchange).map(|waiting| std::mem::take(&mut waiting.held)).unwrap_or_default()
    }

    /// It was answered, or nobody can answer it any more.
    pub(super) fn end(&self, exchange: Exchange) -> Option<Waiting> {
        self.lock().remove(&exchange)
    }

    /// The requests that an exchange carries, if it carries any.
    fn asked(&self, exchange: Exchange) -> Vec<Id> {
        self.lock().get(&exchange).map(|waiting| waiting.ids.clone()).unwrap_or_default()
    }

    /// Asks about the response to all requests of an exchange; `event` makes the event
    /// of each.
    fn judge<'a>(&self, exchange: Exchange, asked: &'a [Id], event: impl Fn(Option<&'a Id>) -> Event<'a>) -> Go {
        let mut all = asked.iter().map(Some);
        let Decision::Refuse { reply, .. } = self.gate.decide(&event(all.next().flatten())) else { return Go::On };
        // The others get no answer either.
        let rest = all.filter_map(|id| match self.gate.decide(&event(id)) {
            Decision::Refuse { reply, .. } => reply,
            _ => id.map(withheld),
        });
        let stopped = reply.into_iter().chain(rest).collect();
        if let Some(waiting) = self.lock().get_mut(&exchange) {
            waiting.stopped = stopped;
        }
        Go::Stop
    }
}

impl Referee for Exchanges {
    fn head(&self, exchange: Exchange, head: &ReplyHead) -> Go {
        let (asked, behind) = (self.asked(exchange), self.behind(exchange));
        self.judge(exchange, &asked, |answers| {
            Event::Head(Head {
                server: &self.server,
                answers,
                via: behind.as_deref().map(Asked::via),
                status: head.status,
                headers: &head.headers,
            })
        })
    }

    fn redirect(&self, exchange: Exchange, redirect: &Redirect) -> Go {
        let asked = self.asked(exchange);
        self.judge(exchange, &asked, |answers| {
            Event::Hop(Hop {
                server: &self.server,
                answers,
                from: &redirect.from,
                to: &redirect.to,
                status: redirect.status,
            })
        })
    }
}
