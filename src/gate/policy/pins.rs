//! What a policy says of pins: when something counts as approved.

use schemars::JsonSchema;
use serde::Deserialize;

/// When a definition counts as approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PinMode {
    /// What is listed first is approved; later changes are not.
    FirstUse,
    /// Only what the host approved.
    Approved,
}

/// Which results of `prompts/get` are pinned, where definitions are. Whatever
/// came first for a prompt is what must come again, until the host approves
/// what came last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptPins {
    /// None: prompts that are made anew each time, with the day's date in them.
    None,
    /// Those that are asked for without arguments.
    #[default]
    Static,
    /// All: the same arguments must bring the same messages.
    ByArguments,
}
