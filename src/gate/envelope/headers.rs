//! Names of HTTP headers that a tool asks for (`x-mcp-header`).

use std::collections::BTreeSet;

use crate::protocol::{
    is_token,
    strict::{Kind, Node},
};

/// The annotation.
const KEY: &str = "x-mcp-header";

/// Keywords whose members are schemas by name.
const NAMED: [&str; 4] = ["patternProperties", "dependentSchemas", "$defs", "definitions"];
/// Keywords that hold a schema, or an array of them.
const SCHEMAS: [&str; 15] = [
    "items",
    "prefixItems",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
];

/// Why the header names in an input schema can't be used, if they can't: a name
/// must be a token of RFC 9110, its own within the tool whatever its case, on a
/// primitive property that is reached by properties alone.
pub(in crate::gate) fn flaw_in_schema(schema: &Node) -> Option<&'static str> {
    walk(schema, true, &mut BTreeSet::new())
}

fn walk(schema: &Node, reached: bool, seen: &mut BTreeSet<String>) -> Option<&'static str> {
    schema.members().iter().find_map(|member| {
        let value = &member.value;
        match member.key.as_str() {
            KEY => flaw_of_name(schema, value, reached, seen),
            "properties" => value.members().iter().find_map(|property| walk(&property.value, reached, seen)),
            key if NAMED.contains(&key) => value.members().iter().find_map(|named| walk(&named.value, false, seen)),
            key if SCHEMAS.contains(&key) => {
                std::iter::once(value).chain(value.items()).find_map(|schema| walk(schema, false, seen))
            }
            // Whatever else stands in a schema is data.
            _ => None,
        }
    })
}

fn flaw_of_name(property: &Node, name: &Node, reached: bool, seen: &mut BTreeSet<String>) -> Option<&'static str> {
    let Some(name) = name.as_str().filter(|name| is_token(name)) else {
        return Some("the name of a header parameter is no HTTP token");
    };
    if !reached || !is_primitive(property) {
        return Some("a header parameter is not a plain property with one value");
    }
    (!seen.insert(name.to_ascii_lowercase())).then_some("two header parameters have one name")
}

/// Whether every value of a property is a string, a number, a truth value or null.
fn is_primitive(property: &Node) -> bool {
    let is_plain = |name: &Node| matches!(name.as_str(), Some("string" | "integer" | "number" | "boolean" | "null"));
    if let Some(kinds) = property.member("type") {
        return match &kinds.kind {
            Kind::Array(kinds) => kinds.iter().all(is_plain),
            _ => is_plain(kinds),
        };
    }
    if let Some(branches) = property.member("anyOf").or_else(|| property.member("oneOf")) {
        return !branches.items().is_empty() && branches.items().iter().all(is_primitive);
    }
    let values = property.member("enum").map(Node::items).unwrap_or_default();
    let is_scalar = |node: &Node| !matches!(node.kind, Kind::Array(_) | Kind::Object(_) | Kind::TooDeep);
    property.member("const").is_some_and(is_scalar) || (!values.is_empty() && values.iter().all(is_scalar))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::strict;

    #[track_caller]
    fn flaw(schema: &str) -> Option<&'static str> {
        flaw_in_schema(&strict::parse(schema.as_bytes()).unwrap().root)
    }

    #[test]
    fn header_names_are_tokens_of_their_own_on_plain_properties() {
        for good in [
            r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"n"}}}"#,
            r#"{"properties":{"at":{"type":"object","properties":{"zone":{"type":["string","null"],"x-mcp-header":"Zone"}}}}}"#,
            r#"{"properties":{"x-mcp-header":{"type":"object"},"a":{"enum":["x",1],"x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"default":{"x-mcp-header":"a\r\nb"},"examples":[{"x-mcp-header":7}]}}}"#,
            "{}",
            "true",
        ] {
            assert_eq!(flaw(good), None, "{good}");
        }
        for name in [r#""a\r\nSet-Cookie: b""#, r#""a b""#, r#""""#, "7", "null", r#""ö""#, r#""a:b""#, r#""a\u0000""#]
        {
            let schema = format!(r#"{{"properties":{{"a":{{"type":"string","x-mcp-header":{name}}}}}}}"#);
            assert!(flaw(&schema).unwrap().contains("token"), "{name}");
        }
        for place in [
            r#"{"x-mcp-header":"A","type":"object"}"#,
            r#"{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
            r#"{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}"#,
            r#"{"allOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
        ] {
            assert!(flaw(place).unwrap().contains("plain property"), "{place}");
        }
        let twice = r#"{"properties":{"a":{"type":"string","x-mcp-header":"Room"},"b":{"type":"object","properties":{"c":{"type":"string","x-mcp-header":"rOOM"}}}}}"#;
        assert!(flaw(twice).unwrap().contains("one name"));
    }
}
