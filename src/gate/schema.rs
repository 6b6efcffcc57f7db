//! Compiled JSON Schemas, shared and bounded.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use jsonschema::{Draft, PatternOptions, Retrieve, Uri, Validator};

use super::bounds::{Unbounded, bounded};
use crate::protocol::strict;

/// Why a schema can't be enforced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaProblem {
    /// The text is not JSON, or its JSON is ambiguous.
    #[error("the schema is not plain JSON: {0}")]
    NotJson(String),
    /// It is JSON, but no schema that can be compiled (remote references included).
    #[error("the schema can't be compiled: {0}")]
    NotASchema(String),
    /// It is larger than any schema should be.
    #[error("the schema is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// It would take for ever, or nearly.
    #[error("the schema leads back to itself, or branches too often")]
    TooCostly,
}

/// The largest schema that is compiled, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// How many compiled schemas are kept; past that the cache starts anew.
const MAX_ENTRIES: usize = 4096;

/// How often a pattern with look-around may go back before it counts as broken.
const MAX_BACKTRACKS: usize = 100_000;

type Compiled = Result<Arc<Validator>, SchemaProblem>;

/// Compiles a schema once, however often it is met.
#[derive(Debug, Default)]
pub struct SchemaCache(RwLock<HashMap<Box<str>, Compiled>>);

/// Refuses every reference that would leave the document.
#[derive(Debug)]
struct NoRemote;

impl Retrieve for NoRemote {
    fn retrieve(&self, _: &Uri<String>) -> Result<serde_json::Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("a reference leaves the document; nothing is fetched".into())
    }
}

impl SchemaCache {
    /// The validator for a schema's raw text. Without `$schema` it is read as
    /// 2020-12, MCP's default since 2025-11-25.
    ///
    /// # Errors
    /// Where the text is no schema that can be enforced.
    pub fn get(&self, schema: &str) -> Compiled {
        if let Some(found) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(schema) {
            return found.clone();
        }
        let compiled = compile(schema);
        let mut cache = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= MAX_ENTRIES {
            cache.clear();
        }
        cache.insert(schema.into(), compiled.clone());
        compiled
    }
}

fn compile(schema: &str) -> Compiled {
    if schema.len() > MAX_BYTES {
        return Err(SchemaProblem::TooLarge);
    }
    let document = strict::parse(schema.as_bytes()).map_err(|error| SchemaProblem::NotJson(error.to_string()))?;
    let value = document
        .root
        .to_value()
        .ok_or_else(|| SchemaProblem::NotJson("duplicate keys, or numbers beyond a double".to_owned()))?;
    if !value.is_object() && !value.is_boolean() {
        return Err(SchemaProblem::NotASchema("neither an object nor a truth value".to_owned()));
    }
    bounded(&value).map_err(|problem| match problem {
        Unbounded::Costly => SchemaProblem::TooCostly,
        Unbounded::Away => SchemaProblem::NotASchema("a reference leaves the document, or goes by a name".to_owned()),
    })?;
    // A `$schema` that names no known draft names nothing that could be fetched:
    // the schema is read as if it named none.
    let draft = match Draft::Draft202012.detect(&value) {
        Draft::Unknown => Draft::Draft202012,
        known => known,
    };
    jsonschema::options()
        .with_draft(draft)
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS))
        .with_retriever(NoRemote)
        .build(&value)
        .map(Arc::new)
        .map_err(|error| SchemaProblem::NotASchema(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_never_leave_the_document() {
        let cache = SchemaCache::default();
        assert!(cache.get(r##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}"##).is_ok());
        for remote in [r#"{"$ref":"http://127.0.0.1:9/x.json"}"#, r#"{"$ref":"file:///etc/hostname"}"#] {
            assert!(matches!(cache.get(remote), Err(SchemaProblem::NotASchema(_))), "{remote}");
        }
    }

    #[test]
    fn drafts_are_told_apart_by_their_schema() {
        let cache = SchemaCache::default();
        let pair = |draft: &str| format!(r#"{{{draft}"items":[{{"type":"integer"}},{{"type":"string"}}]}}"#);
        let old = cache.get(&pair(r#""$schema":"http://json-schema.org/draft-07/schema#","#)).unwrap();
        assert!(old.is_valid(&serde_json::json!([1, "a"])) && !old.is_valid(&serde_json::json!(["a", 1])));
        // 2020-12 knows no array of schemas under `items`.
        assert!(cache.get(&pair("")).is_err());
        assert!(cache.get(r#"{"$schema":"https://example.invalid/mine","type":"object"}"#).is_ok());
    }

    #[test]
    fn integers_are_not_strings_booleans_or_fractions() {
        let cache = SchemaCache::default();
        let validator = cache.get(r#"{"type":"integer","minimum":1,"maximum":10}"#).unwrap();
        for (text, good) in
            [("1", true), ("5.0", true), ("1.5", false), ("true", false), ("\"3\"", false), ("11", false)]
        {
            assert_eq!(validator.is_valid(&serde_json::from_str(text).unwrap()), good, "{text}");
        }
    }
}
