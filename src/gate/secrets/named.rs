//! Values that are secrets by what stands before them: `token=…`, `user:password@`.

use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;

use super::chance;

/// A random value behind a name that says what it is.
pub(super) const NAMED: &str = "named-secret";
/// A URL with a password in it.
pub(super) const URL_PASSWORD: &str = "url-password";

/// Names, without signs, that end so are names of secrets.
const SECRET: [&[u8]; 14] = [
    b"apikey",
    b"secret",
    b"secretkey",
    b"accesskey",
    b"accountkey",
    b"privatekey",
    b"authtoken",
    b"accesstoken",
    b"refreshtoken",
    b"bearertoken",
    b"bottoken",
    b"password",
    b"passwd",
    b"pwd",
];

/// The least that a drawn secret has.
const SHORTEST: usize = 16;
/// The least that it has behind a name that is often no secret's.
const SHORTEST_UNDER_VAGUE_NAME: usize = 20;

/// How much a name says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    /// That of a secret.
    Secret,
    /// `token`, which may also be a page's, and `Bearer`.
    Token,
    /// `key`, which may also be a table's.
    Key,
}

/// The rules that find something in the text.
pub(super) fn found(text: &[u8]) -> impl Iterator<Item = &'static str> {
    static NAMES: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new("(?i-u)key|token|secret|passw(?:or)?d|pwd|bearer").ok());
    let names = NAMES.as_ref().into_iter().flat_map(move |names| names.find_iter(text));
    let named = names.filter(move |name| is_named(text, name.end())).map(|_| NAMED);
    let passwords = memmem::find_iter(text, b"://").filter(move |at| has_password(text, *at)).map(|_| URL_PASSWORD);
    named.chain(passwords)
}

/// Whether a member of this name, which can only be a secret's, has one. A tool that
/// takes a `token` or a `password` as its argument was made to be given one.
pub(super) fn is_member(name: &str, value: &[u8]) -> bool {
    let name = name.as_bytes();
    let password = [&b"password"[..], b"passwd", b"pwd"];
    matches!(named(name), Some(Name::Secret))
        && !password.iter().any(|end| bare(name).ends_with(end))
        && name != value
        && value.iter().copied().all(is_value)
        && is_secret(Name::Secret, value)
}

fn bare(name: &[u8]) -> Vec<u8> {
    name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
}

fn named(name: &[u8]) -> Option<Name> {
    let bare = bare(name);
    match &bare[..] {
        b"key" => Some(Name::Key),
        b"token" | b"bearer" => Some(Name::Token),
        _ => SECRET.iter().any(|end| bare.ends_with(end)).then_some(Name::Secret),
    }
}

/// Characters that a value may have.
fn is_value(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'=' | b'.' | b'~' | b'-')
}

/// Whether a name that ends at `end` stands before a secret.
fn is_named(text: &[u8], end: usize) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if text.get(end).is_some_and(is_part) {
        return false;
    }
    // The longest name that there is to look at; longer ones are no names.
    let from = end.saturating_sub(48);
    let start = text[from..end].iter().rposition(|byte| !is_part(byte)).map_or(from, |at| from + at + 1);
    let Some(name) = named(&text[start..end]) else { return false };
    let mut rest = &text[end..];
    let (mut seen_sign, mut gap) = (false, 0);
    while let [first, after @ ..] = rest {
        match first {
            b'=' | b':' => seen_sign = true,
            b'"' | b'\'' | b'`' | b'\\' | b' ' | b'>' => {}
            _ => break,
        }
        gap += 1;
        if gap > 8 {
            return false;
        }
        rest = after;
    }
    let is_bearer = text[start..end].eq_ignore_ascii_case(b"bearer") && gap > 0;
    let value = &rest[..rest.iter().position(|byte| !is_value(*byte)).unwrap_or(rest.len())];
    (seen_sign || is_bearer) && is_secret(name, value)
}

fn is_secret(name: Name, value: &[u8]) -> bool {
    let shortest = if name == Name::Secret { SHORTEST } else { SHORTEST_UNDER_VAGUE_NAME };
    if value.len() < shortest || chance::is_uuid(value) || chance::is_placeholder(value, shortest) {
        return false;
    }
    if chance::is_hex(value) {
        return name == Name::Secret && value.len() >= 32;
    }
    let is_mixed = value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    chance::is_drawn(value) && (name != Name::Key || is_mixed)
}

/// Whether the URL whose `://` stands at `at` has a password.
fn has_password(text: &[u8], at: usize) -> bool {
    let authority = &text[at + 3..];
    let is_end =
        |byte: &u8| !byte.is_ascii_graphic() || matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\\' | b'<' | b'>');
    let authority = &authority[..authority.iter().position(is_end).unwrap_or(authority.len())];
    let Some(before_host) = memchr::memrchr(b'@', authority).map(|end| &authority[..end]) else { return false };
    let Some(colon) = memchr::memchr(b':', before_host) else { return false };
    let (user, password) = (&before_host[..colon], &before_host[colon + 1..]);
    let has_scheme = at > 0 && text[at - 1].is_ascii_alphanumeric();
    has_scheme && !password.is_empty() && !is_no_password(user, password)
}

/// What documentation writes where a password would stand, and what a database on
/// the developer's own machine is opened with.
fn is_no_password(user: &[u8], password: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(password).to_ascii_lowercase();
    let words = ["pass", "pwd", "secret", "example", "your", "changeme", "redacted", "xxx", "..."];
    let is_template = password.iter().any(|byte| matches!(byte, b'{' | b'}' | b'$' | b'*' | b'[' | b']'));
    let says_so = words.iter().any(|word| lower.contains(word)) && !chance::is_drawn(password);
    user == password || is_template || says_so || lower == "pw" || lower == "p"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<&'static str> {
        found(text.as_bytes()).collect()
    }

    #[test]
    fn random_values_behind_names_of_secrets_are_found() {
        for text in [
            "token=CANARYq7Zt1Lw9Kd3Rb5",
            "api_key: 'CANARYq7Zt1Lw9Kd3Rb5'",
            r#"{"client_secret":"CANARYq7Zt1Lw9Kd3Rb5"}"#,
            r#"{\"accessToken\": \"q7f3k9x1m5b8w2c4v6n0\"}"#,
            "Authorization: Bearer CANARYq7Zt1Lw9Kd3Rb5",
            "https://a.example/?x=1&key=CANARYq7Zt1Lw9Kd3Rb5&y=2",
            "aws_secret_access_key = CANARYq7Zt1Lw9Kd3Rb5+/CANARYq7Zt1Lw9Kd3R",
            "APIKEY=9f86d081884c7d659a2feaa0c55ad015",
        ] {
            assert_eq!(rules(text), [NAMED], "{text}");
        }
    }

    #[test]
    fn honest_values_pass() {
        for text in [
            "max_tokens=4096, token budget: 128000 tokens",
            "token=9f86d081884c7d659a2feaa0c55ad015",
            "token: de305d54-75b4-431b-adb2-eb6b9e546014",
            "pageToken=CANARYq7Zt1Lw9Kd3Rb5",
            "api_key = <YOUR_KEY>, api_key=your-api-key-goes-here-1234",
            "secret = os.environ['BOARD_SECRET_2031_NAME']",
            "key=uploads/2031/04/15/quarterly-report.pdf",
            "idempotency_key=CANARYq7Zt1Lw9Kd3Rb5",
            "password: must have twelve characters and 2 digits",
            "The bearer of this token is 27 years old.",
        ] {
            assert_eq!(rules(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn passwords_in_urls_are_told_from_what_stands_for_them() {
        assert_eq!(rules("postgres://app:CANARY-horse@db.example/x"), [URL_PASSWORD]);
        assert_eq!(rules("see https://ada:tr0ub4dor@a.example"), [URL_PASSWORD]);
        for text in [
            "postgres://user:password@localhost/db",
            "postgres://postgres:postgres@localhost",
            "amqp://me:${AMQP_PASSWORD}@host",
            "https://user:<password>@a.example",
            "redis://x:***@cache",
            "http://a.example:8080/@scope/package",
            "https://a.example/mail?to=a:b@c.example",
        ] {
            assert_eq!(rules(text), [""; 0], "{text}");
        }
    }
}
