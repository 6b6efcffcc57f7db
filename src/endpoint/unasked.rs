//! What a server says of its own accord, on its way to whoever carries it.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;

/// Says the same to everyone connected.
#[derive(Clone, Debug, Default)]
pub struct Unasked(Arc<Mutex<Vec<mpsc::UnboundedSender<Bytes>>>>);

impl Unasked {
    /// What is said from now on, for a driver to carry.
    pub fn listen(&self) -> mpsc::UnboundedReceiver<Bytes> {
        let (to_driver, said) = mpsc::unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(to_driver);
        said
    }

    /// Says something.
    pub fn speak(&self, text: &Bytes) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(text.clone()).is_ok());
    }
}
