//! What a gate is told to enforce: one file a section.

mod identity;
mod requests;
mod sessions;
mod wire;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub use identity::{IdentityMode, IdentityPolicy};
pub(super) use requests::folder;
pub use requests::{ElicitationPolicy, IncludeContext, RequestsPolicy, RootsPolicy, SamplingPolicy, UnaskedPolicy};
pub use sessions::SessionsPolicy;
pub use wire::{Redirects, WirePolicy};

use crate::protocol::{ServerName, ToolName};

/// A policy file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The version of this format: 1.
    pub schema: u32,
    /// What it is for, in one line.
    pub title: String,
    /// Switches single checks off (`false`); what isn't named is on.
    #[serde(default)]
    pub checks: BTreeMap<String, bool>,
    /// Settings by server; a server that isn't named here may be talked to
    /// under `default`.
    #[serde(default)]
    pub servers: BTreeMap<ServerName, ServerPolicy>,
    /// Settings of every server that isn't named.
    #[serde(default)]
    pub default: ServerPolicy,
}

impl Policy {
    /// The settings that hold for a server.
    pub fn server(&self, name: &ServerName) -> &ServerPolicy {
        self.servers.get(name).unwrap_or(&self.default)
    }
}

/// What holds for one server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerPolicy {
    /// The tools that may be listed and called; every tool unless given.
    pub allow: Option<Vec<ToolName>>,
    /// When a definition counts as approved; not judged unless given.
    pub pins: Option<PinMode>,
    /// What text in definitions is looked at.
    pub scan: ScanPolicy,
    /// What may come over the wire.
    pub wire: WirePolicy,
    /// What the server may ask its client for, and how much it may say unasked.
    pub requests: RequestsPolicy,
    /// By what the owners of sessions are known.
    pub sessions: SessionsPolicy,
    /// Under whose identity calls run; the server's own unless given.
    pub identity: Option<IdentityPolicy>,
    /// Settings by tool.
    pub tools: BTreeMap<ToolName, ToolPolicy>,
}

/// When a definition counts as approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PinMode {
    /// What is listed first in a session is approved; later changes are not.
    FirstUse,
    /// Only what the host approved.
    Approved,
}

/// What text in definitions is looked at.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScanPolicy {
    /// Rules of the scan that don't apply to this server, by id.
    pub except: Vec<String>,
}

/// What holds for one tool.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolPolicy {
    /// The host's own words and schema, shown instead of the server's.
    pub show: Option<HostDefinition>,
    /// Arguments that the host sets (JSON text by name): the model may not give
    /// them, the server gets exactly these.
    pub pinned: BTreeMap<String, String>,
    /// What a success must look like.
    pub shape: Option<ResultShape>,
    /// What a success may hold.
    pub scope: Option<ResultScope>,
    /// The scopes that the delegated token needs for a call of it.
    pub needs: Vec<String>,
}

/// A tool in the host's own words.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostDefinition {
    /// The description that the model sees.
    pub description: String,
    /// The input schema that the model sees and arguments are held to, as JSON text.
    pub input_schema: String,
}

/// What a success must look like.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultShape {
    /// What the text is.
    pub text: TextForm,
    /// A schema for the JSON text, as JSON text.
    #[serde(default)]
    pub schema: Option<String>,
}

/// What the text of a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TextForm {
    /// Exactly one text block, which holds one JSON value.
    OneJson,
}

/// What a success may hold. Pointers go into the JSON text of the result (or
/// its `structuredContent` where there is no JSON text).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResultScope {
    /// Values that must be exactly these (JSON text by pointer).
    pub require: BTreeMap<String, String>,
    /// The array of what was asked for.
    pub items: Option<String>,
    /// What each item must be (JSON text by pointer into the item).
    pub each: BTreeMap<String, String>,
    /// The argument that says how many items may come.
    pub limit: Option<String>,
    /// How many may come where the argument isn't given.
    pub limit_default: Option<usize>,
}
