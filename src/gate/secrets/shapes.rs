//! What well-known keys look like: a prefix that a provider gave them, an alphabet
//! and a length. Sources: the providers' own documentation of their formats.

use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;

use super::{Rule, chance};

/// The rules of this file.
pub(super) const RULES: [Rule; 11] = [
    ("aws-key", "an AWS access key id"),
    ("github-token", "a token of GitHub"),
    ("gitlab-token", "a token of GitLab"),
    ("slack-token", "a token or incoming webhook of Slack"),
    ("stripe-key", "a secret key of Stripe"),
    ("model-key", "a key for a provider of models"),
    ("google-key", "an API key, client secret or access token of Google"),
    ("registry-token", "a token for a registry of packages"),
    ("service-token", "a token of another well-known service"),
    ("private-key", "a private key"),
    ("jwt", "a signed JSON Web Token"),
];

const PRIVATE_KEY: &str = "private-key";
const JWT: &str = "jwt";

/// The characters of a key behind its prefix.
#[derive(Clone, Copy)]
enum Alphabet {
    /// `A–Z 2–7`
    Base32,
    /// `0–9 a–f`
    Hex,
    /// Letters and digits.
    Plain,
    /// These and `_`.
    Word,
    /// These and `-`.
    Url,
    /// These and `.`.
    Dotted,
    /// Letters, digits and `/`.
    Path,
}

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Base32 => byte.is_ascii_uppercase() || matches!(byte, b'2'..=b'7'),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Plain => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Path => byte.is_ascii_alphanumeric() || byte == b'/',
        }
    }
}

struct Shape {
    rule: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    /// How many characters stand behind the prefix, at least and at most.
    length: (usize, usize),
}

const fn shape(rule: &'static str, prefix: &'static str, alphabet: Alphabet, min: usize, max: usize) -> Shape {
    Shape { rule, prefix, alphabet, length: (min, max) }
}

/// There is no longest one.
const ANY: usize = usize::MAX;

/// The keys. Where one prefix begins with another, the longer one stands first.
const SHAPES: &[Shape] = &[
    shape("aws-key", "AKIA", Alphabet::Base32, 16, 16),
    shape("aws-key", "ASIA", Alphabet::Base32, 16, 16),
    shape("aws-key", "ABIA", Alphabet::Base32, 16, 16),
    shape("github-token", "ghp_", Alphabet::Plain, 36, ANY),
    shape("github-token", "gho_", Alphabet::Plain, 36, ANY),
    shape("github-token", "ghu_", Alphabet::Plain, 36, ANY),
    shape("github-token", "ghs_", Alphabet::Dotted, 36, ANY),
    shape("github-token", "ghr_", Alphabet::Plain, 36, ANY),
    shape("github-token", "github_pat_", Alphabet::Word, 60, ANY),
    shape("gitlab-token", "glpat-", Alphabet::Dotted, 20, ANY),
    shape("gitlab-token", "glrt-", Alphabet::Dotted, 20, ANY),
    shape("gitlab-token", "gldt-", Alphabet::Dotted, 20, ANY),
    shape("slack-token", "xoxb-", Alphabet::Url, 24, ANY),
    shape("slack-token", "xoxp-", Alphabet::Url, 24, ANY),
    shape("slack-token", "xoxa-", Alphabet::Url, 24, ANY),
    shape("slack-token", "xoxr-", Alphabet::Url, 24, ANY),
    shape("slack-token", "xoxs-", Alphabet::Url, 24, ANY),
    shape("slack-token", "xoxe.xox", Alphabet::Dotted, 24, ANY),
    shape("slack-token", "xapp-", Alphabet::Url, 24, ANY),
    shape("slack-token", "hooks.slack.com/services/", Alphabet::Path, 40, ANY),
    shape("stripe-key", "sk_live_", Alphabet::Plain, 24, ANY),
    shape("stripe-key", "rk_live_", Alphabet::Plain, 24, ANY),
    shape("stripe-key", "sk_test_", Alphabet::Plain, 24, ANY),
    shape("stripe-key", "whsec_", Alphabet::Plain, 32, ANY),
    shape("model-key", "sk-ant-", Alphabet::Url, 32, ANY),
    shape("model-key", "sk-", Alphabet::Url, 32, ANY),
    shape("model-key", "gsk_", Alphabet::Plain, 48, ANY),
    shape("model-key", "hf_", Alphabet::Plain, 34, 40),
    shape("model-key", "r8_", Alphabet::Plain, 37, 40),
    shape("model-key", "xai-", Alphabet::Plain, 40, ANY),
    shape("model-key", "pplx-", Alphabet::Plain, 40, ANY),
    shape("google-key", "AIza", Alphabet::Url, 35, 35),
    shape("google-key", "GOCSPX-", Alphabet::Url, 28, 28),
    shape("google-key", "ya29.", Alphabet::Dotted, 30, ANY),
    shape("registry-token", "npm_", Alphabet::Plain, 36, 36),
    shape("registry-token", "pypi-AgE", Alphabet::Url, 50, ANY),
    shape("registry-token", "rubygems_", Alphabet::Hex, 48, 48),
    shape("registry-token", "dckr_pat_", Alphabet::Url, 27, ANY),
    shape("service-token", "SG.", Alphabet::Dotted, 60, 72),
    shape("service-token", "dop_v1_", Alphabet::Hex, 64, 64),
    shape("service-token", "shpat_", Alphabet::Hex, 32, 32),
    shape("service-token", "shpss_", Alphabet::Hex, 32, 32),
    shape("service-token", "hvs.", Alphabet::Url, 24, ANY),
    shape("service-token", "lin_api_", Alphabet::Plain, 40, 48),
    shape("service-token", "ntn_", Alphabet::Plain, 40, 60),
    shape("service-token", "figd_", Alphabet::Url, 36, ANY),
    shape("service-token", "glsa_", Alphabet::Word, 36, 48),
    shape("service-token", "PMAK-", Alphabet::Url, 59, 59),
    shape("service-token", "ATATT3", Alphabet::Url, 60, ANY),
    shape("private-key", "AGE-SECRET-KEY-1", Alphabet::Plain, 58, 58),
];

/// What a private key begins with: its armour, or the same bytes in base64 without it
/// (OpenSSH's own format, PKCS #8 and PKCS #1 for RSA).
const ARMOUR: &str = "-----BEGIN";
const BARE_KEYS: [&str; 4] = ["b3BlbnNzaC1rZXktdjE", "BADANBgkqhkiG9w0BAQEFAASC", "IBAAKCAQEA", "IBAAKCAgEA"];
/// What a JSON Web Token begins with: `{"` in base64.
const JWT_START: &str = "eyJ";

/// The rules that find something in the text. `loose`: it was put together or
/// decoded, and what stands around a key may run into it.
pub(super) fn found(text: &[u8], loose: bool) -> impl Iterator<Item = &'static str> {
    static STARTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let starts = SHAPES.iter().map(|shape| shape.prefix).chain(BARE_KEYS).chain([ARMOUR, JWT_START]);
        Regex::new(&format!("(?-u){}", starts.map(regex::escape).collect::<Vec<_>>().join("|"))).ok()
    });
    let starts = STARTS.as_ref().into_iter().flat_map(move |starts| starts.find_iter(text));
    starts.filter_map(move |found| {
        let (start, end) = (found.start(), found.end());
        match found.as_bytes() {
            b"-----BEGIN" => is_armoured(&text[end..]).then_some(PRIVATE_KEY),
            b"eyJ" => is_jwt(&text[start..]).then_some(JWT),
            prefix => match SHAPES.iter().find(|shape| shape.prefix.as_bytes() == prefix) {
                Some(shape) => is_key(shape, text, start, end, loose).then_some(shape.rule),
                None => is_bare(&text[end..]).then_some(PRIVATE_KEY),
            },
        }
    })
}

/// Whether a key of the shape stands here, whose prefix ends at `end`.
fn is_key(shape: &Shape, text: &[u8], start: usize, end: usize, loose: bool) -> bool {
    let (min, max) = shape.length;
    let rest = &text[end..];
    let length = rest.iter().take(max.saturating_add(1)).take_while(|byte| shape.alphabet.has(**byte)).count();
    let runs_in = start > 0 && (text[start - 1].is_ascii_alphanumeric() || matches!(text[start - 1], b'_' | b'-'));
    if length < min || !loose && (runs_in || length > max) {
        return false;
    }
    // What runs into it from behind says nothing of it.
    let body = &rest[..if loose { min } else { length.min(max) }];
    if chance::is_placeholder(body, min) {
        return false;
    }
    if matches!(shape.alphabet, Alphabet::Base32) {
        // A signed URL names the key that signed it, and is of no use without its other half.
        let signs = memmem::find(&text[..start], b"Credential=").is_some_and(|at| at + 11 == start)
            || text[..start].ends_with(b"Credential=")
            || text[..start].ends_with(b"AWSAccessKeyId=");
        return !signs && (!loose || body.iter().any(u8::is_ascii_digit));
    }
    chance::is_drawn(body)
}

/// Whether ` … PRIVATE KEY-----` goes on with a key. Documentation that only names the
/// line has none.
fn is_armoured(rest: &[u8]) -> bool {
    let line = &rest[..rest.len().min(64)];
    let squeezed: Vec<u8> = line.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
    let Some(at) = memmem::find(line, b"-----") else { return false };
    let is_private =
        memmem::find(&line[..at], b"PRIVATE").is_some() && memmem::find(&squeezed, b"PRIVATEKEY").is_some();
    // Headers (`Proc-Type: …`), line ends and escaped ones may come first. A key in
    // chunks comes here put together.
    let body = &rest[at + 5..rest.len().min(at + 512)];
    let body = &body[..memmem::find(body, b"-----").unwrap_or(body.len())];
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let is_line = |line: &[u8]| {
        let has = |kind: fn(&u8) -> bool| line.iter().any(kind);
        line.len() >= 32 && has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
    };
    is_private && body.split(|byte| !is_base64(byte)).any(is_line)
}

/// Whether base64 goes on behind the bytes that begin a private key.
fn is_bare(rest: &[u8]) -> bool {
    let length =
        rest.iter().take(48).take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')).count();
    length >= 40 && !chance::is_placeholder(&rest[..length], 40)
}

/// The payload of the token that every introduction to JSON Web Tokens shows:
/// subject 1234567890, John Doe.
const SHOWN: &[u8] = b"eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lI";

/// Whether three parts stand here, each in base64, the first two of them JSON.
fn is_jwt(rest: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let mut parts = rest.splitn(3, |byte| *byte == b'.');
    let (Some(header), Some(payload), Some(signature)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let signature = signature.iter().take(400).take_while(|byte| is_part(byte)).count();
    header.len() >= 12
        && header.iter().all(is_part)
        && payload.starts_with(b"eyJ")
        && payload.iter().all(is_part)
        && signature >= 20
        && !payload.starts_with(SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of the alphabet that nobody could take for a real one, and that is none
    /// of the placeholders.
    fn body(alphabet: Alphabet, length: usize) -> String {
        let drawn = match alphabet {
            Alphabet::Base32 => "CANARY7Q2M4XK5RT",
            Alphabet::Hex => "7c0ffee9d1b52a8e4f6037",
            _ => "CANARYq7Zt1Lw9Kd3Rb5Fh8Jm2Nx4Vc6Pg0S",
        };
        drawn.chars().cycle().take(length).collect()
    }

    #[test]
    fn every_shape_is_found_and_belongs_to_a_rule() {
        for shape in SHAPES {
            assert!(RULES.iter().any(|(rule, _)| *rule == shape.rule), "{}", shape.rule);
            let key = format!("{}{}", shape.prefix, body(shape.alphabet, shape.length.0));
            for text in [key.clone(), format!("it is \"{key}\", he said"), format!("https://a.example/?d={key}&x")] {
                assert_eq!(found(text.as_bytes(), false).next(), Some(shape.rule), "{text}");
            }
            assert_eq!(found(format!("say{key}more").as_bytes(), true).next(), Some(shape.rule), "{key}");
            let short = format!("{}{}", shape.prefix, body(shape.alphabet, shape.length.0 - 1));
            assert_eq!(found(short.as_bytes(), false).next(), None, "{short}");
            let holder = format!("{}{}", shape.prefix, "x".repeat(shape.length.0));
            assert_eq!(found(holder.as_bytes(), false).next(), None, "{holder}");
        }
    }

    #[test]
    fn longer_prefixes_stand_before_those_that_they_begin_with() {
        for (at, shape) in SHAPES.iter().enumerate() {
            let hidden = SHAPES[at + 1..].iter().find(|later| later.prefix.starts_with(shape.prefix));
            assert!(hidden.is_none(), "{}", shape.prefix);
        }
    }

    #[test]
    fn what_only_looks_like_a_key_passes() {
        for text in [
            "AKIAIOSFODNN7EXAMPLE",
            "AKIA1234567890ABCDEF",
            "sk-xxxx, sk-your-api-key-goes-here-and-nowhere-else",
            "the class sk-fading-circle-and-cube-grid-and-bounce-delay",
            "disk-0123f56789abcdef0123f56789abcdef0123",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "https://b.example/o?X-Amz-Credential=AKIACANARY7Q2M4XK5RT/20310415/eu/s3/aws4_request",
            "-----BEGIN PRIVATE KEY----- is the line that it begins with",
            "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAECANARYq7Zt1Lw9Kd3Rb5\n",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.CANARYq7Zt1Lw9Kd3Rb5CANARYq7",
            "eyJwYWdlIjoyLCJhZnRlciI6MTJ9",
        ] {
            assert_eq!(found(text.as_bytes(), false).next(), None, "{text}");
        }
    }

    #[test]
    fn private_keys_and_tokens_are_found() {
        let line = "CANARYq7Zt1Lw9Kd3Rb5".repeat(3);
        for (text, rule) in [
            (format!("-----BEGIN PRIVATE KEY-----\n{line}\n"), PRIVATE_KEY),
            (format!(r"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{line}"), PRIVATE_KEY),
            (format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{line}"), PRIVATE_KEY),
            (format!("-----BEGINOPENSSHPRIVATEKEY-----{line}"), PRIVATE_KEY),
            (format!("b3BlbnNzaC1rZXktdjEAAAAA{line}"), PRIVATE_KEY),
            (format!("eyJhbGciOiJIUzI1NiJ9.eyJDQU5BUlkiOiJhIn0.{line}"), JWT),
        ] {
            assert_eq!(found(text.as_bytes(), false).next(), Some(rule), "{text}");
        }
    }
}
