//! Where the gate of a trial keeps what was approved.

use std::sync::Arc;

use crate::{
    case::Host,
    gate::{Change, Loaded, Owner, PinStore, Place, SessionPins, StoreError},
    pins::TextStore,
};

/// The first word of the command that the harness's own endpoints go by.
const ENDPOINT: &str = "gateproof-endpoint";

/// The store of one trial. It outlives the gate, as a file would.
pub(super) fn store(host: &Host) -> Arc<dyn PinStore> {
    match &host.pin_store {
        Some(text) => Arc::new(Steady(TextStore::new(text.as_str()))),
        None => Arc::new(Steady(SessionPins::default())),
    }
}

/// Knows the harness's own endpoints by their names: a port is another one in
/// each trial, and a case is to mean the same on every transport.
#[derive(Debug)]
struct Steady<S>(S);

fn steady(owner: &Owner) -> Owner {
    let is_own = match &owner.place {
        Place::Memory(_) => true,
        Place::Url(url) => url.starts_with("http://127.0.0.1:"),
        Place::Argv(_) => false,
    };
    let place = Place::Argv(vec![ENDPOINT.to_owned(), owner.name.to_string()]);
    if is_own { Owner { place, ..owner.clone() } } else { owner.clone() }
}

impl<S: PinStore> PinStore for Steady<S> {
    fn load(&self, owner: &Owner) -> Result<Loaded, StoreError> {
        self.0.load(&steady(owner))
    }

    fn save(&self, owner: &Owner, change: &Change) -> Result<Loaded, StoreError> {
        self.0.save(&steady(owner), change)
    }
}
