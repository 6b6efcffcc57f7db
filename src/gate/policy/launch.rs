//! What a policy says of how a server is launched.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::gate::Layer;

/// How a server may be launched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LaunchPolicy {
    /// The approved command, argument by argument. Without it, the first launch
    /// of a session (or what the host approves later) is what others are held against.
    pub argv: Option<Vec<String>>,
    /// The environment variables that are handed down, and no others. Without it,
    /// all but those that look like credentials or load code.
    pub env: Option<Vec<String>>,
    /// The lowest configuration layer that may launch it: `project`, `user` or
    /// `system`; `user` unless given.
    pub layer: Layer,
}

impl LaunchPolicy {
    /// The key of a setting that can't be enforced as written, and what is wrong.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        if self.argv.as_ref().is_some_and(Vec::is_empty) {
            return Some(("argv", "a command has at least one word".to_owned()));
        }
        let names = self.env.iter().flatten();
        let odd = names.clone().find(|name| name.is_empty() || name.contains(['=', '\0']))?;
        Some(("env", format!("'{odd}' is no name of an environment variable")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told() {
        let with = |text: &str| toml::from_str::<LaunchPolicy>(text).unwrap().problem().map(|(key, _)| key);
        assert_eq!(with(""), None);
        assert_eq!(with("argv = [\"server\"]\nenv = []\nlayer = \"system\""), None);
        assert_eq!(with("argv = []"), Some("argv"));
        assert_eq!(with("env = [\"A=1\"]"), Some("env"));
    }
}
