//! A scripted server on a connection without HTTP: memory and stdio.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{Said, Script, Served, Stage};
use crate::{
    case::End,
    protocol::{Direction, Leg, Message, ServerName},
    transcript::{Crossing, Dress, Event, Recorder},
    transport::{Carrier, Connection, Exact, Exchange, Frame, Headers, Verb},
};

/// Serves `connection` until it ends. `principal` is who the launch was for;
/// `greeting` is written before anything is asked.
pub async fn serve(
    stage: Stage,
    server: ServerName,
    principal: String,
    greeting: Script,
    connection: Connection,
    mut unasked: mpsc::UnboundedReceiver<Bytes>,
    recorder: Recorder,
) {
    let Connection { outgoing, mut incoming, tasks, .. } = connection;
    let mut mouth = Mouth {
        outgoing: Some(outgoing),
        queue: greeting.0.into(),
        held: Vec::new(),
        heard: 0,
        since: 0,
        recorder: recorder.clone(),
        server: server.clone(),
    };
    loop {
        if !mouth.speak(false).await {
            break;
        }
        tokio::select! {
            biased;
            frame = incoming.recv() => {
                let Some(frame) = frame else {
                    // Who asks no more still gets what it asked for.
                    mouth.speak(true).await;
                    break;
                };
                let message = Message::new(frame.body);
                mouth.record(Direction::Requestward, message.clone());
                let served = stage.server().arrive(&principal, &[], &message);
                if served.close {
                    break;
                }
                mouth.hear(served);
            }
            Some(said) = unasked.recv() => mouth.queue.push_back(said.into()),
        }
    }
    let reason = "the server's end is over".to_owned();
    recorder.event(Event::Closed { leg: Leg::Upstream, server, reason });
    drop(tasks);
}

/// What a server has to say, and has said.
#[derive(Debug)]
struct Mouth {
    /// Nothing once it says no more.
    outgoing: Option<mpsc::Sender<Frame>>,
    /// What is said next, in order.
    queue: VecDeque<Said>,
    /// What waits for messages, by the count of them at which it is due; what is
    /// asked meanwhile is answered before it.
    held: Vec<(u32, Vec<Said>)>,
    /// How many messages have come.
    heard: u32,
    /// How many had, when something was said last.
    since: u32,
    recorder: Recorder,
    server: ServerName,
}

impl Mouth {
    fn record(&self, direction: Direction, message: Message) {
        self.recorder.event(Event::Crossed(Crossing {
            leg: Leg::Upstream,
            direction,
            server: self.server.clone(),
            message,
            dress: Dress::default(),
        }));
    }

    /// Takes in what comes of a message.
    fn hear(&mut self, served: Served) {
        self.heard += 1;
        if self.queue.is_empty() {
            self.since = self.heard;
        }
        let said = match served.script {
            Some(script) => script.0,
            None => served.says.into_iter().map(Said::from).collect(),
        };
        match served.hold {
            0 => self.queue.extend(said),
            hold => self.held.push((self.heard + hold, said)),
        }
        let heard = self.heard;
        for (_, said) in self.held.extract_if(.., |(due, _)| *due <= heard) {
            self.queue.extend(said);
        }
    }

    /// Says what is due; everything, if this is the `last` that there is time for.
    /// False once the connection is to end.
    async fn speak(&mut self, last: bool) -> bool {
        if last {
            self.queue.extend(std::mem::take(&mut self.held).into_iter().flat_map(|(_, said)| said));
        }
        while self.queue.front().is_some_and(|said| last || self.heard >= self.since + said.after) {
            let Some(said) = self.queue.pop_front() else { break };
            self.since = self.heard;
            let Some(outgoing) = &self.outgoing else { continue };
            if !said.bytes.is_empty() {
                self.record(Direction::Replyward, Message::new(said.bytes.clone()));
            }
            let carrier = match said.writes {
                None => Carrier::Line,
                Some(writes) => Carrier::Exact(Arc::new(Exact { writes, verb: Verb::Post, headers: Headers::new() })),
            };
            // Who listens no more may still ask.
            let _ = outgoing.send(Frame { exchange: Exchange::NONE, carrier, body: said.bytes }).await;
            match said.end {
                Some(End::Close) => return false,
                Some(End::HalfClose) => self.outgoing = None,
                None => {}
            }
        }
        true
    }
}
