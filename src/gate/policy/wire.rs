//! What a policy says of the wire: where a server may send its client, in which
//! forms, sizes and protocol versions it may answer.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::{Era, Revision};

/// What may come over the wire.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WirePolicy {
    /// Which redirects are followed.
    pub redirects: Redirects,
    /// Media types that a successful HTTP response may have, without parameters.
    pub media_types: Vec<String>,
    /// How many bytes a message of the server may have.
    pub max_reply_bytes: usize,
    /// How many bytes a message of the client may have.
    pub max_request_bytes: usize,
    /// Protocol versions that a session may be opened in, as dates.
    pub versions: Vec<String>,
    /// The oldest of them that may be used; the oldest there is unless given.
    pub min_version: Option<String>,
}

/// Which redirects are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Redirects {
    /// None at all.
    #[default]
    None,
    /// Those that stay on the scheme, host and port that were asked.
    SameOrigin,
}

impl Default for WirePolicy {
    fn default() -> Self {
        Self {
            redirects: Redirects::default(),
            media_types: vec!["application/json".to_owned(), "text/event-stream".to_owned()],
            max_reply_bytes: 2_000_000,
            max_request_bytes: 2_000_000,
            versions: Revision::ALL.iter().map(|revision| revision.as_str().to_owned()).collect(),
            min_version: None,
        }
    }
}

impl WirePolicy {
    /// Whether a session may be opened in this version.
    pub fn allows_version(&self, version: &str) -> bool {
        self.lists_version(version) && !self.is_below_minimum(version)
    }

    /// The versions of an era that may be used, newest first.
    pub(in crate::gate) fn of_era(&self, era: Era) -> Vec<String> {
        let mut versions: Vec<_> = self.versions.iter().filter(|version| Era::of(version) == era).cloned().collect();
        versions.retain(|version| !self.is_below_minimum(version));
        versions.sort_unstable_by(|a, b| b.cmp(a));
        versions
    }

    /// Whether the version is one of those listed.
    pub(in crate::gate) fn lists_version(&self, version: &str) -> bool {
        self.versions.iter().any(|known| known == version)
    }

    /// Whether a listed version is older than the oldest allowed; dates sort as text.
    pub(in crate::gate) fn is_below_minimum(&self, version: &str) -> bool {
        self.min_version.as_deref().is_some_and(|oldest| version < oldest)
    }

    /// Whether a response may have this media type, as its header spells it.
    pub(in crate::gate) fn allows_media_type(&self, header: &str) -> bool {
        let essence = header.split(';').next().unwrap_or_default().trim();
        self.media_types.iter().any(|known| known.eq_ignore_ascii_case(essence))
    }

    /// The key of a setting that can't be enforced as written, and what is wrong
    /// with it. A setting under which nothing could ever pass is a slip.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let limits = [("max_reply_bytes", self.max_reply_bytes), ("max_request_bytes", self.max_request_bytes)];
        if let Some((key, _)) = limits.iter().find(|(_, limit)| *limit == 0) {
            return Some((key, "a limit of 0 lets nothing pass".to_owned()));
        }
        if self.media_types.is_empty() {
            return Some(("media_types", "without a media type no response may pass".to_owned()));
        }
        if let Some(odd) = self.media_types.iter().find(|text| !is_media_type(text)) {
            let why = format!("'{odd}' is no media type; write it as 'application/json', without parameters");
            return Some(("media_types", why));
        }
        if let Some(odd) = self.versions.iter().find(|text| !is_date(text)) {
            return Some(("versions", format!("'{odd}' is no protocol version; write it as '2025-06-18'")));
        }
        if let Some(odd) = self.min_version.as_ref().filter(|text| !is_date(text)) {
            return Some(("min_version", format!("'{odd}' is no protocol version; write it as '2025-06-18'")));
        }
        if self.versions.is_empty() {
            return Some(("versions", "without a version no session may be opened".to_owned()));
        }
        if self.versions.iter().all(|version| self.is_below_minimum(version)) {
            return Some(("min_version", "every version that is allowed is older than this".to_owned()));
        }
        None
    }
}

fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    text.split_once('/').is_some_and(|(kind, name)| is_token(kind) && is_token(name))
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::gate::{Rules, SchemaCache, WirePolicy, testing};

    fn problem(settings: &str) -> (&'static str, String) {
        toml::from_str::<WirePolicy>(settings).unwrap().problem().expect(settings)
    }

    #[test]
    fn the_defaults_can_be_enforced() {
        assert_eq!(WirePolicy::default().problem(), None);
        assert_eq!(toml::from_str::<WirePolicy>("").unwrap().max_request_bytes, 2_000_000);
        let rules = testing::rules("[servers.board.wire]\nredirects = \"same-origin\"\n");
        assert_eq!(rules.policy().server(&"board".into()).wire.max_reply_bytes, 2_000_000);
    }

    #[test]
    fn slips_are_told() {
        for (key, settings) in [
            ("max_reply_bytes", "max_reply_bytes = 0"),
            ("media_types", "media_types = []"),
            ("media_types", r#"media_types = ["json"]"#),
            ("media_types", r#"media_types = ["application/json; charset=utf-8"]"#),
            ("versions", "versions = []"),
            ("versions", r#"versions = ["2025-6-18"]"#),
            ("min_version", r#"min_version = "latest""#),
            ("min_version", r#"min_version = "2999-01-01""#),
        ] {
            assert_eq!(problem(settings).0, key, "{settings}");
        }
        for unknown in ["max_bytes = 1", r#"redirects = "all""#, "max_reply_bytes = -1"] {
            assert!(toml::from_str::<WirePolicy>(unknown).is_err(), "{unknown}");
        }
    }

    #[test]
    fn a_policy_points_at_its_slip() {
        let text = "schema = 1\ntitle = \"a test\"\n[servers.board.wire]\nversions = []\n";
        let error = Rules::new(toml::from_str(text).unwrap(), Arc::new(SchemaCache::default())).unwrap_err();
        assert_eq!(error.path, ["servers", "board", "wire", "versions"]);
    }
}
