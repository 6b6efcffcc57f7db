//! Moves frames between the two legs of one server.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{Exchanges, SharedGate, exchanges::Asked};
use crate::{
    gate::{Decision, Event, Passing},
    protocol::{Direction, Id, Message, REFUSED, ServerName, Shape, error_reply},
    transport::{Carrier, Connection, Exchange, Form, Frame, Headers, Ledger, Verb, http},
};

/// Relays until either leg ends. What the server still says after the client
/// has closed is carried to the end.
pub async fn pump(exchanges: Exchanges, mut downstream: Connection, upstream: Connection) {
    let Connection { outgoing: to_server, incoming: mut from_server, tasks, .. } = upstream;
    let mut to_server = Some(to_server);
    let mut client_speaks = true;
    let (mut up_ledger, mut down_ledger) = (Ledger::default(), Ledger::default());
    let mut relay =
        Relay { gate: exchanges.gate.clone(), server: exchanges.server.clone(), exchanges, dress: None, answers: 0 };
    loop {
        let passed = tokio::select! {
            biased;
            frame = from_server.recv() => match frame {
                Some(frame) => Some(relay.replyward(frame)),
                None => break,
            },
            (room, frame) = next(&mut downstream.incoming, to_server.as_ref(), &mut up_ledger), if client_speaks => {
                frame.map(|frame| {
                    let (down, up) = relay.requestward(frame);
                    if let (Some(room), Some(frame)) = (room, up) {
                        up_ledger.sent(frame.body.len());
                        room.send(frame);
                    }
                    (down, None)
                })
            }
        };
        let Some((down, up)) = passed else {
            client_speaks = false;
            to_server = None;
            continue;
        };
        if let (Some(frame), Some(sender)) = (up, &to_server) {
            up_ledger.sent(frame.body.len());
            if sender.send(frame).await.is_err() {
                to_server = None;
            }
        }
        for frame in down {
            let length = frame.body.len();
            let _ = down_ledger.room(&downstream.outgoing, length).await;
            down_ledger.sent(length);
            if downstream.outgoing.send(frame).await.is_err() {
                break;
            }
        }
    }
    drop(tasks);
}

/// The client's next message, once the server has room for it: whoever waits for
/// room in one direction while the other is full waits for ever. A server that
/// listens no more may still have something to say, so what comes for it is
/// looked at and goes no further.
async fn next<'a>(
    client: &mut mpsc::Receiver<Frame>,
    to_server: Option<&'a mpsc::Sender<Frame>>,
    ledger: &mut Ledger,
) -> (Option<mpsc::Permit<'a, Frame>>, Option<Frame>) {
    let room = match to_server {
        Some(to_server) => {
            // How long the message is shows when it has come: any may be the last.
            let _ = ledger.room(to_server, 0).await;
            to_server.reserve().await.ok()
        }
        None => None,
    };
    (room, client.recv().await)
}

#[derive(Debug)]
struct Relay {
    gate: SharedGate,
    server: ServerName,
    exchanges: Exchanges,
    /// The headers that the server got with the client's latest message on HTTP:
    /// what the gate says to the server itself travels in the same session.
    dress: Option<Headers>,
    /// How often the gate answered the server itself on HTTP.
    answers: u64,
}

/// Exchanges of the gate's own count down from here; the client's count up.
const OWN: u64 = u64::MAX;

impl Relay {
    /// What goes back to the client, and what goes on to the server.
    fn requestward(&mut self, mut frame: Frame) -> (Vec<Frame>, Option<Frame>) {
        let message = Message::new(frame.body.clone());
        let asked = match &frame.carrier {
            Carrier::Request { verb, headers } => Some(Arc::new(Asked::new(*verb, headers))),
            _ => None,
        };
        if let Some(asked) = &asked {
            self.exchanges.open(frame.exchange, asked);
        }
        if matches!(frame.carrier, Carrier::Request { verb: Verb::Post, .. }) {
            let id = (message.shape() == Shape::Request).then(|| message.id().cloned()).flatten();
            self.exchanges.begin(frame.exchange, id);
        }
        let decision = self.gate.decide(&Event::Passing(Passing {
            server: &self.server,
            direction: Direction::Requestward,
            message: &message,
            headers: frame.request_headers().map(Vec::as_slice),
            via: asked.as_deref().map(Asked::via),
        }));
        if let Carrier::Request { headers, .. } = &mut frame.carrier {
            // The host is the gate's own on this leg and the server's on the next.
            headers.retain(|(name, _)| name != "host");
        }
        match decision {
            Decision::Forward => (Vec::new(), Some(self.dressed(frame))),
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
                (Vec::new(), Some(self.dressed(frame)))
            }
            Decision::Refuse { reply, status } => {
                if matches!(frame.carrier, Carrier::Line) {
                    return (reply.map(|body| Frame::line(frame.exchange, body)).into_iter().collect(), None);
                }
                self.exchanges.end(frame.exchange);
                self.exchanges.over(frame.exchange);
                let answer = match reply {
                    Some(body) => json(frame.exchange, status.unwrap_or(200), body),
                    None => http::whole(frame.exchange, status.unwrap_or(202), Headers::new(), Bytes::new()),
                };
                (vec![answer], None)
            }
        }
    }

    /// Remembers how the client's messages are dressed on HTTP.
    fn dressed(&mut self, frame: Frame) -> Frame {
        if let Carrier::Request { verb: Verb::Post, headers } = &frame.carrier {
            self.dress = Some(headers.clone());
        }
        frame
    }

    /// The gate's own answer to a request of the server's.
    fn answer_server(&mut self, body: Bytes) -> Frame {
        let Some(headers) = self.dress.clone() else { return Frame::line(Exchange::NONE, body) };
        self.answers += 1;
        Frame { exchange: Exchange(OWN - self.answers), carrier: Carrier::Request { verb: Verb::Post, headers }, body }
    }

    fn is_own(&self, exchange: Exchange) -> bool {
        exchange.0 > OWN - self.answers - 1 && exchange.0 < OWN
    }

    /// What goes on to the client, and what goes back to the server.
    fn replyward(&mut self, frame: Frame) -> (Vec<Frame>, Option<Frame>) {
        // Nobody waits for what a server says to an answer of the gate's own.
        if self.is_own(frame.exchange) {
            return (Vec::new(), None);
        }
        let message = Message::new(frame.body.clone());
        let (exchange, over) = (frame.exchange, is_last(&frame));
        let behind = self.exchanges.behind(exchange);
        let passed = if message.shape() == Shape::Request && !matches!(frame.carrier, Carrier::Request { .. }) {
            self.asked(frame, &message, behind.as_deref())
        } else {
            (self.replied(frame, behind.as_deref()), None)
        };
        if over {
            self.exchanges.over(exchange);
        }
        passed
    }

    /// A request of the server's: what goes on to the client, or back.
    fn asked(&mut self, mut frame: Frame, message: &Message, behind: Option<&Asked>) -> (Vec<Frame>, Option<Frame>) {
        let decision = self.gate.decide(&Event::Passing(Passing {
            server: &self.server,
            direction: Direction::Replyward,
            message,
            headers: frame.reply_head().map(|head| head.headers.as_slice()),
            via: behind.map(Asked::via),
        }));
        // A request that is the whole of a response leaves nothing to come for the
        // one who waits.
        let mut instead = Vec::new();
        if is_last(&frame)
            && let Some(waiting) = self.exchanges.end(frame.exchange)
        {
            let answer = waiting.id.map(|id| json(frame.exchange, 200, withheld(&id)));
            instead.push(answer.unwrap_or_else(|| http::accepted(frame.exchange)));
        }
        match decision {
            Decision::Forward => (vec![frame], None),
            Decision::Rewrite(rewrite) => {
                if let Some(body) = rewrite.body {
                    frame.body = body;
                }
                (vec![frame], None)
            }
            Decision::Refuse { reply, .. } => (instead, reply.map(|body| self.answer_server(body))),
        }
    }

    /// What goes on to the client.
    fn replied(&self, mut frame: Frame, behind: Option<&Asked>) -> Vec<Frame> {
        let (head, form) = match &frame.carrier {
            Carrier::Reply { head, form } => (Some(Arc::clone(head)), *form),
            _ => (None, Form::Event),
        };
        let status = head.as_ref().map(|head| head.status);
        if status == Some(http::UNREACHABLE) && form == Form::Whole {
            return self.broken_off(frame);
        }
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
            let waiting = if form == Form::Whole { self.exchanges.end(frame.exchange) } else { None };
            return vec![match waiting {
                Some(waiting) if matches!(status, Some(200..=299)) => answer_to(frame.exchange, waiting.id),
                _ => frame,
            }];
        }
        let decision = self.gate.decide(&Event::Passing(Passing {
            server: &self.server,
            direction: Direction::Replyward,
            message: &message,
            headers: head.as_ref().map(|head| head.headers.as_slice()),
            via: behind.map(Asked::via),
        }));
        let waiting = if form == Form::Whole || message.shape() == Shape::Response {
            // An event stream's reply settles its request only if it passes in
            // some form; see below.
            self.exchanges.end(frame.exchange)
        } else {
            None
        };
        if form == Form::Event && !matches!(decision, Decision::Refuse { reply: None, .. }) {
            self.exchanges.begun(frame.exchange);
        }
        match decision {
            Decision::Forward => vec![frame],
            Decision::Rewrite(rewrite) => {
                if let Some(body) = rewrite.body {
                    frame.body = body;
                }
                vec![frame]
            }
            Decision::Refuse { reply: Some(body), .. } if form == Form::Whole => vec![json(frame.exchange, 200, body)],
            Decision::Refuse { reply: Some(body), .. } => vec![Frame { body, ..frame }],
            Decision::Refuse { reply: None, .. } if head.is_none() => Vec::new(),
            Decision::Refuse { reply: None, .. } if form == Form::Whole => {
                vec![answer_to(frame.exchange, waiting.and_then(|waiting| waiting.id))]
            }
            Decision::Refuse { reply: None, .. } => {
                // The stream may still bring the real reply.
                if let Some(waiting) = waiting {
                    self.exchanges.put_back(frame.exchange, waiting);
                }
                Vec::new()
            }
        }
    }

    /// What there is to say where the server can't be reached, or broke off: whoever
    /// waits learns it under the request's id.
    fn broken_off(&self, frame: Frame) -> Vec<Frame> {
        let is_begun = self.exchanges.is_begun(frame.exchange);
        let Some(id) = self.exchanges.end(frame.exchange).and_then(|waiting| waiting.id) else { return vec![frame] };
        let why = "the server can't be reached, or broke off before it answered";
        let reply = error_reply(Some(&id), REFUSED, why, None);
        if is_begun {
            let last = http::end(frame.exchange);
            return vec![http::event(frame.exchange, Headers::new(), reply), last];
        }
        vec![json(frame.exchange, 502, reply)]
    }

    /// The answer to a request whose response the gate stopped at its head.
    fn stopped(&self, exchange: Exchange) -> Frame {
        // A GET or a DELETE carries no message: its answer is that there is none.
        let Some(waiting) = self.exchanges.end(exchange) else {
            return http::whole(exchange, 405, Vec::new(), Bytes::new());
        };
        match (waiting.id, waiting.stopped) {
            (Some(_), Some(refusal)) => json(exchange, 200, refusal),
            (Some(id), None) => json(exchange, 200, withheld(&id)),
            (None, _) => http::accepted(exchange),
        }
    }
}

/// What a client gets where the server's response holds nothing for it: a request is
/// answered under its id, and what asks for nothing is accepted, whichever success it
/// came under and whatever came with it.
fn answer_to(exchange: Exchange, id: Option<Id>) -> Frame {
    match id {
        Some(id) => json(exchange, 200, withheld(&id)),
        None => http::accepted(exchange),
    }
}

/// Whether nothing more comes on the frame's exchange.
fn is_last(frame: &Frame) -> bool {
    matches!(frame.carrier, Carrier::Reply { form: Form::Whole | Form::End | Form::Stopped, .. })
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

fn json(exchange: Exchange, status: u16, body: Bytes) -> Frame {
    http::whole(exchange, status, vec![("content-type".to_owned(), "application/json".to_owned())], body)
}
