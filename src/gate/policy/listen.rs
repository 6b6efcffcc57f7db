//! What a policy says of those who come to a gate that listens on HTTP.

use schemars::JsonSchema;
use serde::Deserialize;
use url::{Host, Url};

/// Who may speak to a gate that listens.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListenPolicy {
    /// Origins of web pages that may send requests, as `https://host` (any port)
    /// or `https://host:8080`. Pages on this machine alone unless given; a
    /// client that is no web page sends no origin, and may always.
    pub origins: Vec<String>,
    /// Names that the gate goes by in the `Host` header, as `host` (any port) or
    /// `host:8080`. Those of the loopback interface unless given.
    pub hosts: Vec<String>,
}

impl Default for ListenPolicy {
    fn default() -> Self {
        let hosts = ["localhost", "127.0.0.1", "[::1]"];
        let with = |scheme: &str| hosts.map(|host| format!("{scheme}://{host}"));
        Self {
            origins: [with("http"), with("https")].concat(),
            hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        }
    }
}

/// A name or an origin that one is compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    scheme: String,
    host: Host<String>,
    port: Option<u16>,
}

impl Place {
    /// Reads `scheme://host[:port]` and nothing more: what a browser serialises
    /// as an origin. `null` is none.
    fn origin(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let plain = !rest.is_empty() && !rest.contains(['/', '?', '#', '@', '\\', ' ', '\t']);
        let url = Url::parse(text).ok().filter(|_| plain)?;
        // `port()` leaves out the scheme's own port, which a `Host` may spell.
        let port = rest.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        Some(Self { scheme: scheme.to_ascii_lowercase(), host: url.host()?.to_owned(), port })
    }

    /// Reads the value of a `Host` header.
    fn host(text: &str) -> Option<Self> {
        Self::origin(&format!("http://{text}"))
    }

    /// Whether this entry of a policy stands for `found`.
    fn covers(&self, found: &Self) -> bool {
        self.scheme == found.scheme && self.host == found.host && (self.port.is_none() || self.port == found.port)
    }
}

impl ListenPolicy {
    /// Whether a page of this origin may send requests.
    pub(in crate::gate) fn allows_origin(&self, origin: &str) -> bool {
        let Some(found) = Place::origin(origin) else { return false };
        self.origins.iter().filter_map(|entry| Place::origin(entry)).any(|entry| entry.covers(&found))
    }

    /// Whether the gate goes by this name.
    pub(in crate::gate) fn allows_host(&self, host: &str) -> bool {
        // As it is written in the policy, but for the port: with every request.
        if self.hosts.iter().any(|entry| is_spelt(entry, host)) {
            return true;
        }
        let Some(found) = Place::host(host) else { return false };
        self.hosts.iter().filter_map(|entry| Place::host(entry)).any(|entry| entry.covers(&found))
    }

    /// The key of a setting that can't be enforced as written, and what is wrong.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        if let Some(odd) = self.origins.iter().find(|entry| Place::origin(entry).is_none()) {
            return Some((
                "origins",
                format!("'{odd}' is no origin; write it as 'https://host' or 'https://host:8080'"),
            ));
        }
        if let Some(odd) = self.hosts.iter().find(|entry| Place::host(entry).is_none()) {
            return Some(("hosts", format!("'{odd}' is no host; write it as 'host' or 'host:8080'")));
        }
        self.hosts.is_empty().then(|| ("hosts", "without a name nobody could reach the gate".to_owned()))
    }
}

/// Whether a `Host` is an entry as it is written, with any port where that has none.
fn is_spelt(entry: &str, host: &str) -> bool {
    let Some(rest) = host.strip_prefix(entry) else { return false };
    let is_open = !entry.contains(':') || entry.ends_with(']');
    rest.is_empty()
        || is_open
            && rest
                .strip_prefix(':')
                .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_on_this_machine_and_no_others() {
        let policy = ListenPolicy::default();
        for origin in ["http://localhost:6274", "https://127.0.0.1", "http://[::1]:8080", "HTTP://LOCALHOST"] {
            assert!(policy.allows_origin(origin), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://page.example",
            "http://localhost.page.example",
            "http://localhost@page.example",
            "http://127.0.0.1.page.example:80",
            "http://page.example/http://localhost",
            "file://localhost",
            "localhost",
            "http://localhost/",
        ] {
            assert!(!policy.allows_origin(origin), "{origin}");
        }
    }

    #[test]
    fn hosts_by_name_and_port() {
        let policy = ListenPolicy { hosts: vec!["gate.example:8443".into(), "127.0.0.1".into()], ..Default::default() };
        for host in ["gate.example:8443", "GATE.example:8443", "127.0.0.1:39211", "127.0.0.1"] {
            assert!(policy.allows_host(host), "{host}");
        }
        for host in [
            "gate.example",
            "gate.example:80",
            "gate.example:8443:80",
            "127.0.0.1:+80",
            "127.0.0.1:70000",
            "127.0.0.10",
            "rebound.example:39211",
            "",
            "127.0.0.1:1 x",
            "a@127.0.0.1",
        ] {
            assert!(!policy.allows_host(host), "{host}");
        }
    }

    proptest::proptest! {
        /// The short way lets nobody in whom the whole reading would keep out.
        #[test]
        fn a_name_as_it_is_written_is_one_that_is_read(
            entry in r"(gate\.example|GATE|127\.0\.0\.1|\[::1\]|x-)(:[0-9]{1,5})?",
            behind in r"(:[0-9+]{0,6}|[.:@/ ][a-z0-9]{0,3})?",
        ) {
            let host = format!("{entry}{behind}");
            let read = Place::host(&entry).zip(Place::host(&host)).is_some_and(|(entry, host)| entry.covers(&host));
            // An entry that can't be read is none: a policy with it is not loaded.
            proptest::prop_assert!(!is_spelt(&entry, &host) || read || Place::host(&entry).is_none(), "{host}");
        }
    }

    #[test]
    fn slips_are_told() {
        let with = |text: &str| toml::from_str::<ListenPolicy>(text).unwrap().problem().map(|(key, _)| key);
        assert_eq!(with(""), None);
        assert_eq!(with("origins = []"), None);
        assert_eq!(with(r#"origins = ["page.example"]"#), Some("origins"));
        assert_eq!(with(r#"hosts = ["http://x"]"#), Some("hosts"));
        assert_eq!(with("hosts = []"), Some("hosts"));
    }
}
