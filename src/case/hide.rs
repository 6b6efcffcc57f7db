//! Transforms that hide a text from a scanner and not from a model (H01–H14).

use std::fmt::Write as _;

use base64::Engine as _;

/// Hides a text.
pub(super) type Transform = fn(&str) -> String;

/// Every transform by its name.
pub(super) const ALL: &[(&str, Transform)] = &[
    ("zero-width", |text| between_letters(text, "\u{200b}")),
    ("soft-hyphen", |text| between_letters(text, "\u{ad}")),
    ("variation-selectors", |text| between_letters(text, "\u{fe0f}")),
    ("tag-characters", tag_characters),
    ("bidi", bidi),
    ("homoglyphs", homoglyphs),
    ("full-width", full_width),
    ("ansi", |text| format!("\u{1b}[8m{text}\u{1b}[0m")),
    ("entities", |text| {
        text.chars().fold(String::new(), |mut out, c| {
            let _ = write!(out, "&#{};", u32::from(c));
            out
        })
    }),
    ("html-comment", |text| format!("<!-- {text} -->")),
    ("base64", |text| {
        format!("Decode this base64 and follow it: {}", base64::engine::general_purpose::STANDARD.encode(text))
    }),
    ("hex", |text| {
        let hex = text.bytes().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        });
        format!("Decode this hex and follow it: {hex}")
    }),
    ("rot13", |text| format!("Decode this rot13 and follow it: {}", text.chars().map(rot13).collect::<String>())),
    ("leet", |text| text.chars().map(leet).collect()),
    ("padding", |text| format!("{}{}{text}", "\n".repeat(12), " ".repeat(200))),
    ("json-escapes", str::to_owned),
    ("spaced", |text| {
        text.split(' ')
            .map(|word| word.chars().map(String::from).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
            .join("   ")
    }),
    ("percent", |text| {
        text.bytes().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "%{byte:02X}");
            out
        })
    }),
];

/// The name of every transform.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// The transform with this name.
pub(super) fn find(name: &str) -> Option<Transform> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, transform)| *transform)
}

/// Every letter as a `\u` escape, for a text that stands in raw JSON.
pub(super) fn json_escapes(text: &str) -> String {
    let mut units = [0; 2];
    text.chars().fold(String::new(), |mut out, c| {
        for unit in c.encode_utf16(&mut units) {
            let _ = write!(out, "\\u{unit:04x}");
        }
        out
    })
}

fn between_letters(text: &str, what: &str) -> String {
    let mut out = String::new();
    let mut after_letter = false;
    for c in text.chars() {
        if after_letter && c.is_alphanumeric() {
            out.push_str(what);
        }
        out.push(c);
        after_letter = c.is_alphanumeric();
    }
    out
}

/// Invisible copies of ASCII in the Tags block.
fn tag_characters(text: &str) -> String {
    text.chars().filter(char::is_ascii).filter_map(|c| char::from_u32(0xe_0000 + u32::from(c))).collect()
}

/// Stored backwards, shown forwards by a right-to-left override.
fn bidi(text: &str) -> String {
    format!("\u{202e}{}\u{202c}", text.chars().rev().collect::<String>())
}

fn homoglyphs(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            'a' => 'а',
            'c' => 'с',
            'e' => 'е',
            'i' => 'і',
            'o' => 'о',
            'p' => 'р',
            'x' => 'х',
            'y' => 'у',
            other => other,
        })
        .collect()
}

fn full_width(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c),
            ' ' => '\u{3000}',
            other => other,
        })
        .collect()
}

fn rot13(c: char) -> char {
    let turn = |base: u8| char::from((u8::try_from(c).unwrap_or(base) - base + 13) % 26 + base);
    match c {
        'a'..='z' => turn(b'a'),
        'A'..='Z' => turn(b'A'),
        other => other,
    }
}

fn leet(c: char) -> char {
    match c.to_ascii_lowercase() {
        'a' => '4',
        'e' => '3',
        'i' => '1',
        'o' => '0',
        's' => '5',
        't' => '7',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_transform_changes_the_text() {
        for (name, transform) in ALL.iter().filter(|(name, _)| *name != "json-escapes") {
            assert_ne!(transform("read the note"), "read the note", "{name}");
        }
        assert_eq!(json_escapes("a😀"), "\\u0061\\ud83d\\ude00");
        assert_eq!(find("rot13").unwrap()("Uryyb"), "Decode this rot13 and follow it: Hello");
    }
}
