//! Asks a person about a call that waits, while everything else goes on.

use std::collections::HashMap;

use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, JoinSet},
};

use super::{super::Watch, Wanted};
use crate::{
    protocol::{Id, Message, ServerName, Shape},
    relay::{SharedGate, next},
    transport::{Carrier, Connection, Exchange, Frame, Ledger},
};

/// How many questions may wait to be asked; what comes then is refused.
const WAITING: usize = 16;

/// Whether one call may be made.
#[derive(Debug)]
pub struct Question {
    /// Whose.
    pub server: ServerName,
    /// Which tool.
    pub tool: String,
    /// The arguments as they were written.
    pub arguments: String,
    /// Takes the answer. Dropped without one, it is no.
    pub answer: oneshot::Sender<bool>,
}

/// Where questions go to. Clones go to the same place.
#[derive(Clone, Debug)]
pub struct Asker(mpsc::Sender<Question>);

impl Asker {
    /// An asker, and where its questions come.
    pub fn new() -> (Self, mpsc::Receiver<Question>) {
        let (questions, asked) = mpsc::channel(WAITING);
        (Self(questions), asked)
    }

    /// Puts a question behind those that wait; what this gives resolves to the
    /// answer. Dropped without one, it is no.
    fn ask(&self, call: Wanted<'_>) -> oneshot::Receiver<bool> {
        let (answer, answered) = oneshot::channel();
        let (tool, arguments) = (call.tool.to_owned(), call.arguments.to_owned());
        // Where too many wait, it is dropped.
        let _ = self.0.try_send(Question { server: call.server.clone(), tool, arguments, answer });
        answered
    }
}

/// Asks about calls of one server.
#[derive(Clone, Debug)]
pub struct Asks {
    /// What is told of consents.
    pub gate: SharedGate,
    /// What says which calls were refused for want of one.
    pub watch: Watch,
    /// Which server.
    pub server: ServerName,
    /// Where questions go.
    pub asker: Asker,
}

/// A call by its exchange and its id.
type Key = (Exchange, Id);

/// Stands before the gate: a call that it refuses for want of a consent is asked
/// about, and made again where the answer is yes. Nothing else waits for it.
pub(in crate::guard) async fn asking(client: Connection, behind: Connection, asks: Asks) {
    let Connection { outgoing: to_client, incoming: mut from_client, tasks, .. } = client;
    let Connection { outgoing: to_gate, incoming: mut from_gate, tasks: gate_tasks, .. } = behind;
    let mut to_gate = Some(to_gate);
    let mut calls: HashMap<Key, Frame> = HashMap::new();
    let mut asked: HashMap<Key, (Frame, AbortHandle)> = HashMap::new();
    let mut answers = JoinSet::new();
    let mut client_speaks = true;
    let mut ledger = Ledger::default();
    loop {
        // What is asked about may still be made.
        if !client_speaks && asked.is_empty() {
            to_gate = None;
        }
        tokio::select! {
            biased;
            frame = from_gate.recv() => {
                let Some(frame) = frame else { break };
                let message = Message::new(frame.body.clone());
                let key = (message.shape() == Shape::Response)
                    .then(|| message.id().map(|id| (frame.exchange, id.clone())))
                    .flatten();
                let call = key.as_ref().and_then(|key| calls.remove(key));
                if let (Some(key), Some(call)) = (key, call)
                    && asks.watch.lacked_consent(&asks.server, &key.1)
                {
                    let message = Message::new(call.body.clone());
                    let question = Wanted::of(&asks.server, &message).map(|wanted| asks.asker.ask(wanted));
                    let asking = answers.spawn({
                        let key = key.clone();
                        async move {
                            let yes = match question {
                                Some(question) => question.await.unwrap_or(false),
                                None => false,
                            };
                            (key, call, yes)
                        }
                    });
                    asked.insert(key, (frame, asking));
                } else if to_client.send(frame).await.is_err() {
                    break;
                }
            }
            Some(answered) = answers.join_next(), if !answers.is_empty() => {
                // One that was called off is not in there.
                let Ok((key, call, yes)) = answered else { continue };
                let Some((refusal, _)) = asked.remove(&key) else { continue };
                let again = to_gate.as_ref().filter(|_| yes);
                let message = Message::new(call.body.clone());
                if let (Some(to_gate), Some(wanted)) = (again, Wanted::of(&asks.server, &message)) {
                    asks.gate.consent(wanted.server, wanted.tool, wanted.arguments);
                    if to_gate.send(call).await.is_err() {
                        break;
                    }
                } else if to_client.send(refusal).await.is_err() {
                    break;
                }
            }
            (room, frame) = next(&mut from_client, to_gate.as_ref(), &mut ledger), if client_speaks => {
                let Some(frame) = frame else {
                    client_speaks = false;
                    continue;
                };
                let message = Message::new(frame.body.clone());
                if let Some(key) = call_key(&frame, &message) {
                    calls.insert(key, frame.clone());
                }
                let left = frame.carrier == Carrier::Gone;
                if left {
                    calls.retain(|(exchange, _), _| *exchange != frame.exchange);
                }
                let gone: Vec<_> = asked.keys().filter(|(exchange, _)| left && *exchange == frame.exchange).cloned().collect();
                for (_, asking) in gone.iter().filter_map(|key| asked.remove(key)) {
                    asking.abort();
                }
                if let Some(key) = cancelled(&message).and_then(|id| asked.keys().find(|(_, other)| *other == id).cloned())
                    && let Some((_, asking)) = asked.remove(&key)
                {
                    asking.abort();
                }
                if let Some(room) = room {
                    ledger.sent(frame.body.len());
                    room.send(frame);
                }
            }
        }
    }
    drop((tasks, gate_tasks));
}

fn call_key(frame: &Frame, message: &Message) -> Option<Key> {
    let id = message.id().filter(|_| message.shape() == Shape::Request && message.called_tool().is_some())?;
    Some((frame.exchange, id.clone()))
}

fn cancelled(message: &Message) -> Option<Id> {
    let is_cancel = message.method() == Some("notifications/cancelled");
    message.params().filter(|_| is_cancel)?.member("requestId").and_then(Id::of)
}
