//! Batches, message by message: each is shown to the gate as if it came alone, and
//! what passes goes on together.
//!
//! Whoever sent a batch gets one answer to it: what the gate refused of it waits
//! until the server's first answer to the rest, and goes back with that.

use bytes::Bytes;

use super::{
    exchanges::{Asked, Waiting, withheld},
    instead::{event_like, json},
    pump::Relay,
};
use crate::{
    gate::{Decision, Event, Passing},
    protocol::{self, Direction, Id, Message, Shape},
    transport::{Carrier, Exchange, Form, Frame, http},
};

/// Refusals of batches that came in lines, each with the ids that the server is
/// still to answer.
#[derive(Debug, Default)]
pub(super) struct Pending(Vec<(Vec<Id>, Vec<Bytes>)>);

/// How many batches wait with their refusals. What is more is told at once.
const MOST: usize = 256;

impl Pending {
    /// Keeps refusals until one of these is answered; hands out the oldest where there
    /// are too many.
    fn put(&mut self, ids: Vec<Id>, refusals: Vec<Bytes>) -> Option<Bytes> {
        self.0.push((ids, refusals));
        (self.0.len() > MOST).then(|| protocol::batch(&self.0.remove(0).1))
    }

    /// What goes back with the answers to these.
    fn take(&mut self, answered: &[&Id]) -> Vec<Bytes> {
        let due = self.0.extract_if(.., |(ids, _)| ids.iter().any(|id| answered.contains(&id)));
        due.flat_map(|(_, refusals)| refusals).collect()
    }

    /// What is left when the server says no more, each batch's as one.
    pub(super) fn all(self) -> impl Iterator<Item = Bytes> {
        self.0.into_iter().map(|(_, refusals)| protocol::batch(&refusals))
    }
}

impl Relay {
    /// A batch of the client's: what goes back to the client, and what goes on.
    pub(super) fn each_requestward(
        &mut self,
        mut frame: Frame,
        message: &Message,
        asked: Option<&Asked>,
    ) -> (Vec<Frame>, Option<Frame>) {
        let (mut on, mut ids, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
        let (mut headers, mut status, mut is_whole) = (Vec::new(), None, true);
        for part in message.parts() {
            let decision = self.gate.decide(&Event::Passing(Passing {
                server: &self.server,
                direction: Direction::Requestward,
                message: part,
                headers: frame.request_headers().map(Vec::as_slice),
                via: asked.map(Asked::via),
                batched: true,
            }));
            let body = match decision {
                Decision::Forward => None,
                Decision::Rewrite(rewrite) => {
                    headers.extend(rewrite.headers);
                    rewrite.body
                }
                Decision::Refuse { reply, status: wanted } => {
                    refusals.extend(reply);
                    status = status.or(wanted);
                    is_whole = false;
                    continue;
                }
                Decision::Each => {
                    is_whole = false;
                    continue;
                }
            };
            is_whole &= body.is_none();
            on.push(body.unwrap_or_else(|| part.raw().clone()));
            ids.extend(part.id().filter(|_| part.shape() == Shape::Request).cloned());
        }
        if on.is_empty() {
            let reply = (!refusals.is_empty()).then(|| protocol::batch(&refusals));
            return (self.refused(&frame, reply, status), None);
        }
        if !is_whole {
            frame.body = protocol::batch(&on);
        }
        let mut back = Vec::new();
        match frame.carrier {
            Carrier::Request { .. } => {
                let waiting = Waiting { ids, batch: true, held: refusals, ..Waiting::default() };
                self.exchanges.begin(frame.exchange, waiting);
            }
            _ if refusals.is_empty() => {}
            // Nothing will be answered to the rest.
            _ if ids.is_empty() => back.push(Frame::line(frame.exchange, protocol::batch(&refusals))),
            _ => {
                let oldest = self.pending.put(ids, refusals);
                back.extend(oldest.map(|refusals| Frame::line(frame.exchange, refusals)));
            }
        }
        (back, Some(self.dressed(frame, headers)))
    }

    /// A batch of the server's, or its whole answer to one: what goes on to the
    /// client, and what goes back to the server.
    pub(super) fn each_replyward(
        &mut self,
        mut frame: Frame,
        message: &Message,
        whole: Decision,
        behind: Option<&Asked>,
    ) -> (Vec<Frame>, Vec<Frame>) {
        let mut decided = vec![(message.clone(), whole)];
        if decided[0].1 == Decision::Each {
            decided.clear();
            for part in message.parts() {
                let decision = self.gate.decide(&Event::Passing(Passing {
                    server: &self.server,
                    direction: Direction::Replyward,
                    message: part,
                    headers: frame.reply_head().map(|head| head.headers.as_slice()),
                    via: behind.map(Asked::via),
                    batched: true,
                }));
                decided.push((part.clone(), decision));
            }
        }
        let (mut on, mut up, mut answered, mut is_whole) = (Vec::new(), Vec::new(), Vec::new(), true);
        for (part, decision) in decided {
            let body = match decision {
                Decision::Forward => part.raw().clone(),
                Decision::Rewrite(rewrite) => {
                    is_whole &= rewrite.body.is_none();
                    rewrite.body.unwrap_or_else(|| part.raw().clone())
                }
                Decision::Refuse { reply, .. } => {
                    is_whole = false;
                    match reply {
                        Some(reply) if part.shape() == Shape::Request => {
                            up.push(self.answer_server(reply));
                            continue;
                        }
                        Some(reply) => reply,
                        None => continue,
                    }
                }
                Decision::Each => {
                    is_whole = false;
                    continue;
                }
            };
            let said = Message::new(body.clone());
            if said.shape() == Shape::Response {
                self.exchanges.answered(frame.exchange, said.id());
                answered.push(said);
            }
            on.push(body);
        }
        let is_last = matches!(frame.carrier, Carrier::Reply { form: Form::Whole, .. });
        let added = if is_last {
            let waiting = self.exchanges.end(frame.exchange).unwrap_or_default();
            waiting.held.into_iter().chain(waiting.ids.iter().map(withheld)).collect()
        } else {
            self.due(frame.exchange, &frame.carrier, &answered)
        };
        is_whole &= added.is_empty();
        on.extend(added);
        let down = match (on.is_empty(), is_last) {
            (false, _) if is_whole => vec![frame],
            (false, true) => vec![json(frame.exchange, 200, protocol::batch(&on))],
            (false, false) => {
                frame.body = protocol::batch(&on);
                vec![frame]
            }
            (true, true) => vec![http::accepted(frame.exchange)],
            (true, false) => Vec::new(),
        };
        (down, up)
    }

    /// What was refused of a batch and goes back now, before a message of the server.
    pub(super) fn held(&mut self, frame: &Frame, said: &[Message]) -> Option<Frame> {
        let due = self.due(frame.exchange, &frame.carrier, said);
        (!due.is_empty()).then(|| Frame { body: protocol::batch(&due), ..event_like(frame) })
    }

    fn due(&mut self, exchange: Exchange, carrier: &Carrier, said: &[Message]) -> Vec<Bytes> {
        if matches!(carrier, Carrier::Reply { .. }) {
            return self.exchanges.held(exchange);
        }
        let answers = said.iter().filter(|message| message.shape() == Shape::Response);
        self.pending.take(&answers.filter_map(Message::id).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests;
