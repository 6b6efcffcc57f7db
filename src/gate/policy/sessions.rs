//! What a policy says of sessions: by what their owners are known.

use schemars::JsonSchema;
use serde::Deserialize;

/// By what principals are told apart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionsPolicy {
    /// Headers of the client, in lower case, that together say who it is.
    pub principals: Vec<String>,
}

impl Default for SessionsPolicy {
    fn default() -> Self {
        Self { principals: vec!["authorization".to_owned()] }
    }
}

impl SessionsPolicy {
    /// The key of a setting that can't be enforced as written, and what is wrong
    /// with it.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let is_name = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
        };
        if self.principals.is_empty() {
            return Some(("principals", "without a header everybody is the same principal".to_owned()));
        }
        let odd = self.principals.iter().find(|name| !is_name(name) || *name == "mcp-session-id")?;
        Some(("principals", format!("'{odd}' is no header that says who somebody is; write it in lower case")))
    }
}
