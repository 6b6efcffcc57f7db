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

/// Half of a digest: enough to tell things apart in memory, where there are many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Brief([u8; 16]);

impl Fingerprint {
    /// Its first half.
    pub fn brief(&self) -> Brief {
        let mut half = [0; 16];
        half.copy_from_slice(&self.0[..16]);
        Brief(half)
    }

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

    /// The digest that these 64 hexadecimal digits in lower case spell.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut out = [0; 32];
        for (byte, pair) in out.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(out))
    }

    /// Its first digits, for people.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
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

/// The text that a fingerprint is taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    /// The definition's RFC 8785 form; its raw text where it has none.
    pub text: String,
    /// Whether it is the RFC 8785 form.
    pub exact: bool,
}

impl Canonical {
    /// Of the definition `node`, which stands in `raw`.
    pub fn of(raw: &[u8], node: &Node) -> Self {
        let value = exact_for_doubles(node).then(|| node.to_value()).flatten();
        match value.and_then(|value| serde_json_canonicalizer::to_string(&value).ok()) {
            Some(text) => Self { text, exact: true },
            None => Self { text: String::from_utf8_lossy(&raw[node.span.clone()]).into_owned(), exact: false },
        }
    }

    /// Of a value that has an RFC 8785 form.
    pub fn of_value(value: &serde_json::Value) -> Option<Self> {
        serde_json_canonicalizer::to_string(value).ok().map(|text| Self { text, exact: true })
    }

    /// Its fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        hash.update(if self.exact { "rfc8785\n" } else { "raw\n" });
        hash.update(&self.text);
        Fingerprint(hash.finalize().into())
    }
}

/// The fingerprint of a definition: `node`, which stands in `raw`.
pub fn fingerprint(raw: &[u8], node: &Node) -> Fingerprint {
    Canonical::of(raw, node).fingerprint()
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
    fn digests_are_read_as_they_are_written() {
        let digest = Fingerprint::of(b"abc");
        assert_eq!(Fingerprint::parse(&digest.to_string()), Some(digest));
        for wrong in ["", &digest.to_string().to_uppercase(), &digest.to_string()[1..], &"é".repeat(32)] {
            assert_eq!(Fingerprint::parse(wrong), None, "{wrong}");
        }
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
