//! What a listing tells.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    super::{Listing, ListingKind, PinMode, ServerPolicy},
    KnownTool, ServerFacts,
};
use crate::protocol::strict::Node;

impl ServerFacts {
    pub(super) fn listed(&mut self, listing: &Listing, raw: &[u8], first_page: bool, policy: &ServerPolicy) {
        let pins = policy.pins;
        let kind = listing.kind;
        if first_page {
            self.paging.insert(kind, BTreeSet::new());
            self.listed_so_far.remove(&kind);
        }
        *self.listed_so_far.entry(kind).or_default() += listing.items.len();
        let text = |node: Option<&Node>| {
            node.and_then(|node| std::str::from_utf8(&raw[node.span.clone()]).ok()).map(Arc::<str>::from)
        };
        for item in &listing.items {
            let Some(name) = &item.name else { continue };
            self.paging.entry(kind).or_default().insert(name.clone());
            if kind == ListingKind::Tools {
                let Some(definition) = text(Some(&item.node)) else { continue };
                let tool = KnownTool {
                    definition,
                    input_schema: text(item.node.member("inputSchema")),
                    output_schema: text(item.node.member("outputSchema")),
                    doubt: item.doubt,
                };
                self.tools.insert(name.clone(), tool);
                if policy.approval.is_some() {
                    self.consents.listed(name, &item.node);
                }
            }
            if let Some(fingerprint) = item.fingerprint {
                let key = (kind, name.clone());
                self.latest.insert(key.clone(), fingerprint);
                if pins == Some(PinMode::FirstUse) && !self.first_seen.contains(&kind) {
                    self.pins.entry(key).or_insert(fingerprint);
                }
            }
        }
        if !listing.more {
            let seen = self.paging.remove(&kind).unwrap_or_default();
            self.latest.retain(|(of, name), _| *of != kind || seen.contains(name));
            if kind == ListingKind::Tools {
                self.tools.retain(|name, _| seen.contains(name));
            }
            self.first_seen.insert(kind);
            self.stale.remove(&kind);
        }
        self.consents.relisted(&self.tools);
    }
}
