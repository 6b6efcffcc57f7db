//! A gate that tells the client "no" and asks the server all the same.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

use crate::{
    gate::{Decision, Event, Gate, Guarded, Head, Hop, Passing, Ruling},
    protocol::{Direction, Id, Message, ServerName, Shape},
};

/// Refuses as the reference gate does. What was refused goes to the server as it
/// came, and the refusal takes the place of the server's reply.
#[derive(Debug)]
pub(super) struct Leaky {
    reference: Guarded,
    /// Refusals that wait for the server's reply to come, by the request's id.
    due: HashMap<(ServerName, Id), VecDeque<Bytes>>,
}

impl Leaky {
    pub(super) fn new(reference: Guarded) -> Self {
        Self { reference, due: HashMap::new() }
    }

    fn is_due(&self, server: &ServerName, id: Option<&Id>) -> bool {
        id.is_some_and(|id| self.due.get(&(server.clone(), id.clone())).is_some_and(|due| !due.is_empty()))
    }

    /// Takes the refusal that waits for this reply.
    fn take(&mut self, server: &ServerName, message: &Message) -> Option<Bytes> {
        let id = message.id().filter(|_| message.shape() == Shape::Response)?;
        self.due.get_mut(&(server.clone(), id.clone()))?.pop_front()
    }
}

impl Gate for Leaky {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        match event {
            // The reference gate thinks that these were never asked.
            Event::Head(Head { server, answers, .. }) | Event::Hop(Hop { server, answers, .. })
                if self.is_due(server, *answers) =>
            {
                Ruling::forward()
            }
            Event::Passing(Passing { server, direction: Direction::Replyward, message, .. }) => {
                match self.take(server, message) {
                    Some(refusal) => Ruling {
                        decision: Decision::Refuse { reply: Some(refusal), status: None },
                        ..Ruling::forward()
                    },
                    None => self.reference.decide(event),
                }
            }
            Event::Passing(Passing { server, direction: Direction::Requestward, .. }) => {
                let ruling = self.reference.decide(event);
                let Decision::Refuse { reply, .. } = ruling.decision else { return ruling };
                if let Some((id, refusal)) = reply.and_then(|reply| Some((id_of(&reply)?, reply))) {
                    self.due.entry(((*server).clone(), id)).or_default().push_back(refusal);
                }
                Ruling { decision: Decision::Forward, ..ruling }
            }
            _ => self.reference.decide(event),
        }
    }
}

fn id_of(reply: &Bytes) -> Option<Id> {
    Message::new(reply.clone()).id().cloned()
}
