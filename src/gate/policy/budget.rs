//! What a policy says of how often tools may be called in a session.

use schemars::JsonSchema;
use serde::Deserialize;

/// How often a server may be asked to act. A session is what the gate sees as
/// one: a reconnect doesn't begin a new budget.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetPolicy {
    /// How many requests that make the server do or disclose something (calls,
    /// reads, prompts, completions) a session may have.
    pub calls: usize,
    /// How many calls of one tool with the same arguments.
    pub identical: usize,
    /// How many of these one after another, with no other call between.
    pub in_a_row: usize,
    /// How many calls may wait for their answers at once.
    pub in_flight: usize,
}

impl Default for BudgetPolicy {
    /// Far above what an assistant's honest work in one session comes to, far
    /// below what a loop does.
    fn default() -> Self {
        Self { calls: 10_000, identical: 1000, in_a_row: 100, in_flight: 256 }
    }
}

/// How often one tool may be called. What is given for the server holds beside
/// it, but for `identical` and `in_a_row`, which take the server's place.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolBudget {
    /// How many calls of it a session may have.
    pub calls: Option<usize>,
    /// How many with the same arguments.
    pub identical: Option<usize>,
    /// How many with the same arguments one after another.
    pub in_a_row: Option<usize>,
    /// How many may wait for their answers at once.
    pub in_flight: Option<usize>,
    /// What becomes of a call that was made before.
    pub replay: Replay,
    /// What makes two calls the same act: pointers into the arguments; all
    /// arguments unless given.
    pub same: Vec<String>,
    /// The pointer into the arguments to an idempotency key. A call under a new
    /// key is a new act, and one under the key of a call whose outcome is not
    /// known is an honest retry.
    pub key: Option<String>,
}

/// What becomes of a call that was made before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replay {
    /// It passes.
    #[default]
    Allow,
    /// It is refused, unless the earlier one is known to have failed.
    Refuse,
}

impl BudgetPolicy {
    /// The key of a setting under which nothing could ever pass, and what is
    /// wrong with it.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let limits = [
            ("calls", self.calls),
            ("identical", self.identical),
            ("in_a_row", self.in_a_row),
            ("in_flight", self.in_flight),
        ];
        limits.iter().find(|(_, limit)| *limit == 0).map(|(key, _)| (*key, NOTHING.to_owned()))
    }
}

const NOTHING: &str = "a limit of 0 lets nothing pass";

impl ToolBudget {
    /// The key of a setting that can't be enforced as written, and what is wrong.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let limits = [
            ("calls", self.calls),
            ("identical", self.identical),
            ("in_a_row", self.in_a_row),
            ("in_flight", self.in_flight),
        ];
        if let Some((key, _)) = limits.iter().find(|(_, limit)| *limit == Some(0)) {
            return Some((key, NOTHING.to_owned()));
        }
        let same = self.same.iter().map(|pointer| ("same", pointer));
        let mut pointers = same.chain(self.key.as_ref().map(|pointer| ("key", pointer)));
        if let Some((key, odd)) = pointers.find(|(_, pointer)| !pointer.starts_with('/')) {
            return Some((key, super::no_pointer(odd)));
        }
        let idle = self.replay == Replay::Allow && (!self.same.is_empty() || self.key.is_some());
        idle.then(|| ("replay", "without `replay = \"refuse\"`, `same` and `key` do nothing".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told() {
        assert_eq!(BudgetPolicy::default().problem(), None);
        let server = |text: &str| toml::from_str::<BudgetPolicy>(text).unwrap().problem().unwrap().0;
        assert_eq!(server("in_flight = 0"), "in_flight");
        let tool = |text: &str| toml::from_str::<ToolBudget>(text).unwrap().problem().map(|(key, _)| key);
        assert_eq!(tool("calls = 1\nreplay = \"refuse\"\nkey = \"/key\""), None);
        for (key, text) in [
            ("calls", "calls = 0"),
            ("same", "replay = \"refuse\"\nsame = [\"to\"]"),
            ("key", "replay = \"refuse\"\nkey = \"key\""),
            ("replay", "key = \"/key\""),
        ] {
            assert_eq!(tool(text), Some(key), "{text}");
        }
    }
}
