//! A store that lasts as long as the gate.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Change, Loaded, Owner, PinStore, Pins, Place, Stamp, StoreError};
use crate::protocol::ServerName;

/// Keeps pins in memory, without names and times.
#[derive(Debug, Default)]
pub struct SessionPins(Mutex<BTreeMap<Place, (Vec<ServerName>, Pins)>>);

impl SessionPins {
    fn kept(&self) -> MutexGuard<'_, BTreeMap<Place, (Vec<ServerName>, Pins)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PinStore for SessionPins {
    fn load(&self, owner: &Owner) -> Result<Loaded, StoreError> {
        let kept = self.kept();
        let known = kept.get(&owner.place);
        let moved = known.is_none() && kept.values().any(|(names, _)| names.contains(&owner.name));
        Ok(Loaded { pins: known.map(|(_, pins)| pins.clone()).unwrap_or_default(), moved })
    }

    fn save(&self, owner: &Owner, change: &Change) -> Result<Loaded, StoreError> {
        let mut kept = self.kept();
        let (names, pins) = kept.entry(owner.place.clone()).or_default();
        if !names.contains(&owner.name) {
            names.push(owner.name.clone());
        }
        pins.apply(change, &Stamp { at: String::new(), by: String::new(), how: change.how });
        Ok(Loaded { pins: pins.clone(), moved: false })
    }
}
