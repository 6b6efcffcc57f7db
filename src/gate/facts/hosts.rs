//! What the names of hosts resolved to in a session.

use std::{collections::BTreeMap, net::IpAddr};

use super::super::{Outward, Surroundings, urls::Site};

/// What is known of a host's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Its addresses as of the last time it was named, sorted; empty where it
    /// couldn't be resolved then.
    pub addresses: Vec<IpAddr>,
    /// It had other addresses before.
    pub changed: bool,
    /// The last addresses that it did resolve to.
    last: Vec<IpAddr>,
}

/// Every host that was named. A name is asked for once an event, so that what is
/// judged is what the server is likely to use.
#[derive(Debug, Default)]
pub struct Hosts {
    known: BTreeMap<String, Host>,
}

impl Hosts {
    /// What is known of a name.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.known.get(name)
    }

    /// Asks for every name among these addresses.
    pub(super) fn named(&mut self, outward: &[Outward], surroundings: &dyn Surroundings) {
        let names = |one: &Outward| match &one.site {
            Ok(Site::Name(name)) => Some(name.clone()),
            _ => None,
        };
        let names: std::collections::BTreeSet<_> = outward.iter().filter_map(names).collect();
        for name in names {
            let mut addresses = surroundings.addresses(&name).unwrap_or_default();
            addresses.sort_unstable();
            addresses.dedup();
            let host = self.known.entry(name).or_default();
            if !addresses.is_empty() {
                host.changed |= !host.last.is_empty() && host.last != addresses;
                host.last.clone_from(&addresses);
            }
            host.addresses = addresses;
        }
    }
}
