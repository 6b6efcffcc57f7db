//! What a policy says of the calls that the user is asked about.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::ToolName;

/// Which calls need the user's consent. A consent is for one tool as it was
/// listed, with exactly these arguments, once.
///
/// A gate can only hold a call until the host tells it of a consent; where there
/// is no human in the loop, leave the section out, or every call is refused.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalPolicy {
    /// Which tools are asked about.
    pub mode: ApprovalMode,
    /// Tools that the operator knows to be harmless, whatever they are called: no
    /// consent is needed. A server's own `readOnlyHint` frees nothing, and a
    /// `destructiveHint` binds these too.
    pub free: Vec<ToolName>,
    /// Tools that are asked about in mode `destructive` though nothing in their
    /// names or words says why.
    pub ask: Vec<ToolName>,
}

/// Which tools are asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// All but those that are `free`.
    #[default]
    Every,
    /// Those under `ask`, and those whose name, words or annotations say that
    /// something is lost, moved or sent; tools that were never listed, too.
    Destructive,
}

impl ApprovalPolicy {
    /// The key of a setting that can't be enforced as written, and what is wrong
    /// with it.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        if let Some(tool) = self.ask.iter().find(|tool| self.free.contains(tool)) {
            return Some(("ask", format!("'{tool}' is free and asked about at once")));
        }
        (self.mode == ApprovalMode::Every && !self.ask.is_empty())
            .then(|| ("ask", "mode 'every' asks about every tool; write mode = \"destructive\"".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::gate::{Rules, SchemaCache};

    #[test]
    fn slips_are_told() {
        for (settings, wrong) in [
            ("free = [\"a\"]", false),
            ("mode = \"destructive\"\nask = [\"a\"]\nfree = [\"b\"]", false),
            ("ask = [\"a\"]", true),
            ("mode = \"destructive\"\nask = [\"a\"]\nfree = [\"a\"]", true),
        ] {
            let text = format!("schema = 1\ntitle = \"a test\"\n[servers.board.approval]\n{settings}\n");
            let rules = Rules::new(toml::from_str(&text).unwrap(), Arc::new(SchemaCache::default()));
            assert_eq!(rules.is_err(), wrong, "{settings}");
            if let Err(error) = rules {
                assert_eq!(error.path, ["servers", "board", "approval", "ask"]);
            }
        }
    }
}
