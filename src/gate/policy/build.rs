//! What a policy says of the version of a server that lists and answers.

use schemars::JsonSchema;
use serde::Deserialize;

/// Where a server says which version of it speaks. Pointers go into results.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BuildPolicy {
    /// In the reply to `initialize`.
    pub opened: String,
    /// In the reply to a listing: by which version the list was built.
    pub listing: Option<String>,
    /// In the result of a call: which version answered.
    pub result: Option<String>,
    /// Whether calls have to wait for a new listing after a session was opened
    /// with another version than the one that listed.
    pub relist: bool,
}

impl Default for BuildPolicy {
    fn default() -> Self {
        Self { opened: "/serverInfo/version".to_owned(), listing: None, result: None, relist: true }
    }
}

impl BuildPolicy {
    /// The key of a setting that can't be enforced as written, and what is wrong.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let pointers =
            [("opened", Some(&self.opened)), ("listing", self.listing.as_ref()), ("result", self.result.as_ref())];
        let odd = pointers.into_iter().find_map(|(key, text)| Some((key, text.filter(|text| !text.starts_with('/'))?)));
        odd.map(|(key, text)| (key, super::no_pointer(text)))
    }
}
