//! A server with the gate on its connection, for whoever speaks to it.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::{
    call,
    consent::{Asks, asking},
};
use crate::{
    protocol::ServerName,
    relay::{Exchanges, SharedGate, pump},
    transport::{Connection, http, pair},
};

/// A gate on the connection to one server.
#[derive(Clone, Debug)]
pub struct Gated {
    /// The gate.
    pub gate: SharedGate,
    /// Which server.
    pub server: ServerName,
    /// Asks about calls, where somebody can be asked.
    pub asks: Option<Asks>,
}

impl Gated {
    /// Stands between a client and a server that speak alike, until either ends.
    pub(super) fn before(self, client: Connection, server: Connection) -> JoinHandle<()> {
        let exchanges = Exchanges::new(self.gate.clone(), self.server.clone());
        self.with(exchanges, client, server)
    }

    /// Stands between a client that speaks HTTP and the server at `url`.
    pub(super) fn before_url(self, client: Connection, url: &str) -> JoinHandle<()> {
        let exchanges = Exchanges::new(self.gate.clone(), self.server.clone());
        let server = http::connect(url, Arc::new(exchanges.clone()));
        self.with(exchanges, client, server)
    }

    /// The same, for a client that speaks in lines.
    pub(super) async fn reach(self, client: Connection, url: String) {
        let (mut near, far) = pair();
        // A stream that is open would keep it from ending by itself.
        near.tasks.keep(self.before_url(far, &url));
        call(client, near).await;
    }

    fn with(self, exchanges: Exchanges, client: Connection, server: Connection) -> JoinHandle<()> {
        let Some(asks) = self.asks else { return tokio::spawn(pump(exchanges, client, server)) };
        let (near, mut far) = pair();
        far.tasks.keep(tokio::spawn(asking(client, near, asks)));
        tokio::spawn(pump(exchanges, far, server))
    }
}
