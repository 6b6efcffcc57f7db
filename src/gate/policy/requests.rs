//! What a policy says of a server that asks: its client's model, its user, its
//! folders; and of one that talks without being asked.

use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::super::text::percent_decoded;

/// What a server may ask its client for, where the client declared it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestsPolicy {
    /// Completions of the client's model.
    pub sampling: SamplingPolicy,
    /// The user's input.
    pub elicitation: ElicitationPolicy,
    /// The client's roots.
    pub roots: RootsPolicy,
    /// What a server says that answers nothing.
    pub unasked: UnaskedPolicy,
}

/// Completions of the client's model.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingPolicy {
    /// Whether the server may ask at all.
    pub allow: bool,
    /// The highest `maxTokens` of one request.
    pub max_tokens: u64,
    /// How many requests a session may have.
    pub max_requests: usize,
    /// How many may wait for an answer at once.
    pub max_in_flight: usize,
    /// How many bytes all requests of a session may have together.
    pub max_bytes: usize,
    /// Whose context may be put into the prompt.
    pub context: IncludeContext,
    /// Whether the server may set a system prompt.
    pub system_prompt: bool,
    /// Whether prompts are read for orders that are not the server's to give.
    pub scan: bool,
}

/// Whose context may be put into a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IncludeContext {
    /// Nobody's.
    #[default]
    None,
    /// That of the server that asks.
    ThisServer,
    /// That of every server.
    AllServers,
}

/// The user's input.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ElicitationPolicy {
    /// Whether the server may ask at all.
    pub allow: bool,
    /// How many requests a session may have.
    pub max_requests: usize,
    /// How many may wait for an answer at once.
    pub max_in_flight: usize,
    /// After how many declined in a row no more are asked, until the client acts.
    pub max_declines: usize,
    /// Origins that the user may be sent to (`https://host`); every https host
    /// that is plainly a name unless given.
    pub origins: Option<Vec<String>>,
}

/// The client's roots.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RootsPolicy {
    /// Whether the server may ask at all.
    pub allow: bool,
    /// How often, until the client says that its roots changed.
    pub max_requests: usize,
    /// The only folders (`file:///…`) that are told, with what lies in them; all
    /// unless given.
    pub within: Option<Vec<String>>,
}

/// What a server says that answers nothing, between two messages of its client's own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UnaskedPolicy {
    /// How many notifications.
    pub max_messages: usize,
    /// Their bytes.
    pub max_bytes: usize,
}

impl Default for SamplingPolicy {
    fn default() -> Self {
        Self {
            allow: true,
            max_tokens: 8192,
            max_requests: 100,
            max_in_flight: 8,
            max_bytes: 1_000_000,
            context: IncludeContext::default(),
            system_prompt: true,
            scan: true,
        }
    }
}

impl Default for ElicitationPolicy {
    fn default() -> Self {
        Self { allow: true, max_requests: 50, max_in_flight: 4, max_declines: 3, origins: None }
    }
}

impl Default for RootsPolicy {
    fn default() -> Self {
        Self { allow: true, max_requests: 20, within: None }
    }
}

impl Default for UnaskedPolicy {
    fn default() -> Self {
        Self { max_messages: 1000, max_bytes: 1_000_000 }
    }
}

impl RequestsPolicy {
    /// The key of a setting that can't be enforced as written, and what is wrong
    /// with it.
    pub(in crate::gate) fn problem(&self) -> Option<([&'static str; 2], String)> {
        let limits = [
            (["sampling", "max_requests"], self.sampling.max_requests),
            (["sampling", "max_in_flight"], self.sampling.max_in_flight),
            (["sampling", "max_bytes"], self.sampling.max_bytes),
            (["sampling", "max_tokens"], usize::try_from(self.sampling.max_tokens).unwrap_or(usize::MAX)),
            (["elicitation", "max_requests"], self.elicitation.max_requests),
            (["elicitation", "max_in_flight"], self.elicitation.max_in_flight),
            (["elicitation", "max_declines"], self.elicitation.max_declines),
            (["roots", "max_requests"], self.roots.max_requests),
        ];
        if let Some((key, _)) = limits.iter().find(|(_, limit)| *limit == 0) {
            return Some((*key, "a limit of 0 lets nothing pass; say `allow = false`".to_owned()));
        }
        let origins = self.elicitation.origins.iter().flatten();
        if let Some(odd) = origins.into_iter().find(|origin| !is_https_origin(origin)) {
            let why = format!("'{odd}' is no https origin; write it as 'https://signup.example'");
            return Some((["elicitation", "origins"], why));
        }
        let within = self.roots.within.iter().flatten();
        if let Some(odd) = within.into_iter().find(|root| folder(root).is_none()) {
            let why = format!("'{odd}' is no folder; write it as 'file:///home/rosa/project'");
            return Some((["roots", "within"], why));
        }
        None
    }
}

fn is_https_origin(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        url.scheme() == "https" && url.path() == "/" && url.query().is_none() && url.username().is_empty()
    })
}

/// The path of a `file://` URI of this machine, part by part, decoded; nothing
/// for whatever else it may be.
pub(in crate::gate) fn folder(uri: &str) -> Option<Vec<String>> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    if url.host_str().is_some_and(|host| !host.is_empty()) || url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    let decoded = |part: &str| percent_decoded(part).unwrap_or_else(|| part.to_owned());
    let parts: Vec<String> = url.path_segments()?.filter(|part| !part.is_empty()).map(decoded).collect();
    // What becomes a separator or a way up only once it is decoded is no name.
    let odd = |part: &String| part == ".." || part == "." || part.contains(['/', '\\', '\0']);
    (!parts.iter().any(odd)).then_some(parts)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::gate::{Rules, SchemaCache};

    #[test]
    fn the_defaults_can_be_enforced_and_slips_point_at_their_key() {
        assert_eq!(RequestsPolicy::default().problem(), None);
        for (key, settings) in [
            ("max_tokens", "[sampling]\nmax_tokens = 0"),
            ("max_declines", "[elicitation]\nmax_declines = 0"),
            ("origins", "[elicitation]\norigins = [\"http://signup.example\"]"),
            ("origins", "[elicitation]\norigins = [\"https://signup.example/path\"]"),
            ("within", "[roots]\nwithin = [\"/home/rosa\"]"),
            ("within", "[roots]\nwithin = [\"https://x.example/\"]"),
        ] {
            let policy: RequestsPolicy = toml::from_str(settings).unwrap();
            assert_eq!(policy.problem().unwrap().0[1], key, "{settings}");
        }
        let text = "schema = 1\ntitle = \"a test\"\n[servers.board.requests.sampling]\nmax_requests = 0\n";
        let error = Rules::new(toml::from_str(text).unwrap(), Arc::new(SchemaCache::default())).unwrap_err();
        assert_eq!(error.path, ["servers", "board", "requests", "sampling", "max_requests"]);
    }

    #[test]
    fn folders_are_told_from_what_only_looks_like_one() {
        assert_eq!(folder("file:///home/rosa/").unwrap(), ["home", "rosa"]);
        assert_eq!(folder("file://localhost/a%20b").unwrap(), ["a b"]);
        assert_eq!(folder("file:///home/rosa/../marc").unwrap(), ["home", "marc"]);
        assert_eq!(folder("file:///home/%2e%2e/marc").unwrap(), ["marc"]);
        for odd in ["http://x.example/a", "file://x.example/a", "file:///a%2f..%2fb", "/home", "file:///a?b", ""] {
            assert_eq!(folder(odd), None, "{odd}");
        }
    }
}
