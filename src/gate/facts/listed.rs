//! What a listing tells.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use super::{
    super::{Listing, ListingKind, ServerPolicy},
    KnownTool, ServerFacts,
};
use crate::{
    digest::Fingerprint,
    protocol::strict::{Kind, Node},
};

/// A listing that is being read, page after page.
#[derive(Debug, Default)]
pub struct Pass {
    /// It began with the first page, and nothing was said to have changed since:
    /// its end is the end of the whole list.
    pub whole: bool,
    /// Its last page has come. Another page that comes now is read for itself.
    done: bool,
    /// What it held so far: names, each with the fingerprint of its definition
    /// where the policy pins; `None` where two definitions shared the name.
    pub names: BTreeMap<String, Option<Fingerprint>>,
}

impl ServerFacts {
    /// Takes in a page. Gives whether the whole list has been read with it.
    pub(super) fn listed(&mut self, listing: &Listing, raw: &[u8], first_page: bool, policy: &ServerPolicy) -> bool {
        let kind = listing.kind;
        if first_page {
            self.passes.insert(kind, Pass { whole: true, ..Pass::default() });
            self.listed_so_far.remove(&kind);
        } else if self.passes.get(&kind).is_some_and(|pass| pass.done) {
            self.passes.remove(&kind);
        }
        *self.listed_so_far.entry(kind).or_default() += listing.items.len();
        let text = |node: Option<&Node>| {
            node.and_then(|node| std::str::from_utf8(&raw[node.span.clone()]).ok()).map(Arc::<str>::from)
        };
        let pass = self.passes.entry(kind).or_default();
        for item in &listing.items {
            let Some(name) = &item.name else { continue };
            let fingerprint = item.definition.as_ref().map(|definition| definition.fingerprint);
            pass.names
                .entry(name.clone())
                .and_modify(|known| *known = known.filter(|known| Some(*known) == fingerprint))
                .or_insert(fingerprint);
            if kind == ListingKind::Tools {
                let Some(definition) = text(Some(&item.node)) else { continue };
                let tool = KnownTool {
                    definition,
                    fingerprint: OnceLock::new(),
                    input_schema: text(item.node.member("inputSchema")),
                    // Some servers send null for what they don't have.
                    output_schema: text(item.node.member("outputSchema").filter(|node| node.kind != Kind::Null)),
                    doubt: item.doubt,
                };
                self.tools.insert(name.clone(), tool);
                if policy.approval.is_some() {
                    self.consents.listed(name, &item.node);
                }
            }
        }
        let complete = !listing.more && pass.whole;
        pass.done = !listing.more;
        if complete && kind == ListingKind::Tools {
            self.tools.retain(|name, _| pass.names.contains_key(name));
        }
        self.consents.relisted(&self.tools);
        complete
    }
}
