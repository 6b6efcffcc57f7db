//! The rules as regular expressions: anchors to pass over most text, patterns for the rest.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::rules::{FRAGMENTS, RULES};

/// The rules, compiled.
pub(super) struct Compiled {
    /// The anchors of each rule, in the order of [`RULES`].
    pub(super) anchors: RegexSet,
    /// All anchors in one.
    pub(super) any_anchor: Regex,
    /// The patterns of each rule, alike.
    pub(super) patterns: Vec<Vec<Regex>>,
}

/// Fragments may hold fragments that stand further down in their list.
fn expanded(pattern: &str) -> String {
    FRAGMENTS.iter().fold(pattern.to_owned(), |text, (name, fragment)| text.replace(name, fragment))
}

/// The rules; `None` if they could not be compiled, which a test rules out.
pub(super) static COMPILED: LazyLock<Option<Compiled>> = LazyLock::new(|| compile().ok());

fn compile() -> Result<Compiled, regex::Error> {
    let regex = |pattern: &&str| RegexBuilder::new(&expanded(pattern)).unicode(false).size_limit(SIZE).build();
    let anchors: Vec<_> = RULES.iter().map(|rule| expanded(&rule.anchors.join("|"))).collect();
    let any_anchor = anchors.join("|");
    Ok(Compiled {
        any_anchor: regex(&any_anchor.as_str())?,
        anchors: RegexSetBuilder::new(anchors).unicode(false).size_limit(SIZE).build()?,
        patterns: RULES.iter().map(|rule| rule.patterns.iter().map(regex).collect()).collect::<Result<_, _>>()?,
    })
}

/// Room for a compiled rule, in bytes.
const SIZE: usize = 64 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_lose_nothing() {
        use proptest::{strategy::Strategy as _, strategy::ValueTree as _, test_runner::TestRunner};
        let compiled = compile().unwrap();
        let mut runner = TestRunner::deterministic();
        for (index, rule) in RULES.iter().enumerate() {
            for (pattern, regex) in rule.patterns.iter().zip(&compiled.patterns[index]) {
                // The generator knows no places between characters.
                let plain = expanded(pattern).replace("\\b", "").replace("(?:^|\\n)", "\\n").replace("|$)", ")");
                let texts = proptest::string::string_regex(&plain).unwrap_or_else(|error| panic!("{plain}: {error}"));
                let found = (0..200).map(|_| texts.new_tree(&mut runner).unwrap().current().to_ascii_lowercase());
                for text in found.filter(|text| regex.is_match(text.as_bytes())) {
                    assert!(compiled.anchors.matches(text.as_bytes()).matched(index), "{}: {text:?}", rule.id);
                }
            }
        }
    }
}
