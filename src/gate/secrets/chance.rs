//! Tells characters that were drawn by chance from words, counters and placeholders.

/// Words that stand in what is no secret: documentation says "put yours here".
const MARKERS: [&str; 22] = [
    "placeholder",
    "changeme",
    "redacted",
    "example",
    "replace",
    "insert",
    "sample",
    "secret",
    "123456",
    "abcdef",
    "dummy",
    "token",
    "xxxx",
    "your",
    "fake",
    "here",
    "test",
    "demo",
    "todo",
    "null",
    "key",
    "api",
];

/// Whether it says of itself that it is no secret. Words of which more than `shortest`
/// needs is left without them prove nothing: a real key with EXAMPLE behind it stays one.
pub(super) fn is_placeholder(body: &[u8], shortest: usize) -> bool {
    if is_counted(body) || distinct(body) < 6 {
        return true;
    }
    let mut rest = String::from_utf8_lossy(body).to_ascii_lowercase();
    let before = rest.len();
    for marker in MARKERS {
        if rest.contains(marker) {
            rest = rest.replace(marker, "");
        }
    }
    rest.len() < before && rest.bytes().filter(u8::is_ascii_alphanumeric).count() * 3 < shortest * 2
}

/// Whether half of it or more counts up or repeats: `1234567890abcdef`.
fn is_counted(body: &[u8]) -> bool {
    let lower = |byte: u8| byte.to_ascii_lowercase();
    let steps = body.windows(2).filter(|pair| matches!(lower(pair[1]).wrapping_sub(lower(pair[0])), 0 | 1)).count();
    steps * 2 >= body.len()
}

fn distinct(body: &[u8]) -> usize {
    let mut seen = [false; 256];
    for byte in body {
        seen[usize::from(*byte)] = true;
    }
    seen.iter().filter(|seen| **seen).count()
}

/// Whether letters and digits stand in it as if drawn: some of both, many different
/// ones, changing often, and not in runs that are long enough for words.
pub(super) fn is_drawn(body: &[u8]) -> bool {
    let digits = body.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = body.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    if digits < 2 || letters < 4 || distinct(body) < 10.min(body.len()) {
        return false;
    }
    let (mut in_words, mut run, mut changes) = (0, 0, 0);
    let mut last = 0_u8;
    for &byte in body {
        let goes_on = byte.is_ascii_lowercase() && last.is_ascii_alphabetic()
            || byte.is_ascii_uppercase() && last.is_ascii_uppercase();
        let turns =
            byte.is_ascii_digit() && last.is_ascii_alphabetic() || byte.is_ascii_alphabetic() && last.is_ascii_digit();
        changes += usize::from(turns);
        if goes_on {
            run += 1;
        } else {
            if run >= 5 {
                in_words += run;
            }
            run = usize::from(byte.is_ascii_alphabetic());
        }
        last = byte;
    }
    if run >= 5 {
        in_words += run;
    }
    in_words * 2 <= body.len() && changes * 12 >= body.len()
}

/// Whether it has no other digits than those of hex.
pub(super) fn is_hex(body: &[u8]) -> bool {
    body.iter().all(u8::is_ascii_hexdigit)
}

/// Whether it is a UUID.
pub(super) fn is_uuid(body: &[u8]) -> bool {
    body.len() == 36
        && body.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_counters_are_not_drawn() {
        for text in [
            "user-2031-04-15-report-final",
            "fading-circle-animation12",
            "aaaaaaaa11111111",
            "kebab-case-identifier-22",
        ] {
            assert!(!is_drawn(text.as_bytes()) || is_placeholder(text.as_bytes(), 16), "{text}");
        }
        for text in ["CANARYq7Zt1Lw9Kd3Rb5", "q7f3k9x1m5b8w2c4v6n0", "9f86d081884c7d659a2feaa0"] {
            assert!(is_drawn(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn placeholders_say_so_and_real_keys_with_such_words_behind_them_do_not() {
        for text in
            ["IOSFODNN7EXAMPLE", "xxxxxxxxxxxxxxxx", "1234567890ABCDEF", "your-api-key-here", "aBcDeFgHiJkLmNoP0123"]
        {
            assert!(is_placeholder(text.as_bytes(), 16), "{text}");
        }
        assert!(!is_placeholder(b"CANARYq7Zt1Lw9Kd3Rb5EXAMPLE", 16));
    }
}
