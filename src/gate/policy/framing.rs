//! What a policy says of how a message shows whom it is from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// What each message of a result must say of itself, outside its text. Pointers
/// go into the JSON of the result, or into one message.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// Where the messages stand: an array of them, or a single one.
    pub items: String,
    /// How far a message can be trusted, within it: a string.
    pub trust: String,
    /// The values that this may have.
    pub allowed: Vec<String>,
    /// How many messages are waiting that this result doesn't hold: a whole
    /// number that must be there.
    #[serde(default)]
    pub waiting: Option<String>,
    /// What a message may claim, by pointer into it.
    #[serde(default)]
    pub claims: BTreeMap<String, FramingClaim>,
}

/// What stands behind a claim.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FramingClaim {
    /// Whether the claim was verified, within the message: true or false.
    pub verified: String,
    /// The list within the message that holds what its sender may claim. A
    /// verified claim must be in it.
    #[serde(default)]
    pub among: Option<String>,
    /// The trust that a message with an unverified claim may have; any that is
    /// allowed unless given.
    #[serde(default)]
    pub unverified: Option<Vec<String>>,
}

impl Framing {
    /// The keys that lead to a setting that can't be enforced as written, and
    /// what is wrong with it.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let is_odd = |text: &&String| !text.starts_with('/');
        // The whole result may be the one message.
        if let Some(odd) = Some(&self.items).filter(|text| !text.is_empty()).filter(is_odd) {
            return Some(("items", super::no_pointer(odd)));
        }
        if let Some(odd) = Some(&self.trust).filter(is_odd) {
            return Some(("trust", super::no_pointer(odd)));
        }
        if let Some(odd) = self.waiting.as_ref().filter(is_odd) {
            return Some(("waiting", super::no_pointer(odd)));
        }
        if self.allowed.is_empty() {
            return Some(("allowed", "without a value that is allowed no message may pass".to_owned()));
        }
        let claimed =
            self.claims.iter().flat_map(|(claim, behind)| [Some(claim), Some(&behind.verified), behind.among.as_ref()]);
        if let Some(odd) = claimed.flatten().find(is_odd) {
            return Some(("claims", super::no_pointer(odd)));
        }
        let mut low = self.claims.values().filter_map(|claim| claim.unverified.as_ref()).flatten();
        let unknown = low.find(|value| !self.allowed.contains(value))?;
        Some(("claims", format!("'{unknown}' is no trust that `allowed` names")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told() {
        let good = r#"
items = "/messages"
trust = "/trust"
allowed = ["low"]
waiting = "/waiting"
claims = { "/channel" = { verified = "/verified", among = "/sender/channels", unverified = ["low"] } }"#;
        let problem = |text: String| toml::from_str::<Framing>(&text).unwrap().problem().map(|(key, _)| key);
        assert_eq!(problem(good.to_owned()), None);
        for (key, from, to) in [
            ("items", "\"/messages\"", "\"messages\""),
            ("trust", "\"/trust\"", "\"\""),
            ("waiting", "\"/waiting\"", "\"waiting\""),
            ("allowed", "allowed = [\"low\"]", "allowed = []"),
            ("claims", "\"/channel\"", "\"channel\""),
            ("claims", "\"/sender/channels\"", "\"x\""),
            ("claims", "unverified = [\"low\"]", "unverified = [\"lo\"]"),
        ] {
            assert_eq!(problem(good.replace(from, to)), Some(key), "{to}");
        }
    }
}
