//! How much work a JSON Schema asks for at one value, before it is trusted with any.
//!
//! A chain of `allOf: [next, next]` doubles at every step and never ends in
//! practice; a chain of references that comes back to itself never ends at all.

use std::collections::HashMap;

use serde_json::Value;

use super::text::percent_decoded;

/// How many subschemas may apply to one value.
const MAX_STEPS: u64 = 20_000;
/// How deep subschemas may lead to each other at one value.
const MAX_DEPTH: usize = 200;

/// What is wrong with a schema's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unbounded {
    /// It leads back to itself at one value, or branches too often.
    Costly,
    /// It refers to something other than a place in the document: outside of
    /// it, or by a name, which could lead anywhere in it unseen.
    Away,
}

/// Checks that the schemas in `root` apply to each value in a bounded number of steps.
pub(super) fn bounded(root: &Value) -> Result<(), Unbounded> {
    let mut walk = Walk { root, known: HashMap::new() };
    walk.all(root, MAX_DEPTH)
}

struct Walk<'a> {
    root: &'a Value,
    /// Steps by the address of the subschema; `None` while it is being counted.
    known: HashMap<*const Value, Option<u64>>,
}

impl<'a> Walk<'a> {
    /// Every object in the document may be reached as a schema through a property.
    fn all(&mut self, node: &'a Value, depth: usize) -> Result<(), Unbounded> {
        if self.steps(node, MAX_DEPTH)? > MAX_STEPS {
            return Err(Unbounded::Costly);
        }
        let depth = depth.checked_sub(1).ok_or(Unbounded::Costly)?;
        match node {
            Value::Object(map) => map.values().try_for_each(|value| self.all(value, depth)),
            Value::Array(items) => items.iter().try_for_each(|value| self.all(value, depth)),
            _ => Ok(()),
        }
    }

    /// The subschemas that apply to the value that `schema` applies to.
    fn steps(&mut self, schema: &'a Value, depth: usize) -> Result<u64, Unbounded> {
        let Value::Object(map) = schema else { return Ok(1) };
        let key: *const Value = schema;
        if let Some(known) = self.known.get(&key) {
            return known.ok_or(Unbounded::Costly);
        }
        let depth = depth.checked_sub(1).ok_or(Unbounded::Costly)?;
        self.known.insert(key, None);
        let mut next: Vec<&'a Value> = Vec::new();
        for word in ["allOf", "anyOf", "oneOf"] {
            next.extend(map.get(word).and_then(Value::as_array).into_iter().flatten());
        }
        next.extend(["not", "if", "then", "else"].iter().filter_map(|word| map.get(*word)));
        for word in ["dependentSchemas", "dependencies"] {
            next.extend(map.get(word).and_then(Value::as_object).into_iter().flat_map(|map| map.values()));
        }
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            next.push(self.place(reference).ok_or(Unbounded::Away)?);
        }
        // An inner `$id` moves what `#` means.
        let is_inner = !std::ptr::eq(schema, self.root);
        let named = ["$dynamicRef", "$recursiveRef"].iter().any(|word| map.get(*word).is_some_and(Value::is_string));
        if named || (is_inner && map.get("$id").is_some_and(Value::is_string)) {
            return Err(Unbounded::Away);
        }
        let mut steps = 1u64;
        for schema in next {
            steps = steps.saturating_add(self.steps(schema, depth)?);
        }
        self.known.insert(key, Some(steps));
        Ok(steps)
    }

    /// The place in the document that `#` or `#/a/b` names.
    fn place(&self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#')?;
        match percent_decoded(pointer) {
            Some(decoded) => self.root.pointer(&decoded),
            None => self.root.pointer(pointer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_through_a_property_is_bounded_and_recursion_in_place_is_not() {
        use Unbounded::{Away, Costly};
        for (schema, found) in [
            (r##"{"properties":{"child":{"$ref":"#"}}}"##, Ok(())),
            (r##"{"anyOf":[{"type":"null"},{"items":{"$ref":"#"}}]}"##, Ok(())),
            (r#"{"properties":{"$id":{"type":"string"},"$ref":{"type":"string"}}}"#, Ok(())),
            (r##"{"$defs":{"a b":{"type":"string"}},"$ref":"#/$defs/a%20b"}"##, Ok(())),
            (r##"{"$ref":"#"}"##, Err(Costly)),
            (r##"{"properties":{"a":{"anyOf":[{"$ref":"#/properties/a"}]}}}"##, Err(Costly)),
            (r##"{"$defs":{"a":{"$anchor":"x"}},"$ref":"#x"}"##, Err(Away)),
            (r##"{"$defs":{"a":{"$id":"x"}},"$ref":"#/$defs/a"}"##, Err(Away)),
            (r##"{"$dynamicRef":"#x","$dynamicAnchor":"x"}"##, Err(Away)),
            (r#"{"$ref":"https://schemas.invalid/a.json"}"#, Err(Away)),
        ] {
            assert_eq!(bounded(&serde_json::from_str(schema).unwrap()), found, "{schema}");
        }
    }
}
