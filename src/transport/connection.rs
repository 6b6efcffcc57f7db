//! The two channels that every transport ends in.

use std::collections::BTreeMap;

use tokio::{sync::mpsc, task::JoinHandle};

use super::Frame;

/// How many frames may wait in one direction before the sender is held.
pub(super) const QUEUE: usize = 256;

/// What a server is reached by. It is also the server's identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A command, argument by argument; never a joined string.
    Argv(Vec<String>),
    /// An HTTP endpoint.
    Url(String),
    /// An endpoint in this process, by the name its case gives it.
    Memory(String),
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Argv(argv) => write!(f, "{argv:?}"),
            Self::Url(url) => f.write_str(url),
            Self::Memory(name) => write!(f, "memory:{name}"),
        }
    }
}

/// Everything that a server is started or reached with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// What to start or reach.
    pub target: Target,
    /// The whole environment of a started server; nothing else is inherited.
    pub env: BTreeMap<String, String>,
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Close {
    /// The other end closed it in order.
    Ended,
    /// It could not be made, or broke; says why.
    Broken(String),
}

/// Tasks that serve a connection and end with it.
#[derive(Debug, Default)]
pub struct Tasks(Vec<JoinHandle<()>>);

impl Tasks {
    /// Keeps `task` until this is dropped.
    pub fn keep(&mut self, task: JoinHandle<()>) {
        self.0.push(task);
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// One end of a leg: what goes out, what comes in.
///
/// The incoming channel ends when the other end does. Dropping the connection
/// stops the tasks (and the child process) behind it.
#[derive(Debug)]
pub struct Connection {
    /// Towards the other end.
    pub outgoing: mpsc::Sender<Frame>,
    /// From the other end.
    pub incoming: mpsc::Receiver<Frame>,
    /// Says why, once `incoming` has ended. Empty: ended in order.
    pub close: std::sync::Arc<std::sync::OnceLock<Close>>,
    /// What serves it.
    pub tasks: Tasks,
}

impl Connection {
    /// A connection and the driver's ends of its two channels: what the owner
    /// sends arrives at the receiver, what is sent into the sender arrives at
    /// the owner.
    pub fn new() -> (Self, mpsc::Receiver<Frame>, mpsc::Sender<Frame>) {
        let (outgoing, from_owner) = mpsc::channel(QUEUE);
        let (to_owner, incoming) = mpsc::channel(QUEUE);
        let connection = Self { outgoing, incoming, close: std::sync::Arc::default(), tasks: Tasks::default() };
        (connection, from_owner, to_owner)
    }

    /// Why the connection is over, once its incoming side has ended.
    pub fn close_reason(&self) -> Close {
        self.close.get().cloned().unwrap_or(Close::Ended)
    }
}
