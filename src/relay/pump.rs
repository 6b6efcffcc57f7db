//! Moves frames between the two legs of one server.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{
    Exchanges, SharedGate,
    batch::Pending,
    exchanges::{Asked, Waiting},
    instead::{answered, broken_off, event_like, json, nothing},
};
use crate::{
    gate::{Decision, Event, Passing, Unanswered},
    protocol::{Direction, Message, ServerName, Shape},
    transport::{Carrier, Connection, Exchange, Form, Frame, Headers, Ledger, Verb, http},
};

/// Relays until either leg ends. What the server still says after the client
/// has closed is carried to the end.
pub async fn pump(exchanges: Exchanges, mut downstream: Connection, upstream: Connection) {
    let Connection { outgoing: to_server, incoming: mut from_server, tasks, .. } = upstream;
    let mut to_server = Some(to_server);
    let mut client_speaks = true;
    let (mut up_ledger, mut down_ledger) = (Ledger::default(), Ledger::default());
    let mut relay = Relay {
        gate: exchanges.gate.clone(),
        server: exchanges.server.clone(),
        exchanges,
        dress: None,
        answers: 0,
        pending: Pending::default(),
    };
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
                    (down, Vec::new())
                })
            }
        };
        let Some((down, up)) = passed else {
            client_speaks = false;
            to_server = None;
            continue;
        };
        for frame in up {
            let Some(sender) = &to_server else { break };
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
    for refusals in relay.pending.all() {
        if downstream.outgoing.send(Frame::line(Exchange::NONE, refusals)).await.is_err() {
            break;
        }
    }
    drop(tasks);
}

/// The client's next message, once the server has room for it: whoever waits for
/// room in one direction while the other is full waits for ever. A server that
/// listens no more may still have something to say, so what comes for it is
/// looked at and goes no further.
pub(crate) async fn next<'a>(
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
pub(super) struct Relay {
    pub(super) gate: SharedGate,
    pub(super) server: ServerName,
    pub(super) exchanges: Exchanges,
    /// The headers that the server got with the client's latest message on HTTP:
    /// what the gate says to the server itself travels in the same session.
    dress: Option<Headers>,
    /// How often the gate answered the server itself on HTTP.
    answers: u64,
    /// What was refused of batches that came in lines, until the rest is answered.
    pub(super) pending: Pending,
}

/// Exchanges of the gate's own count down from here; the client's count up.
const OWN: u64 = u64::MAX;

impl Relay {
    /// What goes back to the client, and what goes on to the server.
    fn requestward(&mut self, mut frame: Frame) -> (Vec<Frame>, Option<Frame>) {
        if frame.carrier == Carrier::Gone {
            self.give_up(frame.exchange);
            self.exchanges.over(frame.exchange);
            return (Vec::new(), Some(frame));
        }
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
            self.exchanges.begin(frame.exchange, Waiting { ids: id.into_iter().collect(), ..Waiting::default() });
        }
        let decision = self.gate.decide(&Event::Passing(Passing {
            server: &self.server,
            direction: Direction::Requestward,
            message: &message,
            headers: frame.request_headers().map(Vec::as_slice),
            via: asked.as_deref().map(Asked::via),
            batched: false,
        }));
        if decision == Decision::Each {
            return self.each_requestward(frame, &message, asked.as_deref());
        }
        match decision {
            Decision::Forward | Decision::Each => (Vec::new(), Some(self.dressed(frame, Vec::new()))),
            Decision::Rewrite(rewrite) => {
                if let Some(body) = rewrite.body {
                    frame.body = body;
                }
                (Vec::new(), Some(self.dressed(frame, rewrite.headers)))
            }
            Decision::Refuse { reply, status } => (self.refused(&frame, reply, status), None),
        }
    }

    /// The answer to a message of the client's that goes no further.
    pub(super) fn refused(&self, frame: &Frame, reply: Option<Bytes>, status: Option<u16>) -> Vec<Frame> {
        if matches!(frame.carrier, Carrier::Line) {
            return reply.map(|body| Frame::line(frame.exchange, body)).into_iter().collect();
        }
        self.exchanges.end(frame.exchange);
        self.exchanges.over(frame.exchange);
        vec![match reply {
            Some(body) => json(frame.exchange, status.unwrap_or(200), body),
            None => http::whole(frame.exchange, status.unwrap_or(202), Headers::new(), Bytes::new()),
        }]
    }

    /// Dresses a message for the next leg, and remembers how the client's messages
    /// are dressed on HTTP.
    pub(super) fn dressed(&mut self, mut frame: Frame, changed: Vec<(String, Option<String>)>) -> Frame {
        if let Carrier::Request { verb, headers } = &mut frame.carrier {
            // The host is the gate's own on this leg and the server's on the next.
            headers.retain(|(name, _)| name != "host");
            for (name, value) in changed {
                headers.retain(|(known, _)| *known != name);
                headers.extend(value.map(|value| (name, value)));
            }
            if *verb == Verb::Post {
                self.dress = Some(headers.clone());
            }
        }
        frame
    }

    /// The gate's own answer to a request of the server's.
    pub(super) fn answer_server(&mut self, body: Bytes) -> Frame {
        let Some(headers) = self.dress.clone() else { return Frame::line(Exchange::NONE, body) };
        self.answers += 1;
        Frame { exchange: Exchange(OWN - self.answers), carrier: Carrier::Request { verb: Verb::Post, headers }, body }
    }

    fn is_own(&self, exchange: Exchange) -> bool {
        exchange.0 > OWN - self.answers - 1 && exchange.0 < OWN
    }

    /// What goes on to the client, and what goes back to the server.
    fn replyward(&mut self, frame: Frame) -> (Vec<Frame>, Vec<Frame>) {
        // Nobody waits for what a server says to an answer of the gate's own.
        if self.is_own(frame.exchange) {
            return (Vec::new(), Vec::new());
        }
        let message = Message::new(frame.body.clone());
        let (exchange, over) = (frame.exchange, is_last(&frame));
        let behind = self.exchanges.behind(exchange);
        let passed = if message.shape() == Shape::Request && !matches!(frame.carrier, Carrier::Request { .. }) {
            self.asked(frame, &message, behind.as_deref())
        } else {
            self.replied(frame, behind.as_deref())
        };
        if over {
            self.exchanges.over(exchange);
        }
        passed
    }

    /// A request of the server's: what goes on to the client, or back.
    fn asked(&mut self, mut frame: Frame, message: &Message, behind: Option<&Asked>) -> (Vec<Frame>, Vec<Frame>) {
        let decision = self.gate.decide(&Event::Passing(Passing {
            server: &self.server,
            direction: Direction::Replyward,
            message,
            headers: frame.reply_head().map(|head| head.headers.as_slice()),
            via: behind.map(Asked::via),
            batched: false,
        }));
        // A request that is the whole of a response leaves nothing to come for the
        // one who waits.
        let mut instead = Vec::new();
        if is_last(&frame)
            && let Some(waiting) = self.give_up(frame.exchange)
        {
            instead.push(answered(frame.exchange, waiting));
        }
        match decision {
            Decision::Forward | Decision::Each => (vec![frame], Vec::new()),
            Decision::Rewrite(rewrite) => {
                if let Some(body) = rewrite.body {
                    frame.body = body;
                }
                (vec![frame], Vec::new())
            }
            Decision::Refuse { reply, .. } => {
                (instead, reply.map(|body| self.answer_server(body)).into_iter().collect())
            }
        }
    }

    /// What goes on to the client, and what goes back to the server.
    fn replied(&mut self, mut frame: Frame, behind: Option<&Asked>) -> (Vec<Frame>, Vec<Frame>) {
        let (head, form) = match &frame.carrier {
            Carrier::Reply { head, form, .. } => (Some(Arc::clone(head)), *form),
            _ => (None, Form::Event),
        };
        let status = head.as_ref().map(|head| head.status);
        if status == Some(http::UNREACHABLE) && form == Form::Whole {
            let waiting = self.give_up(frame.exchange).unwrap_or_default();
            return (broken_off(frame, waiting), Vec::new());
        }
        match form {
            Form::Stopped => return (vec![self.stopped(frame.exchange)], Vec::new()),
            Form::End => {
                let unanswered = self.give_up(frame.exchange).and_then(Waiting::unanswered);
                let instead = unanswered.map(|body| Frame { body, ..event_like(&frame) });
                return (instead.into_iter().chain([frame]).collect(), Vec::new());
            }
            Form::Whole | Form::Event => {}
        }
        if frame.mark().and_then(|mark| mark.id.as_deref()).is_some_and(|id| !id.is_empty()) {
            self.exchanges.resumes(frame.exchange);
        }
        let message = Message::new(frame.body.clone());
        // An error page is no message: the status code is for the client to act on.
        let error_page = head.as_ref().is_some_and(|head| !(200..300).contains(&head.status)) && !answers(&message);
        if frame.body.is_empty() || error_page {
            if form == Form::Event {
                self.exchanges.begun(frame.exchange);
                return (vec![frame], Vec::new());
            }
            let waiting = self.give_up(frame.exchange).filter(|_| matches!(status, Some(200..=299)));
            // What was refused of a batch is answered, where the rest needs no answer.
            let instead = waiting.map(|waiting| nothing(&frame, waiting));
            return (vec![instead.unwrap_or(frame)], Vec::new());
        }
        let decision = self.gate.decide(&Event::Passing(Passing {
            server: &self.server,
            direction: Direction::Replyward,
            message: &message,
            headers: head.as_ref().map(|head| head.headers.as_slice()),
            via: behind.map(Asked::via),
            batched: false,
        }));
        if decision == Decision::Each || (form == Form::Whole && self.exchanges.is_batch(frame.exchange)) {
            return self.each_replyward(frame, &message, decision, behind);
        }
        let waiting = if form == Form::Whole { self.exchanges.end(frame.exchange) } else { None };
        let stays = matches!(decision, Decision::Refuse { reply: None, .. });
        if message.shape() == Shape::Response && !stays {
            // What doesn't pass settles nothing: the stream may still bring the real
            // reply.
            self.exchanges.answered(frame.exchange, message.id());
        }
        if message.shape() == Shape::Batch && !stays {
            // A gate that takes no batch apart lets its replies through all the same.
            for reply in message.parts().iter().filter(|part| part.shape() == Shape::Response) {
                self.exchanges.answered(frame.exchange, reply.id());
            }
        }
        if form == Form::Event && !stays {
            self.exchanges.begun(frame.exchange);
        }
        let held = self.held(&frame, &[message]);
        let said = match decision {
            Decision::Forward | Decision::Each => Some(frame),
            Decision::Rewrite(rewrite) => {
                if let Some(body) = rewrite.body {
                    frame.body = body;
                }
                Some(frame)
            }
            Decision::Refuse { reply: Some(body), .. } if form == Form::Whole => Some(json(frame.exchange, 200, body)),
            Decision::Refuse { reply: Some(body), .. } => Some(Frame { body, ..frame }),
            Decision::Refuse { reply: None, .. } if head.is_none() => None,
            Decision::Refuse { reply: None, .. } if form == Form::Whole => {
                let waiting = waiting.unwrap_or_default();
                self.lost(&waiting);
                Some(answered(frame.exchange, waiting))
            }
            Decision::Refuse { reply: None, .. } => None,
        };
        (held.into_iter().chain(said).collect(), Vec::new())
    }

    /// No answer comes on an exchange any more: what waits there is told to the gate.
    fn give_up(&self, exchange: Exchange) -> Option<Waiting> {
        let waiting = self.exchanges.end(exchange)?;
        self.lost(&waiting);
        Some(waiting)
    }

    /// Nobody answers these requests now. One whose stream said where to go on may
    /// still be answered, on another one.
    fn lost(&self, waiting: &Waiting) {
        for id in waiting.ids.iter().filter(|_| !waiting.resumes) {
            self.gate.decide(&Event::Unanswered(Unanswered { server: &self.server, id }));
        }
    }

    /// The answer to a request whose response the gate stopped at its head.
    fn stopped(&self, exchange: Exchange) -> Frame {
        match self.exchanges.end(exchange) {
            Some(waiting) => answered(exchange, waiting),
            // A GET or a DELETE carries no message: its answer is that there is none.
            None => http::whole(exchange, 405, Vec::new(), Bytes::new()),
        }
    }
}

/// Whether a client may take a message for an answer.
fn answers(message: &Message) -> bool {
    matches!(message.shape(), Shape::Response | Shape::Batch)
}

/// Whether nothing more comes on the frame's exchange.
fn is_last(frame: &Frame) -> bool {
    matches!(frame.carrier, Carrier::Reply { form: Form::Whole | Form::End | Form::Stopped, .. })
}
