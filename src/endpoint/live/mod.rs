//! A real server as an endpoint: a child process, and between it and the gate a
//! hand that changes what it lists.
//!
//! Requests reach the real server as they are, and what it answers comes back
//! byte for byte, except where an overlay changes a listing of tools or the
//! `instructions` of the opening.

mod overlaid;
mod serve;

pub use overlaid::{Changes, Overlaid};
pub use serve::{Manner, Program, Stand, serve};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Unasked;

/// What a trial does to a real server's definitions: shared by the driver that
/// stands before it and the script that changes it.
#[derive(Clone, Debug)]
pub struct LiveStage {
    overlaid: Arc<Mutex<Overlaid>>,
    /// What is said in the server's name.
    pub unasked: Unasked,
}

impl LiveStage {
    /// Changes that hold from the start.
    pub fn new(overlaid: Overlaid) -> Self {
        Self { overlaid: Arc::new(Mutex::new(overlaid)), unasked: Unasked::default() }
    }

    /// The changes themselves.
    pub fn overlaid(&self) -> MutexGuard<'_, Overlaid> {
        self.overlaid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
