//! What a policy says of addresses on the network: which ones may be named to a
//! server, and by it.

use schemars::JsonSchema;
use serde::Deserialize;

/// Which addresses a server may be sent to, and may send its client to. As it
/// stands, only public ones over HTTPS.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EgressPolicy {
    /// Schemes of URLs, in lower case.
    pub schemes: Vec<String>,
    /// Ports, those that a scheme implies included.
    pub ports: Vec<u16>,
    /// Names of hosts inside the network, which needn't be public nor resolve:
    /// `wiki.internal`, or `*.corp.example` for all below it.
    pub internal: Vec<String>,
    /// Names whose public addresses may change in a session, in the same form:
    /// large sites spread their load so.
    pub rotating: Vec<String>,
}

impl Default for EgressPolicy {
    fn default() -> Self {
        Self { schemes: vec!["https".to_owned()], ports: vec![443], internal: Vec::new(), rotating: Vec::new() }
    }
}

impl EgressPolicy {
    /// Whether a scheme may be used.
    pub(in crate::gate) fn allows_scheme(&self, scheme: &str) -> bool {
        self.schemes.iter().any(|known| known == scheme)
    }

    /// Whether a host is one of the network's own.
    pub(in crate::gate) fn is_internal(&self, host: &str) -> bool {
        self.internal.iter().any(|pattern| covers(pattern, host))
    }

    /// Whether a host's addresses may change.
    pub(in crate::gate) fn may_rotate(&self, host: &str) -> bool {
        self.rotating.iter().any(|pattern| covers(pattern, host))
    }

    /// The key of a setting that can't be enforced as written, and what is wrong.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let is_scheme = |text: &str| {
            let rest = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'+' | b'-' | b'.');
            text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(rest)
        };
        if self.schemes.is_empty() {
            return Some(("schemes", "without a scheme no address may pass".to_owned()));
        }
        if let Some(odd) = self.schemes.iter().find(|text| !is_scheme(text)) {
            return Some(("schemes", format!("'{odd}' is no scheme; write it as 'https'")));
        }
        if self.ports.is_empty() || self.ports.contains(&0) {
            return Some(("ports", "a port is from 1 to 65535, and without one no address may pass".to_owned()));
        }
        let named = [("internal", &self.internal), ("rotating", &self.rotating)];
        let odd = named.into_iter().find_map(|(key, names)| Some((key, names.iter().find(|text| !is_name(text))?)));
        odd.map(|(key, text)| (key, format!("'{text}' is no host; write it as 'a.example' or '*.a.example'")))
    }
}

fn is_name(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let is_fine = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'_' | b':' | b'[' | b']');
    !name.is_empty() && name.split('.').all(|label| !label.is_empty() && label.bytes().all(is_fine))
}

fn covers(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
        None => pattern == host,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::gate::{Rules, SchemaCache};

    #[test]
    fn a_policy_points_at_its_slip() {
        assert_eq!(EgressPolicy::default().problem(), None);
        for (settings, key) in [
            ("schemes = []", "schemes"),
            ("schemes = [\"HTTPS\"]", "schemes"),
            ("schemes = [\"https://\"]", "schemes"),
            ("ports = []", "ports"),
            ("ports = [0]", "ports"),
            ("internal = [\"Wiki.internal\"]", "internal"),
            ("rotating = [\"*.\"]", "rotating"),
            ("rotating = [\"a.*.example\"]", "rotating"),
        ] {
            let text = format!("schema = 1\ntitle = \"a test\"\n[servers.board.egress]\n{settings}\n");
            let error = Rules::new(toml::from_str(&text).unwrap(), Arc::new(SchemaCache::default())).unwrap_err();
            assert_eq!(error.path, ["servers", "board", "egress", key], "{settings}");
        }
    }

    #[test]
    fn a_star_covers_what_is_below() {
        assert!(covers("*.a.example", "x.a.example") && covers("a.example", "a.example"));
        assert!(
            !covers("*.a.example", "a.example")
                && !covers("*.a.example", "xa.example")
                && !covers("a.example", "x.a.example")
        );
    }
}
