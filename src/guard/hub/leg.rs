//! One server of several, with the gate on its connection.

use std::{collections::BTreeMap, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use super::super::{Child, Gated};
use crate::{
    protocol::ServerName,
    transport::{Connection, pair},
};

/// One server of several, behind its gate. Dropping it ends the server in order.
#[derive(Debug)]
pub struct Leg {
    pub(super) name: ServerName,
    /// The names that its tools are shown under, where they are others.
    pub(super) renames: BTreeMap<String, String>,
    /// What keeps the server running is among its tasks.
    pub(super) lines: Connection,
}

impl Leg {
    /// A server that was started.
    pub fn child(gated: Gated, (child, upstream): (Child, Connection), keeper: &Keeper) -> Self {
        let (mut near, far) = pair();
        let name = gated.server.clone();
        gated.before(far, upstream);
        near.tasks.keep(keeper.keep(child));
        Self { name, renames: BTreeMap::new(), lines: near }
    }

    /// A server over HTTP.
    pub fn url(gated: Gated, url: String) -> Self {
        let (near, far) = pair();
        let name = gated.server.clone();
        tokio::spawn(gated.reach(far, url));
        Self { name, renames: BTreeMap::new(), lines: near }
    }

    /// The same server with some of its tools shown under other names.
    #[must_use]
    pub fn renaming(mut self, renames: BTreeMap<String, String>) -> Self {
        self.renames = renames;
        self
    }

    /// A server whose lines somebody else brings.
    #[cfg(test)]
    pub(super) fn of(name: &str, lines: Connection) -> Self {
        Self { name: ServerName::new(name), renames: BTreeMap::new(), lines }
    }
}

/// Ends child processes in order once nobody needs them.
#[derive(Clone, Debug)]
pub struct Keeper {
    grace: Duration,
    running: mpsc::Sender<()>,
}

/// What says when all children have ended.
#[derive(Debug)]
pub struct Kept(mpsc::Receiver<()>, Duration);

impl Keeper {
    /// A keeper that gives each child `grace` to read what it was told last, again to
    /// end by itself, and again once it was told to.
    pub fn new(grace: Duration) -> (Self, Kept) {
        let (running, ended) = mpsc::channel(1);
        (Self { grace, running }, Kept(ended, grace))
    }

    /// Keeps a child until what this gives is aborted.
    pub fn keep(&self, mut child: Child) -> JoinHandle<()> {
        let (held, dropped) = oneshot::channel::<()>();
        let Self { grace, running } = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = child.wait() => {}
                _ = dropped => {}
            }
            child.taken_in(grace).await;
            // What can't be waited for any more is killed when it is dropped.
            let _ = child.end(grace).await;
            drop(running);
        });
        tokio::spawn(async move {
            let _held = held;
            std::future::pending::<()>().await;
        })
    }
}

impl Kept {
    /// Waits until the last one has ended. Every keeper must be gone.
    pub async fn all(mut self) {
        let longest = self.1 * 3 + Duration::from_secs(1);
        let _ = tokio::time::timeout(longest, self.0.recv()).await;
    }
}
