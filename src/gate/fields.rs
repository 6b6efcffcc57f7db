//! Whether a text may stand in a field of a kind.

use unicode_normalization::UnicodeNormalization as _;

use super::{FieldPolicy, text::is_invisible};

/// The text as a server that normalises reads it, without what nobody sees.
fn normal(text: &str) -> String {
    text.chars().filter(|c| !is_invisible(*c) || c.is_control()).nfkc().collect()
}

/// Dashes that some program, or a helpful layer before it, takes for the one that
/// begins an option.
fn is_dash(c: char) -> bool {
    matches!(
        c,
        '-' | '\u{2010}'
            ..='\u{2015}'
                | '\u{2212}'
                | '\u{fe58}'
                | '\u{fe63}'
                | '\u{ff0d}'
                | '\u{58a}'
                | '\u{1806}'
                | '\u{2e3a}'
                | '\u{2e3b}'
    )
}

/// What a shell reads as something else than itself: POSIX shells, and `cmd`.
fn is_shell_sign(c: char) -> bool {
    c.is_control() || ";&|`$()<>{}[]*?!\\'\"~#^%\u{2028}\u{2029}".contains(c)
}

/// No sign in the text means anything to a shell.
pub(super) fn is_shell_safe(text: &str) -> bool {
    // A file name of a user (`a~b`) and a number sign inside a word mean nothing.
    let at_word_start =
        |at: usize| text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || c == '=' || c == ':');
    let is_harmless = |(at, c): (usize, char)| match c {
        '~' | '#' => !at_word_start(at),
        '%' => text.matches('%').count() < 2 && !is_escape(&text[at..]),
        c => !is_shell_sign(c),
    };
    text.char_indices().all(is_harmless)
        && (text.is_ascii() || normal(text).chars().all(|c| !is_shell_sign(c) || matches!(c, '~' | '#' | '%')))
}

fn is_escape(text: &str) -> bool {
    text.get(1..3).is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// One word of a command line, and no option.
pub(super) fn is_command_word(text: &str) -> bool {
    let is_fine =
        |c: char| c.is_ascii_alphanumeric() || "_./:@+,=-".contains(c) || (c.is_alphanumeric() && is_stable(c));
    !text.is_empty() && text.chars().all(is_fine) && !text.starts_with(['-', '@', '+'])
}

/// Whether normalising leaves a character as it is.
fn is_stable(c: char) -> bool {
    std::iter::once(c).nfkc().eq(std::iter::once(c))
}

/// A name of something: no option to a program, nor one behind a gap; no file
/// whose content would be taken; nothing that ends a line.
pub(super) fn is_name(text: &str) -> bool {
    let plain = normal(text);
    if plain.trim().is_empty() || plain.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        return false;
    }
    let begins = |word: &str| word.starts_with(|c: char| is_dash(c) || c == '@');
    // `a - b` is a title; `a --force` and `a -f` are two arguments to who splits them.
    let mut words = plain.split_whitespace();
    let is_option = |word: &str| word.starts_with(is_dash) && word.chars().any(|c| !is_dash(c));
    words.next().is_some_and(|first| !begins(first.trim_start_matches(['"', '\'']))) && !words.any(is_option)
}

/// Letters, digits and `_`, in parts with dots between them.
pub(super) fn is_identifier(text: &str) -> bool {
    let is_fine = |c: char| c == '_' || (c.is_alphanumeric() && is_stable(c));
    let is_part = |part: &str| part.chars().all(is_fine) && part.starts_with(|c: char| !c.is_numeric());
    text.split('.').count() <= 4 && text.split('.').all(is_part)
}

/// Nothing in the text ends a line.
pub(super) fn is_one_line(text: &str) -> bool {
    let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let escaped = text.to_ascii_lowercase();
    !text.chars().any(ends) && !["%0d", "%0a"].iter().any(|end| escaped.contains(end))
}

/// Why a recipient may not be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It isn't one address that every reader reads alike.
    Unclear,
    /// It isn't among those that are allowed.
    Foreign,
}

/// Whether every recipient in the text is one that the policy allows. Several are
/// parted by commas or semicolons.
pub(super) fn recipients(text: &str, policy: &FieldPolicy) -> Result<(), Unfit> {
    if !is_one_line(text) || text.trim().is_empty() {
        return Err(Unfit::Unclear);
    }
    split(text)?.iter().try_for_each(|one| recipient(one, policy))
}

/// Parts a list at commas and semicolons outside of quotes.
fn split(text: &str) -> Result<Vec<&str>, Unfit> {
    let (mut parts, mut start, mut quoted) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ',' | ';' if !quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    // A list may end in its sign.
    if parts.len() > 1 && parts.last().is_some_and(|last| last.trim().is_empty()) {
        parts.pop();
    }
    if quoted { Err(Unfit::Unclear) } else { Ok(parts) }
}

fn recipient(text: &str, policy: &FieldPolicy) -> Result<(), Unfit> {
    let text = text.trim();
    let address = match text.split_once('<') {
        None => text,
        Some((name, rest)) => {
            // Nothing in the name may pass for an address.
            let name = normal(name);
            let is_odd = |c: char| matches!(c, '@' | '<' | '>' | ':' | '\\' | '(' | ')');
            if name.contains(is_odd) || !matches!(name.matches('"').count(), 0 | 2) {
                return Err(Unfit::Unclear);
            }
            rest.strip_suffix('>').ok_or(Unfit::Unclear)?
        }
    };
    let address = address.strip_prefix("mailto:").unwrap_or(address);
    let (user, host) = address.split_once('@').ok_or(Unfit::Unclear)?;
    // No routes (`%`, `!`), no comments, no quotes, no second address.
    let is_user = |c: u8| c.is_ascii_alphanumeric() || b".#$&'*+/=?^_{|}~-".contains(&c);
    let is_plain = |c: char| c.is_ascii() && is_user(u8::try_from(c).unwrap_or(b'"'));
    if user.is_empty() || !user.chars().all(|c| is_plain(c) || (c.is_alphanumeric() && is_stable(c))) {
        return Err(Unfit::Unclear);
    }
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    if host.is_empty() || !host.chars().all(is_host) {
        return Err(Unfit::Unclear);
    }
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let whole = format!("{user}@{host}");
    let is_allowed =
        policy.domains.contains(&host) || policy.addresses.iter().any(|one| one.eq_ignore_ascii_case(&whole));
    if is_allowed { Ok(()) } else { Err(Unfit::Foreign) }
}

/// Whether a member of this name makes somebody else get what is sent.
pub(super) fn names_recipients(key: &str) -> bool {
    let plain: String = normal(key).chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    matches!(
        plain.as_str(),
        "bcc"
            | "cc"
            | "to"
            | "recipient"
            | "recipients"
            | "blindcopy"
            | "blindcarboncopy"
            | "carboncopy"
            | "copyto"
            | "alsoto"
            | "bccaddress"
            | "ccaddress"
            | "bccaddresses"
            | "ccaddresses"
            | "bccrecipients"
            | "ccrecipients"
            | "torecipients"
            | "bccto"
            | "ccto"
            | "sendto"
            | "forwardto"
            | "additionalrecipients"
            | "hiddenrecipients"
            | "bcclist"
            | "cclist"
            | "envelopeto"
            | "rcptto"
            | "resentto"
            | "resentbcc"
            | "resentcc"
            | "bccemail"
            | "ccemail"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_find_nothing() {
        for text in
            ["ls -la", "build/x.txt", "a=b", "50% off", "C# notes", "Größe 指示", "a, b and c", "-rf", "a~b", "x@y", ""]
        {
            assert!(is_shell_safe(text), "{text}");
        }
        for text in [
            "a; curl x",
            "a && b",
            "a|b",
            "`id`",
            "$(id)",
            "a${IFS}b",
            "$IFS",
            "a > b",
            "a\nb",
            "a\rb",
            "a\0b",
            "*.txt",
            "x[1]",
            "{a,b}",
            "~/x",
            "a ~root",
            "# b",
            "a\\b",
            "it's",
            "\"a\"",
            "%PATH%",
            "a%3bb",
            "a；b",
            "a｜b",
            "＄(id)",
            "a&#59;b",
            "!x",
            "a\u{37e}b",
            "a^b",
            "a\u{2028}b",
        ] {
            assert!(!is_shell_safe(text), "{text:?}");
        }
    }

    #[test]
    fn words_are_one_word() {
        for text in ["make", "./build.sh", "origin/main", "v1.2+3", "user@host", "größe"] {
            assert!(is_command_word(text), "{text}");
        }
        for text in ["", "a b", "-x", "@file", "+x", "a;b", "a\u{200b}b", "ａｂ", "a\tb"] {
            assert!(!is_command_word(text), "{text:?}");
        }
    }

    #[test]
    fn names_are_no_options() {
        for text in
            ["web-1", "a - b", "Release notes – final", "x-y", "日本語", "rosa@post.example", "a=b", "\"quoted\""]
        {
            assert!(is_name(text), "{text}");
        }
        for text in [
            "",
            " ",
            "-x",
            "--kubeconfig=/tmp/x",
            " --x",
            "\u{2014}x",
            "—x",
            "－x",
            "\u{200b}--x",
            "@/etc/passwd",
            "web-1 --force",
            "web\t-f",
            "a\nb",
            "\"--x\"",
            "a\u{2028}b",
        ] {
            assert!(!is_name(text), "{text:?}");
        }
    }

    #[test]
    fn identifiers_are_letters() {
        for text in ["users", "public.users", "_x1", "größe", "a.b.c.d", "таблица"] {
            assert!(is_identifier(text), "{text}");
        }
        for text in [
            "",
            "1a",
            "a b",
            "a;b",
            "a--",
            "a/*x*/b",
            "a'b",
            "\"a\"",
            "`a`",
            "a.",
            ".a",
            "a..b",
            "a.b.c.d.e",
            "ａ",
            "a$b",
            "a\0",
            "[a]",
            "a\u{200b}",
        ] {
            assert!(!is_identifier(text), "{text:?}");
        }
    }

    #[test]
    fn lines_are_one() {
        for text in ["Re: plans; and more", "100% sure", "指示", "smile 😊", "ċ and č"] {
            assert!(is_one_line(text), "{text}");
        }
        for text in ["a\nBcc: x", "a\r\nx", "a\u{85}b", "a\u{2028}b", "a%0d%0ab", "a%0Ab", "a\0b"] {
            assert!(!is_one_line(text), "{text:?}");
        }
    }

    #[test]
    fn recipients_are_those_allowed() {
        let policy = FieldPolicy {
            domains: vec!["post.example".into()],
            addresses: vec!["quill@board.example".into()],
            ..FieldPolicy::default()
        };
        for text in [
            "rosa@post.example",
            "Rosa <rosa@post.example>",
            "\"Day, Rosa\" <rosa@Post.Example.>",
            "rosa+x@post.example, moss@post.example;",
            "Quill@board.example",
            "mailto:rosa@post.example",
            "Zoë Ñ <zoe@post.example>",
        ] {
            assert_eq!(recipients(text, &policy), Ok(()), "{text}");
        }
        for text in [
            "eve@evil.example",
            "rosa@post.example,eve@evil.example",
            "eve@post.example.evil.example",
            "eve@evilpost.example",
            "eve@a.post.example",
            "moss@board.example",
        ] {
            assert_eq!(recipients(text, &policy), Err(Unfit::Foreign), "{text}");
        }
        for text in [
            "",
            "rosa",
            "rosa@post.example\r\nBcc: eve@evil.example",
            "\"rosa@post.example\" <eve@evil.example>",
            "rosa@post.example <eve@evil.example>",
            "eve@evil.example@post.example",
            "eve%evil.example@post.example",
            "evil.example!eve@post.example",
            "<eve@evil.example>rosa@post.example",
            "rosa@post.example(eve@evil.example)",
            "\"eve@evil.example\"@post.example",
            "Team: rosa@post.example",
            "rosa@pоst.example",
            "rosa@post.example eve@evil.example",
            "<@evil.example:rosa@post.example>",
            "\"rosa@post.example",
            "rosa@[127.0.0.1]",
            "rosa@post.example%0d%0abcc:eve@evil.example",
            ",",
        ] {
            assert!(recipients(text, &policy).is_err(), "{text}");
        }
    }

    #[test]
    fn recipients_hide_under_many_names() {
        for key in ["bcc", "BCC", "Bcc:", "b-c-c", "cc_list", "blind_carbon_copy", "ｂｃｃ", "additionalRecipients"]
        {
            assert!(names_recipients(key), "{key}");
        }
        for key in ["text", "account", "topic", "subject", "tools", "success"] {
            assert!(!names_recipients(key), "{key}");
        }
    }
}
