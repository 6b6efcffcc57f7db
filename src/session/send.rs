//! Sends what single steps send, one or several at once.

use std::collections::BTreeMap;

use base64::Engine as _;
use bytes::Bytes;

use super::{Session, World, peer::Awaited, wire};
use crate::{
    case::{self, Obey, OwnHeaders, Piece, Step, Until, blown_up},
    protocol::{Id, Message, ServerName, Shape},
    transcript::{Answer, Mark},
    transport::{Exchange, Verb},
};

/// A request that was sent: its mark, and what it waits for.
pub(super) struct Sent {
    pub(super) mark: Mark,
    pub(super) awaited: Awaited,
}

impl Sent {
    /// A batch of requests whose answers are awaited is as many steps under one label.
    fn each(self) -> Vec<Self> {
        let batch = Message::new(self.mark.sent.clone());
        let requests: Vec<_> = batch.parts().iter().filter(|part| part.shape() == Shape::Request).collect();
        if requests.is_empty() || self.awaited.until != Until::Reply {
            return vec![self];
        }
        let one = |part: &&Message| {
            let id = part.id().cloned();
            let mark = Mark {
                id: id.clone(),
                method: part.method().map(str::to_owned),
                tool: part.called_tool().map(str::to_owned),
                sent: part.raw().clone(),
                ..self.mark.clone()
            };
            let Awaited { exchange, until, sent, .. } = self.awaited;
            Self { mark, awaited: Awaited { id, exchange, until, answer: None, sent, took: None } }
        };
        requests.iter().map(one).collect()
    }
}

impl<'a, W: World> Session<'a, W> {
    /// Sends these at once, every repetition among them, and waits for all.
    pub(super) async fn together(&mut self, steps: &'a [Step], n: Option<usize>) -> Result<(), String> {
        let mut by_server: BTreeMap<ServerName, Vec<Sent>> = BTreeMap::new();
        for step in steps {
            let rounds = match step {
                Step::Repeat(repeat) => (1..=repeat.times).map(Some).collect(),
                _ => vec![n],
            };
            let single = if matches!(step, Step::Repeat(_)) { step.inner() } else { std::slice::from_ref(step) };
            for (n, step) in rounds.into_iter().flat_map(|n| single.iter().map(move |step| (n, step))) {
                let server = step.server().cloned().unwrap_or_else(|| self.case.first_server());
                let sent = self.send_step(&server, step, n).await?;
                by_server.entry(server).or_default().extend(sent);
            }
        }
        for (server, sent) in by_server {
            self.settle(&server, sent).await?;
        }
        Ok(())
    }

    /// Sends what a step sends: nothing where the host saw no reason to, and as many
    /// requests as there are in a batch.
    pub(super) async fn send_step(
        &mut self,
        server: &ServerName,
        authored: &Step,
        n: Option<usize>,
    ) -> Result<Vec<Sent>, String> {
        let label = self.label(authored);
        let filled = n.map(|n| authored.nth(n));
        let id = self.fresh_id();
        let none = OwnHeaders::new();
        let (mut verb, mut bare) = (Verb::Post, false);
        let mut wire: &[Piece] = &[];
        let (body, until, id, own): (Bytes, Until, Option<Id>, _) = match filled.as_ref().unwrap_or(authored) {
            Step::Call(call) => {
                (wire::request(&id, "tools/call", Some(&wire::call(call))).into(), call.until, Some(id), &call.headers)
            }
            Step::Obey(Obey { seen, call }) => {
                if !self.client_saw(seen) {
                    return Ok(Vec::new());
                }
                (wire::request(&id, "tools/call", Some(&wire::call(call))).into(), call.until, Some(id), &call.headers)
            }
            Step::Request(request) => {
                let text = wire::request(&id, &request.method, request.params.as_deref());
                (text.into(), request.until, Some(id), &request.headers)
            }
            Step::Notify(notify) => {
                (wire::notification(&notify.method, notify.params.as_deref()).into(), Until::Sent, None, &none)
            }
            Step::Send(raw) => {
                wire = &raw.wire;
                bare = raw.bare;
                verb = match raw.verb {
                    case::Verb::Post => Verb::Post,
                    case::Verb::Get => Verb::Get,
                    case::Verb::Delete => Verb::Delete,
                };
                let body: Bytes = match (&raw.text, &raw.base64) {
                    (None, None) if verb != Verb::Post => Bytes::new(),
                    (Some(text), _) => blown_up(&text.replace("{{id}}", &id.to_json())).into(),
                    (None, None) if !wire.is_empty() => Bytes::new(),
                    (None, Some(text)) => base64::engine::general_purpose::STANDARD
                        .decode(text)
                        .map_err(|error| format!("step '{label}': not base64: {error}"))?
                        .into(),
                    (None, None) => return Err(format!("step '{label}' sends neither text nor base64")),
                };
                let own = Message::new(body.clone()).id().cloned();
                (body, raw.until, own, &raw.headers)
            }
            _ => return Err(format!("step '{label}' can't stand in a group")),
        };
        let sent = self.send(server, label, id, until, body, ((verb, bare), own, wire)).await?;
        Ok(sent.each())
    }

    pub(super) async fn send(
        &mut self,
        server: &ServerName,
        label: String,
        id: Option<Id>,
        until: Until,
        body: Bytes,
        ((verb, bare), own, wire): ((Verb, bool), &OwnHeaders, &[Piece]),
    ) -> Result<Sent, String> {
        self.next += 1;
        let exchange = Exchange(self.next);
        let peer = self.peers.get_mut(server).ok_or_else(|| format!("{server} was not opened"))?;
        let body = match peer.stateless.as_ref().filter(|_| !bare) {
            Some(stateless) => stateless.woven(body),
            None => body,
        };
        let message = Message::new(body.clone());
        let mark = Mark {
            label,
            server: server.clone(),
            id: id.clone(),
            method: message.method().map(str::to_owned),
            tool: message.called_tool().map(str::to_owned),
            sent: body.clone(),
            answer: Answer::NotAwaited,
            took: None,
        };
        if message.method() == Some("subscriptions/listen") {
            peer.subscription.clone_from(&id);
        }
        let sent = if wire.is_empty() {
            peer.send(&self.recorder, exchange, body, (verb, bare), own).await
        } else {
            self.unanswered |= peer.http && wire.iter().any(|piece| piece.goes_on_after("sent"));
            peer.write(&self.recorder, exchange, &body, ((verb, bare), own), wire).await
        };
        // On HTTP even a notification has a response, and waiting for it keeps
        // the order of steps.
        let nothing_comes = until == Until::Sent && !(peer.http && mark.id.is_none());
        let answer = nothing_comes.then_some(Answer::NotAwaited);
        Ok(Sent { mark, awaited: Awaited { id, exchange, until, answer, sent, took: None } })
    }
}
