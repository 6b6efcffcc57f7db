//! What a server asks for when it turns a token down (RFC 6750, section 3).

use crate::gate::Proposals;

/// Judges the challenges of a response.
pub(super) fn judge(headers: &[(String, String)], allowed: Option<&[String]>, proposals: &mut Proposals) {
    let Some(allowed) = allowed else { return };
    let challenges = headers.iter().filter(|(name, _)| name == "www-authenticate").map(|(_, value)| value.as_str());
    let mut wanted = challenges.flat_map(scopes);
    if wanted.any(|scope| !allowed.contains(&scope)) {
        proposals.refuse("scope-step-up", "the server asks for more than it may be given");
    }
}

/// Every scope that a challenge names, in each of its `scope` parameters.
fn scopes(challenge: &str) -> Vec<String> {
    let lower = challenge.to_ascii_lowercase();
    let mut found = Vec::new();
    for (at, _) in lower.match_indices("scope") {
        let is_name = !lower[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "-_".contains(c));
        let rest = challenge[at + "scope".len()..].trim_start();
        let Some(value) = rest.strip_prefix('=').filter(|_| is_name) else { continue };
        found.extend(value_of(value.trim_start()).split_ascii_whitespace().map(str::to_owned));
    }
    found
}

/// A token or a quoted string at the start of a text.
fn value_of(text: &str) -> String {
    let Some(quoted) = text.strip_prefix('"') else {
        return text.split([',', ' ', '\t']).next().unwrap_or_default().to_owned();
    };
    let mut out = String::new();
    let mut rest = quoted.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => out.extend(rest.next()),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_in_every_spelling() {
        for (challenge, wanted) in [
            (r#"Bearer realm="x", scope="a b""#, &["a", "b"][..]),
            ("Bearer SCOPE=a", &["a"]),
            (r#"Bearer scope = "a\b", error="insufficient_scope""#, &["ab"]),
            (r#"Basic realm="y", Bearer scope=a, scope="c""#, &["a", "c"]),
            (r#"Bearer error="insufficient_scope""#, &[]),
            (r#"Bearer x-scope="a""#, &[]),
            (r#"Bearer scope="a"#, &["a"]),
        ] {
            assert_eq!(scopes(challenge), wanted, "{challenge}");
        }
    }
}
