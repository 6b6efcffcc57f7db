//! Host names whose labels carry data: asking for such a name hands it over, even
//! where no connection is ever made.

use memchr::memmem;

use super::{chance, unpack};

/// The rule.
pub(super) const ENCODED_HOST: &str = "encoded-host";

/// The shortest drawn label that is more than an identifier.
const LONGEST_IDENTIFIER: usize = 28;
/// How much several drawn labels may have together.
const LONGEST_TOGETHER: usize = 40;
/// The shortest label that may be read as encoded words.
const SHORTEST_WORDS: usize = 16;

/// Where long drawn labels are names that a provider gave, which nobody chooses.
const GIVEN: [&str; 4] = [".googleusercontent.com", ".on.aws", ".cloudfront.net", ".elb.amazonaws.com"];

/// Whether a host in the text, in a URL or alone, carries data.
pub(super) fn carry_data(text: &[u8]) -> bool {
    // Nothing shorter can carry anything.
    if text.len() < SHORTEST_WORDS + 4 || memchr::memchr(b'.', text).is_none() {
        return false;
    }
    let mut bare = text.split(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')));
    in_urls(text).any(|host| may_carry(host) && carries(host, true))
        || bare.any(|host| may_carry(host) && carries(host, false))
}

/// Data in base32 or hex hardly ever comes without digits.
fn may_carry(host: &[u8]) -> bool {
    host.len() > SHORTEST_WORDS + 4 && host.iter().filter(|byte| byte.is_ascii_digit()).count() >= 2
}

fn in_urls(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    memmem::find_iter(text, b"://").map(|at| {
        let authority = &text[at + 3..];
        let is_end = |byte: &u8| !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'@'));
        let authority = &authority[..authority.iter().position(is_end).unwrap_or(authority.len())];
        authority.rsplit(|byte| *byte == b'@').next().unwrap_or_default()
    })
}

/// `in_url`: it is a host for certain; a file or a class has dots as well, so that
/// alone only what reads as words, or fills several labels, counts.
fn carries(host: &[u8], in_url: bool) -> bool {
    let host = host.to_ascii_lowercase();
    let labels: Vec<&[u8]> = host.split(|byte| *byte == b'.').collect();
    let [below @ .., _, _] = &labels[..] else { return false };
    if GIVEN.iter().any(|suffix| host.ends_with(suffix.as_bytes())) {
        return false;
    }
    let (mut together, mut count) = (Vec::new(), 0);
    for label in below {
        if label.starts_with(b"xn--") || chance::is_uuid(label) || is_content_id(label) {
            continue;
        }
        let bare: Vec<u8> = label.iter().filter(|byte| byte.is_ascii_alphanumeric()).copied().collect();
        if bare.len() >= SHORTEST_WORDS && reads(&bare) {
            return true;
        }
        let longest = label.split(|byte| *byte == b'-').max_by_key(|part| part.len()).unwrap_or_default();
        if in_url && longest.len() >= LONGEST_IDENTIFIER && chance::is_drawn(longest) {
            return true;
        }
        if bare.len() >= 8 {
            together.extend_from_slice(&bare);
            count += 1;
        }
    }
    // A message id has two.
    let enough = if in_url { 2 } else { 3 };
    count >= enough && (reads(&together) || together.len() >= LONGEST_TOGETHER && chance::is_drawn(&together))
}

/// A hash that names content, as IPFS spells it.
fn is_content_id(label: &[u8]) -> bool {
    label.len() > 50 && [&b"bafy"[..], b"bafk", b"bafz", b"k51q", b"k2k4"].iter().any(|start| label.starts_with(start))
}

/// Whether it is hex or base32 of something that can be read.
fn reads(label: &[u8]) -> bool {
    let readable =
        |plain: &[u8]| plain.len() >= 8 && plain.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'));
    chance::is_hex(label) && readable(&unpack::hex(label, 0))
        || unpack::base32(label).is_some_and(|plain| readable(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_carry_data_are_told_from_names() {
        for text in [
            "http://43414e4152592d6b65792d31.exfil.example/a.png",
            "https://inaviqksleww23tfmz2gq2i.drop.example",
            "look up 43414e4152592d6b65792d31.drop.example please",
            "https://q7f3k9x1m5b8w2c4v6n0z8t3r1y5.drop.example/",
            "https://q7f3k9x1m5b8.w2c4v6n0z8t3.r1y5p7d2h9j4.g6s8.l3f5k7n1b2v4.drop.example",
        ] {
            assert!(carry_data(text.as_bytes()), "{text}");
        }
        for text in [
            "https://docs.python.org/3/library/base64.html",
            "https://k8s-default-ingress-1a2b3c4d5e-1234567890.elb.us-east-1.amazonaws.com/x",
            "https://1234567890-q7f3k9x1m5b8w2c4v6n0z8t3r1y5p7d2.apps.googleusercontent.com",
            "https://de305d54-75b4-431b-adb2-eb6b9e546014.preview.example/",
            "https://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi.ipfs.example/a",
            "app.4f3c2a1b9d8e7f6a5b4c3d2e1f0a9b8c.bundle.js",
            "com.example.internal.scheduling.RecurringAppointmentService2Test",
            "my-very-long-project-name-git-feature-branch-team.preview.example",
        ] {
            assert!(!carry_data(text.as_bytes()), "{text}");
        }
    }
}
