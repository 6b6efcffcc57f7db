//! Collects events from both ends in one order.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, futures::Notified};

use super::{Event, Mark, Transcript};

/// A handle that both ends of a trial write to.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    transcript: Arc<Mutex<Transcript>>,
    news: Arc<Notify>,
}

impl Recorder {
    /// Adds an event.
    pub fn event(&self, event: Event) {
        self.with(|transcript| transcript.events.push(event));
        self.news.notify_waiters();
    }

    /// The next event that is added from now on.
    pub fn news(&self) -> Notified<'_> {
        self.news.notified()
    }

    /// Adds a step of the client.
    pub fn mark(&self, mark: Mark) {
        self.with(|transcript| transcript.marks.push(mark));
    }

    /// Looks at, or changes, what was recorded so far.
    pub fn with<T>(&self, look: impl FnOnce(&mut Transcript) -> T) -> T {
        look(&mut self.transcript.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes everything recorded so far.
    pub fn take(&self) -> Transcript {
        self.with(std::mem::take)
    }
}
