//! Who keeps pins.

use super::{Change, Owner, Pins};

/// What a store knows of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// What is pinned of it.
    pub pins: Pins,
    /// Nothing is kept of this place, but something of another one that went by
    /// the same name: the server was exchanged, and that is no first use.
    pub moved: bool,
}

/// A store can't be used. `what` is for the client, and names no file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}; {next}")]
pub struct StoreError {
    /// What is wrong, in plain words.
    pub what: String,
    /// Where: a file, for people at the machine.
    pub place: String,
    /// What to do next.
    pub next: String,
}

/// Keeps pins. It stamps what it keeps with the time and the name that it was given.
///
/// Several gates may use one store at once: a change is applied to what is kept
/// at that moment, so that none is lost.
pub trait PinStore: Send + Sync + std::fmt::Debug {
    /// What is kept of a server.
    ///
    /// # Errors
    /// Where the store can't be read, or can't be trusted. It is never taken
    /// for an empty one then.
    fn load(&self, owner: &Owner) -> Result<Loaded, StoreError>;

    /// Applies a change, and says what is kept afterwards. The change is durable
    /// by the time that this returns.
    ///
    /// # Errors
    /// Where it could not be kept; then nothing has changed.
    fn save(&self, owner: &Owner, change: &Change) -> Result<Loaded, StoreError>;
}
