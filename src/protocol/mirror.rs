//! What stands in HTTP headers beside the body, and how values stand there.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::strict::{Kind, Node};

/// The annotation by which a tool asks for an argument in a header.
const KEY: &str = "x-mcp-header";

/// An argument that stands in the header `mcp-param-<name>` as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The whole name of the header, in lower case.
    pub header: String,
    /// The way to the value in the arguments.
    path: Vec<String>,
}

impl Mirror {
    /// What an input schema asks for. Names that can't be a header's are left out.
    pub fn in_schema(schema: &Node) -> Vec<Self> {
        let mut found = Vec::new();
        walk(schema, &mut Vec::new(), &mut found);
        found
    }

    /// The same, of a schema's raw text.
    pub fn in_text(schema: &str) -> Vec<Self> {
        // Hardly any schema asks for a header, and most are read often.
        if !schema.contains(KEY) {
            return Vec::new();
        }
        super::strict::parse(schema.as_bytes()).map(|schema| Self::in_schema(&schema.root)).unwrap_or_default()
    }

    /// What the header has to say of these arguments; `None` where it must not stand
    /// there.
    pub fn value(&self, arguments: Option<&Node>) -> Option<String> {
        let value = self.path.iter().try_fold(arguments?, |at, key| at.member(key))?;
        match &value.kind {
            Kind::String(text) | Kind::Number(text) => Some(text.clone()),
            Kind::Bool(value) => Some(value.to_string()),
            _ => None,
        }
    }
}

fn walk(schema: &Node, path: &mut Vec<String>, found: &mut Vec<Mirror>) {
    for property in schema.member("properties").map(Node::members).unwrap_or_default() {
        path.push(property.key.clone());
        let name = property.value.member(KEY).and_then(Node::as_str).filter(|name| is_token(name));
        let header = name.map(|name| format!("mcp-param-{}", name.to_ascii_lowercase()));
        found.extend(header.map(|header| Mirror { header, path: path.clone() }));
        walk(&property.value, path, found);
        path.pop();
    }
}

/// Whether a name is a token of RFC 9110, as a header's must be.
pub fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// A value as it stands in a header: what can't stand there as it is, stands there
/// in base64 (`=?base64?…?=`).
pub fn encoded(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte) || byte == b'\t');
    let packed = text.starts_with("=?base64?") && text.ends_with("?=");
    if plain && !packed && text.trim() == text {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(text))
    }
}

/// Whether a header's value says exactly this text, in whichever of both ways.
pub fn stands_for(value: &str, text: &str) -> bool {
    let packed = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match packed {
        Some(packed) => STANDARD.decode(packed).is_ok_and(|bytes| bytes == text.as_bytes()),
        None => value == text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::strict;

    #[test]
    fn arguments_stand_in_headers() {
        let schema = r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"at":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"bad":{"x-mcp-header":"a b"}}}"#;
        let mirrors = Mirror::in_text(schema);
        let headers: Vec<_> = mirrors.iter().map(|mirror| mirror.header.as_str()).collect();
        assert_eq!(headers, ["mcp-param-region", "mcp-param-n"]);
        let of = |arguments: &str| {
            let arguments = strict::parse(arguments.as_bytes()).unwrap();
            mirrors.iter().map(|mirror| mirror.value(Some(&arguments.root))).collect::<Vec<_>>()
        };
        assert_eq!(of(r#"{"region":"Köln","at":{"n":7}}"#), [Some("Köln".to_owned()), Some("7".to_owned())]);
        assert_eq!(of(r#"{"region":null,"at":[]}"#), [None, None]);
        assert!(Mirror::in_text(r#"{"properties":{"a":{"type":"string"}}}"#).is_empty());
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_packed() {
        for (text, value) in [
            ("a b", "a b"),
            (" a", "=?base64?IGE=?="),
            ("Köln", "=?base64?S8O2bG4=?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ] {
            assert_eq!(encoded(text), value);
            assert!(stands_for(value, text));
        }
    }

    #[test]
    fn values_are_compared_exactly() {
        assert!(stands_for("read", "read") && stands_for("=?base64?w7ZmZm5l?=", "öffne"));
        for other in ["Read", "read ", "", "=?base64?cmVhZA==?", "=?base64?***?="] {
            assert!(!stands_for(other, "read"), "{other}");
        }
    }
}
