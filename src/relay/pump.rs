//! Moves frames between the two legs of one server.

use std::sync::Arc;

use bytes::Bytes;

use super::{Exchanges, SharedGate};
use crate::{
    gate::{Decision, Event, Passing},
    protocol::{Direction, Id, Message, REFUSED, ServerName, Shape, error_reply},
    transport::{Carrier, Connection, Exchange, Form, Frame, Verb, http},
};

/// Relays until either leg ends. What the server still says after the client
/// has closed is carried to the end.
pub async fn pump(exchanges: Exchanges, mut downstream: Connection, upstream: Connection) {
    let Connection { outgoing: to_server, incoming: mut from_server, tasks, .. } = upstream;
    let mut to_server = Some(to_server);
    let relay = Relay { gate: exchanges.gate.clone(), server: exchanges.server.clone(), exchanges };
    loop {
        let (down, up) = tokio::select! {
            biased;
            frame = from_server.recv() => match frame {
                Some(frame) => (relay.replyward(frame), None),
                None => break,
            },
            frame = downstream.incoming.recv(), if to_server.is_some() => {
                let Some(frame) = frame else {
                    to_server = None;
                    continue;
                };
                relay.requestward(frame)
            }
        };
        if let (Some(frame), Some(to_server)) = (up, &to_server)
            && to_server.send(frame).await.is_err()
        {
            break;
        }
        for frame in down {
            if downstream.outgoing.send(frame).await.is_err() {
                break;
            }
        }
    }
    drop(tasks);
}

#[derive(Debug)]
struct Relay {
    gate: SharedGate,
    server: ServerName,
    exchanges: Exchanges,
}

impl Relay {
    /// What goes back to the client, and what goes on to the server.
    fn requestward(&self, mut frame: Frame) -> (Vec<Frame>, Option<Frame>) {
        if let Carrier::Request { headers, .. } = &mut frame.carrier {
            // The host is the gate's own on this leg and the server's on the next.
            headers.retain(|(name, _)| name != "host");
        }
        let message = Message::new(frame.body.clone());
        if matches!(frame.carrier, Carrier::Request { verb: Verb::Post, .. }) {
            let id = (message.shape() == Shape::Request).then(|| message.id().cloned()).flatten();
            self.exchanges.begin(frame.exchange, id);
        }
        let decision = self.gate.decide(&Event::Passing(Passing {
            server: &self.server,
            direction: Direction::Requestward,
            message: &message,
            headers: frame.request_headers().map(Vec::as_slice),
        }));
        match decision {
            Decision::Forward => (Vec::new(), Some(frame)),
            Decision::Rewrite(rewrite) => {
                if let Some(body) = rewrite.body {
                    frame.body = body;
                }
                if let Carrier::Request { headers, .. } = &mut frame.carrier {
                    for (name, value) in rewrite.headers {
                        headers.retain(|(known, _)| *known != name);
                        headers.extend(value.map(|value| (name, value)));
                    }
                }
                (Vec::new(), Some(frame))
            }
            Decision::Refuse { reply } => {
                if matches!(frame.carrier, Carrier::Line) {
                    return (reply.map(|body| Frame::line(frame.exchange, body)).into_iter().collect(), None);
                }
                self.exchanges.end(frame.exchange);
                let answer = match reply {
                    Some(body) => json(frame.exchange, body),
                    None => http::accepted(frame.exchange),
                };
                (vec![answer], None)
            }
        }
    }

    /// What goes on to the client.
    fn replyward(&self, mut frame: Frame) -> Vec<Frame> {
        let (head, form) = match &frame.carrier {
            Carrier::Reply { head, form } => (Some(Arc::clone(head)), *form),
            _ => (None, Form::Event),
        };
        match form {
            Form::Stopped => return vec![self.stopped(frame.exchange)],
            Form::End => {
                let unanswered = self.exchanges.end(frame.exchange).and_then(|waiting| waiting.id);
                let withheld = unanswered.map(|id| Frame { body: withheld(&id), ..event_like(&frame) });
                return withheld.into_iter().chain([frame]).collect();
            }
            Form::Whole | Form::Event => {}
        }
        let message = Message::new(frame.body.clone());
        // An error page is no message: the status code is for the client to act on.
        let error_page =
            head.as_ref().is_some_and(|head| !(200..300).contains(&head.status)) && message.shape() != Shape::Response;
        if frame.body.is_empty() || error_page {
            if form == Form::Whole {
                self.exchanges.end(frame.exchange);
            }
            return vec![frame];
        }
        let decision = self.gate.decide(&Event::Passing(Passing {
            server: &self.server,
            direction: Direction::Replyward,
            message: &message,
            headers: head.as_ref().map(|head| head.headers.as_slice()),
        }));
        let waiting = if form == Form::Whole || message.shape() == Shape::Response {
            // An event stream's reply settles its request only if it passes in
            // some form; see below.
            self.exchanges.end(frame.exchange)
        } else {
            None
        };
        match decision {
            Decision::Forward => vec![frame],
            Decision::Rewrite(rewrite) => {
                if let Some(body) = rewrite.body {
                    frame.body = body;
                }
                vec![frame]
            }
            Decision::Refuse { reply: Some(body) } if form == Form::Whole => vec![json(frame.exchange, body)],
            Decision::Refuse { reply: Some(body) } => vec![Frame { body, ..frame }],
            Decision::Refuse { reply: None } if head.is_none() => Vec::new(),
            Decision::Refuse { reply: None } if form == Form::Whole => match waiting.and_then(|waiting| waiting.id) {
                Some(id) => vec![json(frame.exchange, withheld(&id))],
                None => vec![http::accepted(frame.exchange)],
            },
            Decision::Refuse { reply: None } => {
                // The stream may still bring the real reply.
                if let Some(waiting) = waiting {
                    self.exchanges.begin(frame.exchange, waiting.id);
                }
                Vec::new()
            }
        }
    }

    /// The answer to a request whose response the gate stopped at its head.
    fn stopped(&self, exchange: Exchange) -> Frame {
        // A GET or a DELETE carries no message: its answer is that there is none.
        let Some(waiting) = self.exchanges.end(exchange) else {
            return http::whole(exchange, 405, Vec::new(), Bytes::new());
        };
        match (waiting.id, waiting.stopped) {
            (Some(_), Some(refusal)) => json(exchange, refusal),
            (Some(id), None) => json(exchange, withheld(&id)),
            (None, _) => http::accepted(exchange),
        }
    }
}

fn withheld(id: &Id) -> Bytes {
    error_reply(Some(id), REFUSED, "the server's answer was no answer to this request", None)
}

fn event_like(frame: &Frame) -> Frame {
    let carrier = match &frame.carrier {
        Carrier::Reply { head, .. } => Carrier::Reply { head: Arc::clone(head), form: Form::Event },
        other => other.clone(),
    };
    Frame { carrier, ..frame.clone() }
}

fn json(exchange: Exchange, body: Bytes) -> Frame {
    http::whole(exchange, 200, vec![("content-type".to_owned(), "application/json".to_owned())], body)
}
