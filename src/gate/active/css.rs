//! Whether a style sheet loads something from elsewhere.

/// Whether it does. `#part` and pictures and fonts in `data:` are not elsewhere.
pub(super) fn loads(text: &str) -> bool {
    let plain = plain(text);
    if plain.contains("@import") || plain.contains("-moz-binding") || plain.contains("expression(") {
        return true;
    }
    let arguments = plain.split("url(").skip(1).chain(plain.split("image-set(").skip(1));
    arguments.into_iter().any(|rest| {
        let argument = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c', '"', '\'']);
        !(argument.starts_with('#') || argument.starts_with("data:image/") || argument.starts_with("data:font/"))
    })
}

/// In lower case, without comments, escapes resolved.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
            continue;
        }
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            out.push(c.to_ascii_lowercase());
            continue;
        }
        let digits = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        if digits == 0 {
            // An escaped sign is itself; a line break that is escaped is nothing.
            rest = rest.strip_prefix('\n').unwrap_or(rest);
            continue;
        }
        let code = u32::from_str_radix(&rest[..digits], 16).ok();
        out.push(code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER).to_ascii_lowercase());
        rest = &rest[digits..];
        rest = rest.strip_prefix([' ', '\t', '\n']).unwrap_or(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::loads;

    #[test]
    fn escapes_and_comments_hide_nothing() {
        for text in [
            "a{b:url(x.png)}",
            "a{b:URL( 'https://x.example/a')}",
            "a{b:\\75 r\\6C(//x)}",
            "a{b:u\\rl(//x)}",
            "@\\69mport 'x'",
            "@import/**/'x'",
            "a{b:url(#ok) url(//x)}",
        ] {
            assert!(loads(text), "{text}");
        }
        for text in ["", "a{b:url(#g)}", "a{b:url( \"data:image/png;base64,AA\" )}", "/* @import 'x' */ .curl{}"] {
            assert!(!loads(text), "{text}");
        }
    }
}
