//! Who listed which tool name first, over all servers of a session.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization as _;

use super::super::{Listing, ListingKind, text::is_invisible};
use crate::protocol::ServerName;

/// A server's claim to a tool name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameClaim {
    /// Whose.
    pub server: ServerName,
    /// The name as it was listed.
    pub name: String,
    /// The listing in which it came first, counted over the session; the pages of
    /// one listing count once.
    pub listing: u64,
}

/// Every name that was listed, with those that look like it. Names stay for the
/// session: one that is taken off the list is not free for a look-alike.
#[derive(Debug, Default)]
pub struct NameClaims {
    by_look: HashMap<String, Vec<NameClaim>>,
    /// What listed names look like: calls ask for it again and again.
    looks: HashMap<String, String>,
    by_joined: HashMap<String, Vec<NameClaim>>,
    listings: u64,
}

impl NameClaims {
    /// Takes in a listing of tools; `join` is what the host puts between a
    /// server's name and a tool's, where it joins them.
    pub(super) fn listed(&mut self, server: &ServerName, listing: &Listing, first_page: bool, join: Option<&str>) {
        if listing.kind != ListingKind::Tools {
            return;
        }
        self.listings += u64::from(first_page);
        for name in listing.items.iter().filter_map(|item| item.name.as_deref()) {
            let claim = NameClaim { server: server.clone(), name: name.to_owned(), listing: self.listings };
            let look = self.looks.entry(name.to_owned()).or_insert_with(|| look(name));
            add(&mut self.by_look, look.clone(), &claim);
            if let Some(join) = join {
                add(&mut self.by_joined, joined(server, join, name), &claim);
            }
        }
    }

    /// The claims to names that look like this one, in the order in which they came.
    pub fn alike(&self, name: &str) -> &[NameClaim] {
        let claims = match self.looks.get(name) {
            Some(look) => self.by_look.get(look),
            None => self.by_look.get(&look(name)),
        };
        claims.map_or(&[], Vec::as_slice)
    }

    /// The claims to names that look like this one once the server's name is put
    /// before them.
    pub fn joined_alike(&self, server: &ServerName, join: &str, name: &str) -> &[NameClaim] {
        self.by_joined.get(&joined(server, join, name)).map_or(&[], Vec::as_slice)
    }
}

fn add(claims: &mut HashMap<String, Vec<NameClaim>>, key: String, claim: &NameClaim) {
    let known = claims.entry(key).or_default();
    if !known.iter().any(|other| other.server == claim.server && other.name == claim.name) {
        known.push(claim.clone());
    }
}

/// What a name looks like to someone who reads quickly: case, separators, width,
/// invisible characters and look-alike letters count for nothing (UTS 39
/// skeletons, of the lower-case name).
fn look(name: &str) -> String {
    let plain: String = name.nfkc().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase).collect();
    unicode_security::skeleton(&plain).filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Separators stay here: which of them stands where is the point.
fn joined(server: &ServerName, join: &str, name: &str) -> String {
    format!("{server}{join}{name}").to_lowercase()
}
