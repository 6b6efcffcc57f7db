//! The hub at work.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use tokio::{
    sync::mpsc::{self, error::TrySendError},
    time::{Instant, sleep_until},
};

use super::{Hub, asking::Asking, leg::Leg, lists::Lists, opening::Offers};
use crate::{
    gate::ListingKind,
    guard::{Watch, line::UNANSWERED},
    protocol::{Id, Message, ServerName, error_reply},
    transport::{Connection, Exchange, Frame, Tasks},
};

/// A server as it is spoken to.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: ServerName,
    pub(super) renames: BTreeMap<String, String>,
    /// `None` once it is gone.
    pub(super) to: Option<mpsc::Sender<Frame>>,
    pub(super) offers: Offers,
    /// Its reader, and what keeps it running.
    pub(super) tasks: Tasks,
}

/// What becomes of a request of the client's.
#[derive(Debug)]
pub(super) enum Pending {
    /// One server answers it.
    One(usize),
    /// All that are left answer it, and the client hears once.
    Opening {
        left: BTreeSet<usize>,
        replies: BTreeMap<usize, Message>,
        due: Instant,
        /// It begins a session, and is no mere question.
        binds: bool,
    },
    Level {
        left: BTreeSet<usize>,
        refused: Option<Bytes>,
    },
    /// A list answers it, or says who does.
    Listed,
}

impl Pending {
    /// Whether it waits for this server, which it doesn't any more.
    pub(super) fn takes(&mut self, leg: usize) -> bool {
        match self {
            Self::One(asked) => *asked == leg,
            Self::Opening { left, .. } | Self::Level { left, .. } => left.remove(&leg),
            Self::Listed => false,
        }
    }
}

pub(super) struct Running {
    pub(super) lines: Vec<Line>,
    pub(super) to_client: mpsc::Sender<Frame>,
    pub(super) watch: Watch,
    /// Whose answers the client waits for, as far as it knows.
    pub(super) all: ServerName,
    pub(super) note: fn(&str),
    /// What the client's latest request says of itself, where it belongs to no
    /// session: the hub's own requests say the same.
    pub(super) meta: Option<String>,
    pub(super) requests: BTreeMap<Id, Pending>,
    pub(super) lists: BTreeMap<ListingKind, Lists>,
    pub(super) asking: Asking,
    /// Requests of the hub's own.
    pub(super) own: u64,
    /// What has been noted of names that two servers list.
    pub(super) noted: BTreeSet<(usize, String)>,
}

pub(super) async fn run(hub: Hub, client: Connection) {
    let Hub { legs, watch, note } = hub;
    let Connection { outgoing: to_client, mut incoming, tasks: client_tasks, .. } = client;
    let (said, mut heard) = mpsc::channel(1);
    let lines: Vec<_> = legs.into_iter().enumerate().map(|(leg, one)| line(leg, one, said.clone())).collect();
    drop(said);
    let lists = ListingKind::ALL.into_iter().map(|kind| (kind, Lists::new(kind, lines.len()))).collect();
    let (requests, asking, noted) = (BTreeMap::new(), Asking::default(), BTreeSet::new());
    let all = ServerName::new("all");
    let mut hub = Running { lines, to_client, watch, all, note, meta: None, requests, lists, asking, own: 0, noted };
    let mut client_speaks = true;
    // What was asked is still answered when the client says no more.
    while hub.lines.iter().any(|line| line.to.is_some()) && (client_speaks || !hub.requests.is_empty()) {
        let due = hub.due();
        tokio::select! {
            biased;
            Some((leg, said)) = heard.recv() => match said {
                Some(message) => hub.heard(leg, &message).await,
                None => hub.gone(leg).await,
            },
            asked = incoming.recv(), if client_speaks => match asked {
                Some(frame) => hub.asked(Message::new(frame.body)).await,
                None => client_speaks = false,
            },
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => hub.late().await,
        }
    }
    hub.close().await;
    drop(client_tasks);
}

/// Reads what a server says, until it is gone.
fn line(leg: usize, one: Leg, said: mpsc::Sender<(usize, Option<Message>)>) -> Line {
    let Leg { name, renames, lines } = one;
    let Connection { outgoing, mut incoming, mut tasks, .. } = lines;
    tasks.keep(tokio::spawn(async move {
        loop {
            let message = incoming.recv().await.map(|frame| Message::new(frame.body));
            let gone = message.is_none();
            if said.send((leg, message)).await.is_err() || gone {
                return;
            }
        }
    }));
    Line { name, renames, to: Some(outgoing), offers: Offers::unknown(), tasks }
}

impl Running {
    pub(super) fn alive(&self) -> impl Iterator<Item = usize> {
        self.lines.iter().enumerate().filter(|(_, line)| line.to.is_some()).map(|(leg, _)| leg)
    }

    pub(super) async fn say(&self, body: impl Into<Bytes>) {
        // Where nobody listens, the client's own end is seen.
        let _ = self.to_client.send(Frame::line(Exchange::NONE, body.into())).await;
    }

    /// Answers a request of the client's, which is over.
    pub(super) async fn answer(&mut self, id: &Id, body: impl Into<Bytes>) {
        self.requests.remove(id);
        self.say(body).await;
        self.watch.over(&self.all, id);
    }

    pub(super) async fn refuse(&mut self, id: &Id, code: i64, why: &str) {
        self.answer(id, error_reply(Some(id), code, why, None)).await;
    }

    /// Tells a server something; whether there was room for it.
    pub(super) fn tell(&self, leg: usize, body: Bytes) -> Result<(), &'static str> {
        let Some(to) = &self.lines[leg].to else { return Err(UNANSWERED) };
        to.try_send(Frame::line(Exchange::NONE, body)).map_err(|error| match error {
            // Others are not held up for it.
            TrySendError::Full(_) => "the server has too many requests that wait",
            TrySendError::Closed(_) => UNANSWERED,
        })
    }
}
