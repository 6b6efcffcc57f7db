//! What a policy says of identities: under whose calls run, and what their tokens are for.

use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

/// Under whose identity calls run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityPolicy {
    /// Whose.
    pub mode: IdentityMode,
    /// The environment variable that hands a token to a server that is launched.
    #[serde(default)]
    pub env: Option<String>,
    /// What the delegated token is for, as an address: a server that is reached at
    /// another origin gets no token. The port of a loopback address does not
    /// count, because it is chosen at every start. Any origin unless given.
    #[serde(default)]
    pub audience: Option<String>,
    /// The scopes that the delegated token may have, and that the server may ask
    /// for; any unless given.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
    /// Headers, in lower case, that may carry a credential of the client's to this
    /// server all the same.
    #[serde(default)]
    pub keep: Vec<String>,
}

/// Whose identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdentityMode {
    /// The user's: calls carry the token that the host holds for this server,
    /// and nothing that the client sent.
    Delegated,
}

impl IdentityPolicy {
    /// The key of a setting that can't be enforced as written, and what is wrong
    /// with it.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let is_web = |url: &Url| matches!(url.scheme(), "https" | "http") && url.has_host();
        if let Some(odd) = self.audience.as_ref().filter(|text| !Url::parse(text).is_ok_and(|url| is_web(&url))) {
            return Some(("audience", format!("'{odd}' is no address; write it as 'https://tickets.example/mcp'")));
        }
        if let Some(odd) = self.scopes.iter().flatten().find(|scope| scope.is_empty() || scope.contains(' ')) {
            return Some(("scopes", format!("'{odd}' is not one scope")));
        }
        let odd = self.keep.iter().find(|name| *name == "authorization" || **name != name.to_lowercase())?;
        Some(("keep", format!("'{odd}' can't be kept: `authorization` is the gate's own, and names are in lower case")))
    }
}
