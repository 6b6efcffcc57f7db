//! What a policy says of listings: how many definitions and how many pages.

use schemars::JsonSchema;
use serde::Deserialize;

/// How long listings may be.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListPolicy {
    /// How many definitions a listing may have, over all its pages.
    pub max_items: usize,
    /// How many pages a listing may have.
    pub max_pages: usize,
}

impl Default for ListPolicy {
    fn default() -> Self {
        Self { max_items: 1000, max_pages: 250 }
    }
}

impl ListPolicy {
    /// The key of a setting that can't be enforced as written, and what is wrong
    /// with it.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let limits = [("max_items", self.max_items), ("max_pages", self.max_pages)];
        let (key, _) = limits.into_iter().find(|(_, limit)| *limit == 0)?;
        Some((key, "a limit of 0 lets no listing pass".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::gate::{ListPolicy, Rules, SchemaCache};

    #[test]
    fn a_policy_points_at_its_slip() {
        assert_eq!(ListPolicy::default().problem(), None);
        for key in ["max_items", "max_pages"] {
            let text = format!("schema = 1\ntitle = \"a test\"\n[servers.board.lists]\n{key} = 0\n");
            let error = Rules::new(toml::from_str(&text).unwrap(), Arc::new(SchemaCache::default())).unwrap_err();
            assert_eq!(error.path, ["servers", "board", "lists", key]);
        }
    }
}
