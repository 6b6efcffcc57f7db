//! Findings of definitions that were looked at before.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use crate::protocol::strict::{self, Node};

/// How many definitions' findings are kept; past that the memory starts anew.
const MAX_ENTRIES: usize = 4096;

/// Findings by the raw text of a definition, so that looking again is cheap.
#[derive(Debug)]
pub struct Findings<T> {
    look: fn(&Node) -> Vec<T>,
    known: RwLock<HashMap<Box<str>, Arc<[T]>>>,
}

impl<T> Findings<T> {
    /// What `look` finds, remembered.
    pub(in crate::gate) fn by(look: fn(&Node) -> Vec<T>) -> Self {
        Self { look, known: RwLock::default() }
    }

    /// The findings in a definition, given as raw JSON.
    pub fn definition(&self, raw: &str) -> Arc<[T]> {
        if let Some(found) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(raw) {
            return Arc::clone(found);
        }
        let found: Arc<[T]> =
            strict::parse(raw.as_bytes()).map_or_else(|_| Vec::new(), |document| (self.look)(&document.root)).into();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_ENTRIES {
            known.clear();
        }
        known.insert(raw.into(), Arc::clone(&found));
        found
    }
}
