//! Whether a path stays within the roots, whoever reads it.
//!
//! A path is judged in every way that a server may read it in: as it stands, with
//! its escapes undone as often as it has any, and with characters that only look
//! like dots and slashes read as these. Each reading must stay inside.

use std::{borrow::Cow, collections::VecDeque};

use unicode_normalization::UnicodeNormalization as _;

use super::text::is_invisible;

/// How many ways to read one path are followed.
const MAX_READINGS: usize = 12;
/// How long a path may be, in bytes: Linux's `PATH_MAX`.
const MAX_LENGTH: usize = 4096;
/// How many links are followed: as many as Linux does.
const MAX_LINKS: usize = 40;

/// Why a path may not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Astray {
    /// It leaves the roots as it is written.
    Outside,
    /// A link on its way leaves the roots, or links lead in a circle.
    Link,
    /// What it means depends on who reads it.
    Odd,
    /// It is an address of something that is no local file.
    Elsewhere,
    /// It stays inside as it is written, and not as it may be read.
    Disguised,
}

/// Judges a path against the roots; `target` says what a link points to.
/// A relative path begins at the first root.
pub(super) fn judge(text: &str, roots: &[String], target: &dyn Fn(&str) -> Option<String>) -> Result<(), Astray> {
    if text.len() > MAX_LENGTH {
        return Err(Astray::Odd);
    }
    let Some(first) = roots.first() else { return Err(Astray::Outside) };
    let mut known: Vec<String> = roots.iter().map(|root| root.nfc().collect()).collect();
    known.extend(roots.iter().filter_map(|root| folded(root)));
    let mut readings: VecDeque<String> = VecDeque::from([text.to_owned()]);
    let mut seen = 0;
    while let Some(reading) = readings.pop_front() {
        let is_first = seen == 0;
        seen += 1;
        let judged = one(&reading, first, &known, target);
        judged.map_err(|astray| if is_first { astray } else { Astray::Disguised })?;
        let more = [unescaped(&reading)?, folded(&reading)];
        for next in more.into_iter().flatten() {
            if !readings.contains(&next) {
                readings.push_back(next);
            }
        }
        if seen + readings.len() > MAX_READINGS {
            return Err(Astray::Disguised);
        }
    }
    Ok(())
}

fn one(text: &str, base: &str, roots: &[String], target: &dyn Fn(&str) -> Option<String>) -> Result<(), Astray> {
    let path = local(text)?;
    let bytes = path.as_bytes();
    let has_drive = bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':');
    if path.trim().is_empty() || path.starts_with("//") || has_drive || path.chars().any(char::is_control) {
        return Err(Astray::Odd);
    }
    let is_relative = !path.starts_with('/');
    let mut parts = path.split('/');
    if parts.clone().any(is_odd_part) || (is_relative && parts.next().is_some_and(is_expanded)) {
        return Err(Astray::Odd);
    }
    let path: String = path.nfc().collect();
    let whole = if is_relative { Cow::Owned(format!("{base}/{path}")) } else { Cow::Borrowed(path.as_str()) };
    let plain = lexical(&whole, roots)?;
    // With `..` behind a link the file is another one than the text says.
    let has_parent = whole.split('/').any(|part| part == "..");
    for walked in [Some(plain.as_str()), has_parent.then_some(&whole)].into_iter().flatten() {
        let end = follow(walked, target).ok_or(Astray::Link)?;
        let in_real_root = || roots.iter().any(|root| follow(root, target).is_some_and(|root| is_in(&end, &root)));
        if !roots.iter().any(|root| is_in(&end, root)) && !in_real_root() {
            return Err(Astray::Link);
        }
    }
    Ok(())
}

/// The path in a `file` URI, or the text where it is no URI.
fn local(text: &str) -> Result<&str, Astray> {
    let Some((scheme, rest)) = text.split_once(':') else { return Ok(text) };
    if scheme.trim_start().eq_ignore_ascii_case("file") {
        if text.contains(['?', '#']) {
            return Err(Astray::Elsewhere);
        }
        let Some(after) = rest.strip_prefix("//") else {
            return if rest.starts_with('/') { Ok(rest) } else { Err(Astray::Elsewhere) };
        };
        let path = after.find('/').map_or("", |slash| &after[slash..]);
        let host = &after[..after.len() - path.len()];
        return if host.is_empty() || host.eq_ignore_ascii_case("localhost") {
            Ok(path)
        } else {
            Err(Astray::Elsewhere)
        };
    }
    let is_scheme = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.');
    if rest.starts_with("//") && scheme.trim_start().bytes().all(is_scheme) {
        return Err(Astray::Elsewhere);
    }
    Ok(text)
}

/// Parts that some system takes for `.` or `..` or for nothing at all.
fn is_odd_part(part: &str) -> bool {
    if matches!(part, "" | "." | "..") {
        return false;
    }
    let is_filler = |c: char| c == '.' || c.is_whitespace();
    // What stands behind `;` and `:` is a parameter or a stream to some.
    let head = part.split([';', ':']).next().unwrap_or(part);
    part.chars().all(is_filler) || matches!(head, "." | "..")
}

/// First parts of a relative path that a shell, or a server that is helpful,
/// puts something else in the place of: a home, a variable.
fn is_expanded(part: &str) -> bool {
    let is_user = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    let is_home = part.strip_prefix('~').is_some_and(|user| user.chars().all(is_user));
    let is_variable =
        part.strip_prefix('$').is_some_and(|name| name.starts_with(|c: char| c.is_alphabetic() || "_{(".contains(c)));
    let is_windows = part.strip_prefix('%').is_some_and(|name| name.len() > 1 && name.ends_with('%'));
    is_home || is_variable || is_windows
}

/// The absolute path without `.` and `..`. A `..` may undo what was entered
/// below a root, and nothing else.
fn lexical(path: &str, roots: &[String]) -> Result<String, Astray> {
    let mut done = String::with_capacity(path.len());
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                let is_below = |root: &String| is_in(&done, root) && done.len() > root.trim_end_matches('/').len();
                if !roots.iter().any(is_below) {
                    return Err(Astray::Outside);
                }
                done.truncate(done.rfind('/').unwrap_or(0));
            }
            name => {
                done.push('/');
                done.push_str(name);
            }
        }
    }
    if roots.iter().any(|root| is_in(&done, root)) { Ok(done) } else { Err(Astray::Outside) }
}

/// Whether an absolute path is a root or lies in it: `/root-evil` doesn't.
fn is_in(path: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Where the path ends with every link followed; `None` where they don't end.
fn follow(path: &str, target: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut todo: Vec<Cow<'_, str>> = path.split('/').rev().map(Cow::Borrowed).collect();
    let mut done = String::with_capacity(path.len());
    let mut links = 0;
    while let Some(part) = todo.pop() {
        match &*part {
            "" | "." => {}
            ".." => done.truncate(done.rfind('/').unwrap_or(0)),
            name => {
                let parent = done.len();
                done.push('/');
                done.push_str(name);
                let Some(target) = target(&done) else { continue };
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                done.truncate(if target.starts_with('/') { 0 } else { parent });
                todo.extend(target.split('/').rev().map(|part| Cow::Owned(part.to_owned())));
            }
        }
    }
    Some(done)
}

/// The text with `%2e` and `%u002e` undone once; `None` where it has none.
fn unescaped(text: &str) -> Result<Option<String>, Astray> {
    if !text.contains('%') {
        return Ok(None);
    }
    let hex = |digits: Option<&str>| digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let (mut rest, mut changed) = (text, false);
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let is_wide = rest.starts_with(['u', 'U']);
        let digits = if is_wide { rest.get(1..5) } else { rest.get(..2) };
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(c) = hex(digits).and_then(char::from_u32) else {
            bytes.push(b'%');
            continue;
        };
        changed = true;
        if is_wide {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[5..];
        } else {
            bytes.push(u8::try_from(u32::from(c)).unwrap_or(b'?'));
            rest = &rest[2..];
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    if !changed {
        return Ok(None);
    }
    // Bytes that are no UTF-8 spell `.` and `/` too long for a careless decoder.
    String::from_utf8(bytes).map(Some).map_err(|_| Astray::Disguised)
}

/// The text with look-alikes of dots and slashes, styled letters and backslashes
/// read as what they look like, and without what nobody sees; `None` where
/// nothing changes.
fn folded(text: &str) -> Option<String> {
    if text.is_ascii() && !text.contains('\\') {
        return None;
    }
    let plain = |c: char| match c {
        '\u{3002}' | '\u{fe52}' | '\u{a4f8}' | '\u{6d4}' => '.',
        '\\' | '\u{2044}' | '\u{2215}' | '\u{2216}' | '\u{29f8}' | '\u{29f9}' | '\u{29f5}' | '\u{2571}'
        | '\u{2572}' | '\u{a5}' | '\u{20a9}' => '/',
        c => c,
    };
    let visible = text.chars().filter(|c| !is_invisible(*c) || c.is_control());
    let out: String = visible.nfkc().map(plain).collect();
    (out != text).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOTS: [&str; 2] = ["/srv/files", "/data/büro"];

    fn of(text: &str) -> Result<(), Astray> {
        let links = [
            ("/srv/files/latest", "releases/7"),
            ("/srv/files/up", "../files/notes"),
            ("/srv/files/out", "/etc"),
            ("/srv/files/out2", "../../etc"),
            ("/srv/files/deep/link", "../out"),
            ("/srv/files/a", "b"),
            ("/srv/files/b", "a"),
            ("/srv/files/self", "self/x"),
        ];
        let target = |path: &str| links.iter().find(|(at, _)| *at == path).map(|(_, to)| (*to).to_owned());
        judge(text, &ROOTS.map(str::to_owned), &target)
    }

    #[test]
    fn honest_paths_pass() {
        for path in [
            "notes.txt",
            "/srv/files",
            "/srv/files/",
            "/srv//files/./notes.txt",
            ".",
            "./notes/",
            "a..b.txt",
            "..hidden/file",
            "...and more.txt",
            "v1.2../x",
            "notes/../notes.txt",
            "/srv/files/x/y/../../c",
            "with spaces and (brackets) & more.txt",
            "Überblick/Café menü.txt",
            "Cafe\u{301}/x",
            "/data/bu\u{308}ro/plan.txt",
            "指示/読む.txt",
            "50% off.txt",
            "100%.txt",
            "report%20final.txt",
            "12:30 notes.txt",
            "docs/~backup",
            "a~b.txt",
            "costs$.txt",
            "notes\\2024.txt",
            "to be continued….txt",
            "file:///srv/files/a%20b.txt",
            "latest/notes.txt",
            "up/x",
            "latest/../notes.txt",
        ] {
            assert_eq!(of(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn what_leaves_the_roots_is_found() {
        for path in [
            "/etc/passwd",
            "/",
            "/srv",
            "/srv/files-evil/x",
            "/srv/files.bak",
            "/SRV/FILES/x",
            "..",
            "../files/x",
            "notes/../../etc/passwd",
            "/srv/files/../files/x",
            "/srv/../srv/files/x",
            "file:///etc/passwd",
            "FILE://LOCALHOST/etc/passwd",
        ] {
            assert_eq!(of(path), Err(Astray::Outside), "{path}");
        }
    }

    #[test]
    fn disguises_are_read_through() {
        for path in [
            "%2e%2e/%2e%2e/etc/passwd",
            "..%2f..%2fetc",
            "%252e%252e%252fetc",
            "%25252525252e%252e/x",
            "..%5c..%5cetc",
            "%c0%ae%c0%ae/etc",
            "%e0%80%ae/x",
            "%u002e%u002e/etc",
            "%2Fetc%2fpasswd",
            "..\\..\\etc",
            "\\\\server\\share",
            "．．/etc",
            "․․/etc",
            "‥/etc",
            "..／etc",
            "..∕etc",
            "..＼etc",
            "%EF%BC%8E%EF%BC%8E/etc",
            "％2e％2e/etc",
            ".\u{200b}./etc",
            "notes/…/x",
            "file%3a///etc/passwd",
            "%66ile:///etc/passwd",
            "file:///srv/files/%2e%2e/x",
        ] {
            assert_eq!(of(path), Err(Astray::Disguised), "{path}");
        }
    }

    #[test]
    fn what_systems_read_differently_is_refused() {
        for path in [
            "",
            " ",
            "\u{3000}",
            "a\0.txt",
            "a\n",
            "\t/etc",
            "~",
            "~/x",
            "~root/x",
            "~+/x",
            "$HOME/x",
            "${HOME}/x",
            "$(id)/x",
            "%USERPROFILE%/x",
            "//server/share",
            "C:/x",
            "c:x",
            ".../x",
            "a/..../x",
            "a/.. /x",
            "a/ ../x",
            "a/..;/x",
            "a/..::$DATA",
            "file:////server/share",
        ] {
            assert_eq!(of(path), Err(Astray::Odd), "{path:?}");
        }
        assert_eq!(of(&"a/".repeat(3000)), Err(Astray::Odd));
        for path in [
            "https://files.example/x",
            "smb://host/share",
            "file://host/srv/files/x",
            "file:x",
            "file:///srv/files/x?y",
            "jar:file:///x",
        ] {
            let found = of(path);
            assert!(matches!(found, Err(Astray::Elsewhere)) || path.starts_with("jar"), "{path}: {found:?}");
        }
    }

    #[test]
    fn links_are_followed_to_their_end() {
        for path in ["out/passwd", "out", "out2/x", "deep/link/x", "a", "b/x", "self", "out/../x", "/srv/files/out"] {
            assert_eq!(of(path), Err(Astray::Link), "{path}");
        }
        let moved = |path: &str| (path == "/srv/files").then(|| "/data/files".to_owned());
        assert_eq!(judge("x", &["/srv/files".to_owned()], &moved), Ok(()));
    }
}
