//! What plays the server: a scripted one from a fixture, or a live one.
//!
//! [`Scripted`] is a state machine without IO; [`lines`] and [`web`] put it on a
//! connection or on HTTP and record what crosses the upstream leg.

mod catalogue;
pub mod lines;
mod prototype;
mod scripted;
mod template;
pub mod web;

pub use catalogue::Catalogue;
pub use prototype::{EndpointError, Prototype};
pub use scripted::{Scripted, Served, Web};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;

/// A scripted server in play: shared by the driver that serves it and the
/// script that changes it.
#[derive(Clone, Debug)]
pub struct Stage {
    server: Arc<Mutex<Scripted>>,
    unasked: Arc<Mutex<Vec<mpsc::UnboundedSender<Bytes>>>>,
}

impl Stage {
    /// Puts a server on stage.
    pub fn new(server: Scripted) -> Self {
        Self { server: Arc::new(Mutex::new(server)), unasked: Arc::default() }
    }

    /// The server itself.
    pub fn server(&self) -> MutexGuard<'_, Scripted> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the server says unasked, for a driver to carry.
    pub fn listen(&self) -> mpsc::UnboundedReceiver<Bytes> {
        let (to_driver, from_stage) = mpsc::unbounded_channel();
        self.unasked.lock().unwrap_or_else(PoisonError::into_inner).push(to_driver);
        from_stage
    }

    /// The server says something unasked, to everyone connected.
    pub fn speak(&self, text: &Bytes) {
        let mut listeners = self.unasked.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(text.clone()).is_ok());
    }
}
