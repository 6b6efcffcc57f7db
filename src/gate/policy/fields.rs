//! What a policy says of single arguments: what a field of a tool is for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// Rules for arguments of a tool, by a pointer into the arguments; where an array
/// stands there, or on the way, each of its items is meant.
pub type Fields = BTreeMap<String, FieldPolicy>;

/// What one argument may be.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FieldPolicy {
    /// What the server makes of it.
    pub kind: Option<FieldKind>,
    /// The texts that it may be.
    pub one_of: Option<Vec<String>>,
    /// How many characters it may have.
    pub max_length: Option<usize>,
    /// For recipients: the domains that they may be in, as `post.example`.
    pub domains: Vec<String>,
    /// For recipients: addresses that they may be, whatever their domain.
    pub addresses: Vec<String>,
}

/// What a server makes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FieldKind {
    /// One word of a command line: a program, a branch, a file.
    CommandWord,
    /// Text that is put into a command line: nothing in it means anything to a shell.
    ShellSafe,
    /// The name of something that is given to a program: no option, no `@file`.
    Name,
    /// A name in a query language, with dots between its parts.
    Identifier,
    /// Whom something is sent to. Other fields that name recipients are refused
    /// unless they are marked, too.
    Recipient,
    /// One line that becomes a header: a subject, a file name.
    OneLine,
}

impl FieldPolicy {
    /// The key of a setting that can't be enforced as written, and what is wrong.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let is_recipient = self.kind == Some(FieldKind::Recipient);
        let has_allowed = !self.domains.is_empty() || !self.addresses.is_empty();
        if self.kind.is_none() && self.one_of.is_none() && self.max_length.is_none() {
            return Some(("kind", "a field without kind, one_of or max_length is not judged".to_owned()));
        }
        if is_recipient && !has_allowed {
            return Some(("kind", "a recipient needs domains or addresses that it may be in".to_owned()));
        }
        if !is_recipient && has_allowed {
            let key = if self.domains.is_empty() { "addresses" } else { "domains" };
            return Some((key, "only a recipient has domains and addresses".to_owned()));
        }
        if self.one_of.as_ref().is_some_and(Vec::is_empty) {
            return Some(("one_of", "of no text at all, none may be given".to_owned()));
        }
        if self.max_length == Some(0) {
            return Some(("max_length", "a limit of 0 lets nothing pass".to_owned()));
        }
        let is_domain = |text: &str| {
            let is_fine = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
            text.split('.').all(|label| !label.is_empty() && label.bytes().all(is_fine))
        };
        if let Some(odd) = self.domains.iter().find(|text| !is_domain(text)) {
            return Some(("domains", format!("'{odd}' is no domain; write it in lower case, as 'post.example'")));
        }
        let is_address =
            |text: &str| text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && is_domain(host));
        let odd = self.addresses.iter().find(|text| !is_address(text))?;
        Some(("addresses", format!("'{odd}' is no address; write it as 'rosa@post.example', the domain in lower case")))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::gate::{Rules, SchemaCache};

    #[test]
    fn a_policy_points_at_its_slip() {
        for (field, key) in [
            ("{}", "kind"),
            ("{ kind = 'recipient' }", "kind"),
            ("{ kind = 'name', domains = ['post.example'] }", "domains"),
            ("{ max_length = 3, addresses = ['a@post.example'] }", "addresses"),
            ("{ one_of = [] }", "one_of"),
            ("{ max_length = 0 }", "max_length"),
            ("{ kind = 'recipient', domains = ['@post.example'] }", "domains"),
            ("{ kind = 'recipient', addresses = ['post.example'] }", "addresses"),
        ] {
            let text =
                format!("schema = 1\ntitle = \"a test\"\n[servers.board.tools.send.fields]\n\"/to\" = {field}\n");
            let error = Rules::new(toml::from_str(&text).unwrap(), Arc::new(SchemaCache::default())).unwrap_err();
            assert_eq!(error.path, ["servers", "board", "tools", "send", "fields", "/to", key], "{field}");
        }
        let text = "schema = 1\ntitle = \"a test\"\n[servers.board.tools.send.fields]\nto = { max_length = 3 }\n";
        let error = Rules::new(toml::from_str(text).unwrap(), Arc::new(SchemaCache::default())).unwrap_err();
        assert_eq!(error.path, ["servers", "board", "tools", "send", "fields", "to"]);
    }
}
