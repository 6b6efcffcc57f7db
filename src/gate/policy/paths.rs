//! What a policy says of files: which folders may be reached, which arguments
//! are paths.

use schemars::JsonSchema;
use serde::Deserialize;

/// Which folders may be reached: by tools whose arguments are marked as paths,
/// and by reading resources with a `file` URI.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathPolicy {
    /// Absolute paths of folders. A relative path begins at the first one.
    pub roots: Vec<String>,
}

/// Which arguments of a tool are paths.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPaths {
    /// Pointers into the arguments; where an array stands there, or on the way,
    /// each of its items is meant.
    pub arguments: Vec<String>,
    /// The folders that this tool may reach; the server's unless given.
    #[serde(default)]
    pub roots: Option<Vec<String>>,
}

impl PathPolicy {
    /// The key of a setting that can't be enforced as written, and what is wrong.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        trouble(&self.roots)
    }
}

impl ToolPaths {
    /// The same. `has_roots`: the server has roots of its own.
    pub(in crate::gate) fn problem(&self, has_roots: bool) -> Option<(&'static str, String)> {
        if let Some(odd) = self.arguments.iter().find(|text| !text.starts_with('/')) {
            return Some(("arguments", super::no_pointer(odd)));
        }
        if self.arguments.is_empty() {
            return Some(("arguments", "without an argument nothing is judged".to_owned()));
        }
        match &self.roots {
            Some(roots) => trouble(roots),
            None if has_roots => None,
            None => Some(("arguments", "neither the tool nor the server has roots".to_owned())),
        }
    }
}

fn trouble(roots: &[String]) -> Option<(&'static str, String)> {
    if roots.is_empty() {
        return Some(("roots", "without a root no path may pass".to_owned()));
    }
    let is_root = |text: &str| {
        let inner = text.strip_prefix('/').unwrap_or_default();
        !inner.is_empty() && inner.split('/').all(|part| !matches!(part, "" | "." | ".."))
    };
    let odd = roots.iter().find(|text| !is_root(text))?;
    Some((
        "roots",
        format!("'{odd}' is no folder below '/'; write it as '/srv/files', without '.', '..' or a slash at its end"),
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::gate::{PolicyError, Rules, SchemaCache};

    fn error(settings: &str) -> PolicyError {
        let text = format!("schema = 1\ntitle = \"a test\"\n{settings}");
        Rules::new(toml::from_str(&text).unwrap(), Arc::new(SchemaCache::default())).unwrap_err()
    }

    #[test]
    fn a_policy_points_at_its_slip() {
        for roots in ["[]", "[\"/\"]", "[\"srv\"]", "[\"/srv/\"]", "[\"/srv/../etc\"]", "[\"/srv\", \"\"]"] {
            let found = error(&format!("[servers.board.paths]\nroots = {roots}\n"));
            assert_eq!(found.path, ["servers", "board", "paths", "roots"], "{roots}");
        }
        for (paths, key) in [
            ("arguments = [\"path\"]\nroots = [\"/srv\"]", "arguments"),
            ("arguments = []\nroots = [\"/srv\"]", "arguments"),
            ("arguments = [\"/path\"]\nroots = [\"/\"]", "roots"),
            ("arguments = [\"/path\"]", "arguments"),
        ] {
            let found = error(&format!("[servers.board.tools.read.paths]\n{paths}\n"));
            assert_eq!(found.path, ["servers", "board", "tools", "read", "paths", key], "{paths}");
        }
    }
}
