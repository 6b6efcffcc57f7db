//! What plays the server: a scripted one from a fixture, or a live one.
//!
//! [`Scripted`] is a state machine without IO; [`lines`] and [`web`] put it on a
//! connection or on HTTP and record what crosses the upstream leg. [`live`] stands
//! before a real server.

mod catalogue;
pub mod exact;
pub mod lines;
pub mod live;
mod prototype;
mod script;
mod scripted;
mod stateless;
mod template;
mod unasked;
pub mod web;

pub use catalogue::Catalogue;
pub use prototype::{EndpointError, Prototype};
pub use script::{Said, Script};
pub use scripted::{Scripted, Served, Web};
pub use unasked::Unasked;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A scripted server in play: shared by the driver that serves it and the
/// script that changes it.
#[derive(Clone, Debug)]
pub struct Stage {
    server: Arc<Mutex<Scripted>>,
    /// What the server says of its own accord.
    pub unasked: Unasked,
}

impl Stage {
    /// Puts a server on stage.
    pub fn new(server: Scripted) -> Self {
        Self { server: Arc::new(Mutex::new(server)), unasked: Unasked::default() }
    }

    /// The server itself.
    pub fn server(&self) -> MutexGuard<'_, Scripted> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
