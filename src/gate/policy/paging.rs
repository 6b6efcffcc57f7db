//! What a policy says of a tool that hands out a document page by page.

use schemars::JsonSchema;
use serde::Deserialize;

/// How a tool pages: the arguments by name, what a page says by pointers into
/// the JSON of the result.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Paging {
    /// The arguments that say which document is read.
    pub document: Vec<String>,
    /// The argument that says where the page begins; absent, null and 0 mean the
    /// first page.
    pub offset: String,
    /// The argument that says which revision of the document is read on.
    pub digest: String,
    /// The revision that a page is of: a string.
    pub page_digest: String,
    /// Where a page begins, where it says so: a whole number.
    #[serde(default)]
    pub page_offset: Option<String>,
    /// Where the next page begins: a whole number, for a page that has a next one.
    pub next_offset: String,
    /// Whether there is a next page: true or false.
    pub more: String,
}

impl Paging {
    /// The key of a setting that can't be enforced as written, and what is wrong.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        if self.document.is_empty() {
            return Some(("document", "without an argument that names it, all documents would be one".to_owned()));
        }
        let pointers = [
            ("page_digest", Some(&self.page_digest)),
            ("page_offset", self.page_offset.as_ref()),
            ("next_offset", Some(&self.next_offset)),
            ("more", Some(&self.more)),
        ];
        let odd = pointers.into_iter().find_map(|(key, text)| Some((key, text.filter(|text| !text.starts_with('/'))?)));
        odd.map(|(key, text)| (key, super::no_pointer(text)))
    }
}
