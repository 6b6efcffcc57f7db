//! Findings of definitions that were scanned before.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::{Hit, scan_node};
use crate::protocol::strict;

/// How many definitions' findings are kept; past that the memory starts anew.
const MAX_ENTRIES: usize = 4096;

/// Findings by the raw text of a definition, so that looking again is cheap.
#[derive(Debug, Default)]
pub struct ScanCache(RwLock<HashMap<Box<str>, Arc<[Hit]>>>);

impl ScanCache {
    /// The hits in a definition, given as raw JSON.
    pub fn definition(&self, raw: &str) -> Arc<[Hit]> {
        if let Some(found) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(raw) {
            return Arc::clone(found);
        }
        let hits: Arc<[Hit]> =
            strict::parse(raw.as_bytes()).map_or_else(|_| Vec::new(), |document| scan_node(&document.root)).into();
        let mut cache = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= MAX_ENTRIES {
            cache.clear();
        }
        cache.insert(raw.into(), Arc::clone(&hits));
        hits
    }
}
