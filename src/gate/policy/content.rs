//! What a policy says of documents in results.

use schemars::JsonSchema;
use serde::Deserialize;

/// Which documents may come in results.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContentPolicy {
    /// What becomes of documents that run something or load something when they
    /// are shown.
    pub active: ActiveContent,
}

/// What becomes of documents that do something when they are shown. Text is data,
/// whatever it says, and is never looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ActiveContent {
    /// Those that a client shows as pictures are refused: images, and SVG
    /// wherever it comes. A page in HTML passes: it may be the source that was
    /// asked for.
    #[default]
    Pictures,
    /// Pages in HTML are refused as well.
    Refuse,
    /// They pass.
    Pass,
}
