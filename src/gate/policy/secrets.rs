//! What a policy says of secrets on their way to a server.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::gate::secrets;

/// Which secrets may go to a server. None, unless given.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretsPolicy {
    /// Rules of `secrets-out` that don't apply, by id: what a vault is there to be given.
    pub except: Vec<String>,
}

impl SecretsPolicy {
    /// Whether a rule doesn't apply.
    pub(in crate::gate) fn excepts(&self, rule: &str) -> bool {
        self.except.iter().any(|id| id == rule)
    }

    /// A rule in it that there is not.
    pub(in crate::gate) fn unknown(&self) -> Option<&str> {
        self.except.iter().map(String::as_str).find(|id| !secrets::is_rule(id))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::gate::{Rules, SchemaCache, testing};

    #[test]
    fn a_policy_points_at_its_slip() {
        testing::rules("[servers.board.tools.a.secrets]\nexcept = [\"jwt\", \"held-token\"]\n");
        for (section, path) in [
            ("default.secrets", &["default", "secrets", "except"][..]),
            ("servers.board.tools.a.secrets", &["servers", "board", "tools", "a", "secrets", "except"]),
        ] {
            let text = format!("schema = 1\ntitle = \"a test\"\n[{section}]\nexcept = [\"jwts\"]\n");
            let error = Rules::new(toml::from_str(&text).unwrap(), Arc::new(SchemaCache::default())).unwrap_err();
            assert_eq!(error.path, path);
            assert_eq!(error.unknown.unwrap().0, "jwts");
        }
    }
}
