//! A store in memory, kept as the very text that a file would hold.

use std::sync::{Mutex, PoisonError};

use super::{Book, BookError};
use crate::gate::{Change, Loaded, Owner, PinStore, Stamp, StoreError};

/// What to do about a store that can't be used.
pub(super) const NEXT: &str = "restore it, or re-baseline with `gateproof pins approve --rebaseline`";

/// Keeps pins as text, without a clock.
#[derive(Debug)]
pub struct TextStore(Mutex<String>);

impl TextStore {
    /// A store that holds this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Mutex::new(text.into()))
    }
}

fn unusable(error: &BookError) -> StoreError {
    StoreError { what: error.to_string(), place: "the store in memory".to_owned(), next: NEXT.to_owned() }
}

impl PinStore for TextStore {
    fn load(&self, owner: &Owner) -> Result<Loaded, StoreError> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Book::parse(&text).map_err(|error| unusable(&error))?.load(owner))
    }

    fn save(&self, owner: &Owner, change: &Change) -> Result<Loaded, StoreError> {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut book = Book::parse(&text).map_err(|error| unusable(&error))?;
        if book.save(owner, change, Stamp { at: String::new(), by: String::new(), how: change.how }) {
            *text = book.render();
        }
        Ok(book.load(owner))
    }
}
