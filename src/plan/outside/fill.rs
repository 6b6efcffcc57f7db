//! Fills the placeholders of a profile in.

use std::path::Path;

use serde_json::Value;

use crate::fixture::{Part, Placeholder, Template};

/// What a gate is told in one trial, before one server.
#[derive(Clone, Debug)]
pub struct Told<'a> {
    /// The command of the server, where the gate starts it.
    pub upstream: &'a [String],
    /// The URL of the server, where the gate connects to it.
    pub upstream_url: &'a str,
    /// The port that the gate listens on, where it does.
    pub port: u16,
    /// The server's name in the case.
    pub server: &'a str,
    /// The trial's home folder.
    pub home: &'a Path,
    /// The tools that may be listed and called.
    pub allowed_tools: &'a [String],
    /// The case's policy.
    pub policy: &'a Path,
    /// Where gates are installed.
    pub gates: &'a Path,
}

impl Told<'_> {
    /// A command's words. `{upstream}` as a word of its own becomes several.
    pub fn words(&self, words: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        for word in words {
            match Template::of_profile(word) {
                Ok(template) if template.parts() == [Part::Fill(Placeholder::Upstream)] => {
                    out.extend(self.upstream.iter().cloned());
                }
                Ok(template) => out.push(template.fill(|placeholder| self.value(placeholder))),
                // A profile with an unknown placeholder was refused when it was read.
                Err(_) => out.push(word.clone()),
            }
        }
        out
    }

    /// A file's text.
    pub fn text(&self, text: &str) -> String {
        Template::of_profile(text)
            .map_or_else(|_| text.to_owned(), |template| template.fill(|placeholder| self.value(placeholder)))
    }

    fn value(&self, placeholder: Placeholder) -> String {
        let json = |words: &[String]| Value::from(words.to_vec()).to_string();
        match placeholder {
            Placeholder::Upstream => quoted(self.upstream),
            Placeholder::UpstreamJson => json(self.upstream),
            Placeholder::UpstreamProgram => self.upstream.first().cloned().unwrap_or_default(),
            Placeholder::UpstreamArgsJson => json(self.upstream.get(1..).unwrap_or_default()),
            Placeholder::UpstreamUrl => self.upstream_url.to_owned(),
            Placeholder::Listen => format!("127.0.0.1:{}", self.port),
            Placeholder::Port => self.port.to_string(),
            Placeholder::Server => self.server.to_owned(),
            Placeholder::Home => self.home.to_string_lossy().into_owned(),
            Placeholder::AllowedTools => json(self.allowed_tools),
            Placeholder::Policy => self.policy.to_string_lossy().into_owned(),
            Placeholder::Gates => self.gates.to_string_lossy().into_owned(),
            // Only tool names hold it.
            Placeholder::Tool => placeholder.to_string(),
        }
    }
}

/// The words as a shell would have to be given them. A word that no shell can be
/// given (with a zero byte) is none that a process could be started with either.
fn quoted(words: &[String]) -> String {
    let word = |word: &String| shlex::try_quote(word).map_or_else(|_| word.clone(), std::borrow::Cow::into_owned);
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: &[&str]) {
        let upstream = ["/a b/relay", "--to", "x\"y"].map(str::to_owned);
        let allowed = ["read", "li\"st"].map(str::to_owned);
        let told = Told {
            upstream: &upstream,
            upstream_url: "http://127.0.0.1:7/mcp",
            port: 9,
            server: "board",
            home: Path::new("/h"),
            allowed_tools: &allowed,
            policy: Path::new("/p.toml"),
            gates: Path::new("/g"),
        };
        assert_eq!(told.words(&[word.to_owned()]), expected, "{word}");
        if word != "{upstream}" {
            assert_eq!(told.text(word), expected[0]);
        }
    }

    #[test]
    fn each_placeholder_in_its_form() {
        check("{upstream}", &["/a b/relay", "--to", "x\"y"]);
        check("exec {upstream}", &["exec '/a b/relay' --to 'x\"y'"]);
        check("{upstream_json}", &[r#"["/a b/relay","--to","x\"y"]"#]);
        check(
            r#"{"command":"{upstream_program}","args":{upstream_args_json}}"#,
            &[r#"{"command":"/a b/relay","args":["--to","x\"y"]}"#],
        );
        check("--url={upstream_url}", &["--url=http://127.0.0.1:7/mcp"]);
        check("{listen} {port}", &["127.0.0.1:9 9"]);
        check("{server}.{home}.{policy}.{gates}", &["board./h./p.toml./g"]);
        check("allow: {allowed_tools}", &[r#"allow: ["read","li\"st"]"#]);
        check("{{server}}", &["{server}"]);
    }
}
