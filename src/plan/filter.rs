//! Which cases are meant: filter expressions, and shards in nextest's words.

use std::{str::FromStr, sync::Arc};

use super::Prepared;
use crate::{
    case::{Case, Kind, Level},
    digest::Fingerprint,
    fixture::suggest,
    gate::checks,
};

/// A filter expression over cases.
///
/// Terms: `id(glob)`, `kind(attack)`, `level(must)`, `technique(D01)`,
/// `by(check)`, `all()`; joined by `and`, `or`, `not` and parentheses (also
/// `&`, `|`, `!`). A bare word is `id(*word*)`.
#[derive(Clone, Debug)]
pub enum Filter {
    /// Every case.
    All,
    /// By id, `*` for anything.
    Id(Glob),
    /// By kind.
    Kind(Kind),
    /// By level.
    Level(Level),
    /// By technique.
    Technique(String),
    /// By the check that should stop it.
    By(String),
    /// Both.
    And(Box<Filter>, Box<Filter>),
    /// Either.
    Or(Box<Filter>, Box<Filter>),
    /// Not.
    Not(Box<Filter>),
}

/// A filter expression that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("filter expression, character {at}: {what}")]
pub struct FilterError {
    at: usize,
    what: String,
}

impl Filter {
    /// Whether the case is meant.
    pub fn matches(&self, case: &Case) -> bool {
        match self {
            Self::All => true,
            // A case by its own id is all its variants.
            Self::Id(pattern) => pattern.is_match(case.id.as_str()) || pattern.literal() == Some(case.id.base()),
            Self::Kind(kind) => case.body.kind == *kind,
            Self::Level(level) => case.body.level == *level,
            Self::Technique(name) => case.body.technique == *name,
            Self::By(check) => case.body.by.as_deref() == Some(check),
            Self::And(a, b) => a.matches(case) && b.matches(case),
            Self::Or(a, b) => a.matches(case) || b.matches(case),
            Self::Not(inner) => !inner.matches(case),
        }
    }

    /// The first check, technique or case that it names and that there is not, in
    /// plain words. A pattern or a bare word that matches nothing is no mistake.
    pub fn unknown(&self, cases: &[Arc<Prepared>]) -> Option<String> {
        let bodies = || cases.iter().map(|prepared| &prepared.case.body);
        let told = |kind: &str, name: &str, known: Vec<&str>| {
            let hint = suggest(name, known).map(|hint| format!("; {hint}")).unwrap_or_default();
            Some(format!("the filter names the {kind} '{name}', and there is no such {kind}{hint}"))
        };
        match self {
            Self::All | Self::Kind(_) | Self::Level(_) => None,
            Self::Id(pattern) => {
                let id = pattern.literal()?;
                let ids = || cases.iter().flat_map(|prepared| [prepared.case.id.base(), prepared.case.id.as_str()]);
                let is_there = cases.iter().any(|prepared| self.matches(&prepared.case));
                if is_there { None } else { told("case", id, ids().collect()) }
            }
            Self::Technique(name) if bodies().any(|body| body.technique == *name) => None,
            Self::Technique(name) => told("technique", name, bodies().map(|body| body.technique.as_str()).collect()),
            Self::By(name) => {
                let named = || bodies().filter_map(|body| body.by.as_deref());
                let known: Vec<&str> =
                    checks::ALL.iter().map(|check| check.docs().id.as_str()).chain(named()).collect();
                if known.contains(&name.as_str()) { None } else { told("check", name, known) }
            }
            Self::And(a, b) | Self::Or(a, b) => a.unknown(cases).or_else(|| b.unknown(cases)),
            Self::Not(inner) => inner.unknown(cases),
        }
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser { text, at: 0 };
        let filter = parser.either()?;
        match parser.peek() {
            None => Ok(filter),
            Some(_) => Err(parser.error("expected 'and', 'or' or the end")),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn error(&self, what: impl Into<String>) -> FilterError {
        FilterError { at: self.at + 1, what: what.into() }
    }

    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, sign: char, word: &str) -> bool {
        if self.peek() == Some(sign) {
            self.at += sign.len_utf8();
            return true;
        }
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_whitespace() || c == '(';
        if rest.strip_prefix(word).is_some_and(|after| after.is_empty() || after.starts_with(ends)) {
            self.at += word.len();
            return true;
        }
        false
    }

    fn either(&mut self) -> Result<Filter, FilterError> {
        let mut left = self.both()?;
        while self.take('|', "or") {
            left = Filter::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Filter, FilterError> {
        let mut left = self.one()?;
        while self.take('&', "and") {
            left = Filter::And(Box::new(left), Box::new(self.one()?));
        }
        Ok(left)
    }

    fn one(&mut self) -> Result<Filter, FilterError> {
        if self.take('!', "not") {
            return Ok(Filter::Not(Box::new(self.one()?)));
        }
        match self.peek() {
            None => Err(self.error("expected a term")),
            Some('(') => {
                self.at += 1;
                let inner = self.either()?;
                if self.peek() == Some(')') {
                    self.at += 1;
                    Ok(inner)
                } else {
                    Err(self.error("expected ')'"))
                }
            }
            Some(_) => self.term(),
        }
    }

    fn term(&mut self) -> Result<Filter, FilterError> {
        let start = self.at;
        let word = self.word();
        if word.is_empty() {
            return Err(self.error("expected a term"));
        }
        if !self.text[self.at..].starts_with('(') {
            return Ok(Filter::Id(glob(&format!("*{word}*"))));
        }
        let Some(length) = self.text[self.at..].find(')') else { return Err(self.error("expected ')'")) };
        let value = self.text[self.at + 1..self.at + length].trim();
        self.at += length + 1;
        let wrong = |what: String| FilterError { at: start + 1, what };
        Ok(match word {
            "all" => Filter::All,
            "id" => Filter::Id(glob(value)),
            "technique" => Filter::Technique(value.to_owned()),
            "by" => Filter::By(value.to_owned()),
            "kind" => Filter::Kind(match value {
                "attack" => Kind::Attack,
                "benign" => Kind::Benign,
                "robustness" => Kind::Robustness,
                other => return Err(wrong(format!("no kind '{other}': attack, benign or robustness"))),
            }),
            "level" => Filter::Level(match value {
                "must" => Level::Must,
                "should" => Level::Should,
                "info" => Level::Info,
                other => return Err(wrong(format!("no level '{other}': must, should or info"))),
            }),
            other => {
                let known = ["id", "kind", "level", "technique", "by", "all"];
                let hint = suggest(other, known).unwrap_or_else(|| known.join(", "));
                return Err(wrong(format!("no term '{other}': {hint}")));
            }
        })
    }

    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '&' | '|' | '!')).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
}

/// `*` stands for anything.
fn glob(pattern: &str) -> Glob {
    Glob(pattern.split('*').map(str::to_owned).collect())
}

/// The literal parts of a pattern, with anything between them.
#[derive(Clone, Debug)]
pub struct Glob(Vec<String>);

impl Glob {
    /// The text that it stands for, if it is no pattern.
    fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    fn is_match(&self, text: &str) -> bool {
        let Some((first, rest)) = self.0.split_first() else { return false };
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
        for part in middle {
            // The earliest place leaves the most for what follows.
            let Some(at) = left.find(part.as_str()) else { return false };
            left = &left[at + part.len()..];
        }
        left.ends_with(last.as_str())
    }
}

/// One shard of many: `hash:1/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    shard: u64,
    of: u64,
}

impl Partition {
    /// Whether the case belongs to this shard: by a hash of its id, so that
    /// adding a case moves no other.
    pub fn has(self, case: &Case) -> bool {
        let text = Fingerprint::of(case.id.as_str().as_bytes()).to_string();
        u64::from_str_radix(&text[..15], 16).unwrap_or(0) % self.of == self.shard - 1
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.strip_prefix("hash:").and_then(|rest| rest.split_once('/'));
        let numbers = parts.and_then(|(shard, of)| Some((shard.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((shard, of)) if 1 <= shard && shard <= of => Ok(Self { shard, of }),
            _ => Err(format!("'{text}' is no shard; expected hash:M/N with 1 <= M <= N")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, is) in [
            ("board.*", "board.a.b", true),
            ("*args*", "board.args.x", true),
            ("a*b*b", "abb", true),
            ("a*b*b", "ab", false),
            ("a", "ab", false),
            ("*", "", true),
        ] {
            assert_eq!(glob(pattern).is_match(text), is, "{pattern} {text}");
        }
    }

    #[test]
    fn expressions_are_read_or_say_where_not() {
        assert!("kind(attack) and not (id(board.*) or level(info))".parse::<Filter>().is_ok());
        assert!("board & !kind(benign)|by(tool-allowlist)".parse::<Filter>().is_ok());
        for (text, at, what) in [
            ("knd(attack)", 1, "did you mean 'kind'"),
            ("kind(a)", 1, "no kind"),
            ("a and", 6, "expected a term"),
            ("(a", 3, "')'"),
        ] {
            let error = text.parse::<Filter>().unwrap_err();
            assert_eq!(error.at, at, "{error}");
            assert!(error.what.contains(what), "{error}");
        }
    }

    #[test]
    fn shards() {
        assert!("hash:1/4".parse::<Partition>().is_ok());
        for wrong in ["hash:0/4", "hash:5/4", "1/4", "hash:a/b"] {
            assert!(wrong.parse::<Partition>().is_err(), "{wrong}");
        }
    }
}
