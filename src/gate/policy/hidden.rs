//! What a policy says of characters that hide text.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::gate::text::Concealment;

/// Which characters may hide text.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HiddenPolicy {
    /// Kinds of them that are let through from this server: `control`, `tags`,
    /// `selectors`, `direction`, `invisible`.
    pub except: Vec<String>,
}

impl HiddenPolicy {
    /// Whether a kind is let through.
    pub(in crate::gate) fn excepts(&self, kind: Concealment) -> bool {
        self.except.iter().any(|id| id == kind.as_str())
    }

    /// A kind in it that there is not.
    pub(in crate::gate) fn unknown(&self) -> Option<&str> {
        let is_known = |id: &str| Concealment::ALL.iter().any(|kind| kind.as_str() == id);
        self.except.iter().map(String::as_str).find(|id| !is_known(id))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::gate::{Rules, SchemaCache, testing};

    #[test]
    fn a_policy_points_at_its_slip() {
        testing::rules("[servers.board.hidden]\nexcept = [\"control\", \"direction\"]\n");
        let text = "schema = 1\ntitle = \"a test\"\n[servers.board.hidden]\nexcept = [\"controls\"]\n";
        let error = Rules::new(toml::from_str(text).unwrap(), Arc::new(SchemaCache::default())).unwrap_err();
        assert_eq!(error.path, ["servers", "board", "hidden", "except"]);
        assert_eq!(error.unknown.unwrap().0, "controls");
    }
}
