//! What a policy says of tool names over several servers.

use schemars::JsonSchema;
use serde::Deserialize;

/// How the host tells the tools of several servers apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NamesPolicy {
    /// The host shows each tool under its server's name, so that two servers may
    /// serve a tool of the same name. Without it, all names stand in one list.
    pub qualified: bool,
    /// What the host puts between a server's name and a tool's where it makes one
    /// name of both (`__`): names that come out alike are a collision again.
    pub join: Option<String>,
}
