//! Fingerprints of definitions and digests of corpora.
//!
//! A fingerprint is SHA-256 over the RFC 8785 form of a whole definition, so
//! that key order and white space don't alarm and every field counts, unknown
//! ones too. Where a definition has no RFC 8785 form (duplicate keys, a number
//! that no double holds, nesting beyond the reader's limit), the fingerprint is
//! over its raw bytes under another prefix: it never collides with a canonical one.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::protocol::strict::Node;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of a sequence of digests, some of which may be missing.
    pub fn of_all(parts: &[Option<Self>]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            match part {
                Some(Self(bytes)) => {
                    hash.update([1]);
                    hash.update(bytes);
                }
                None => hash.update([0]),
            }
        }
        Self(hash.finalize().into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{self}")
    }
}

/// The fingerprint of a definition: `node`, which stands in `raw`.
pub fn fingerprint(raw: &[u8], node: &Node) -> Fingerprint {
    let canonical = exact_for_doubles(node)
        .then(|| node.to_value())
        .flatten()
        .and_then(|value| serde_json_canonicalizer::to_vec(&value).ok());
    let mut hash = Sha256::new();
    if let Some(canonical) = canonical {
        hash.update(b"rfc8785\n");
        hash.update(&canonical);
    } else {
        hash.update(b"raw\n");
        hash.update(&raw[node.span.clone()]);
    }
    Fingerprint(hash.finalize().into())
}

/// RFC 8785 writes numbers as doubles; an integer beyond 2^53 would be rounded
/// there, and two definitions would share a fingerprint.
fn exact_for_doubles(node: &Node) -> bool {
    use crate::protocol::strict::Kind;
    match &node.kind {
        Kind::Number(text) => text.parse::<i128>().map_or(true, |n| n.unsigned_abs() <= 1 << 53),
        Kind::Array(items) => items.iter().all(exact_for_doubles),
        Kind::Object(members) => members.iter().all(|member| exact_for_doubles(&member.value)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::strict;

    fn of(text: &str) -> Fingerprint {
        fingerprint(text.as_bytes(), &strict::parse(text.as_bytes()).unwrap().root)
    }

    #[test]
    fn sha256_is_the_published_one() {
        // FIPS 180-4, the "abc" example.
        assert_eq!(
            Fingerprint::of(b"abc").to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn order_and_space_do_not_count_but_everything_else_does() {
        let base = of(r#"{"name":"a","x":[1,2]}"#);
        assert_eq!(base, of("{ \"x\": [1, 2.0], \"name\": \"\\u0061\" }"));
        for other in [
            r#"{"name":"a","x":[2,1]}"#,
            r#"{"name":"a","x":[1,2],"_meta":{}}"#,
            r#"{"name":"A","x":[1,2]}"#,
            r#"{"name":"a","x":[1,2],"x":[1,2]}"#,
        ] {
            assert_ne!(base, of(other), "{other}");
        }
    }

    #[test]
    fn big_integers_differ_by_one() {
        assert_ne!(of("9007199254740993"), of("9007199254740992"));
        assert_ne!(of("1915883588174806058"), of("1915883588174806059"));
    }

    #[test]
    fn canonical_form_is_rfc_8785() {
        // Sorted by UTF-16 code units, numbers as ECMAScript prints them (RFC 8785, 3.2.3 and appendix B).
        let text = r#"{"€":"Euro","\r":"CR","1":4.50,"\ud83d\ude00":1e30,"ö":0.000001}"#;
        let node = strict::parse(text.as_bytes()).unwrap().root;
        let canonical = serde_json_canonicalizer::to_string(&node.to_value().unwrap()).unwrap();
        assert_eq!(canonical, "{\"\\r\":\"CR\",\"1\":4.5,\"ö\":0.000001,\"€\":\"Euro\",\"😀\":1e+30}");
    }
}
