//! A strict JSON reader that keeps where everything stood.
//!
//! It differs from an ordinary reader in four ways that a gate needs: duplicate
//! keys are reported, numbers stay as spelled, nesting beyond the limit is
//! skipped over (so that the id of the message can still be read) instead of
//! ending the read, and a lone surrogate is a note and not an error.

use std::ops::Range;

/// How deep values may nest before the reader stops building them.
pub const DEFAULT_DEPTH: usize = 512;

/// Where a read ended, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct SyntaxError {
    /// Offset in bytes from the start of the text.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// Something legal to read but dangerous to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A key stands twice in one object: two readers may choose differently.
    DuplicateKey {
        /// The key, unescaped.
        key: String,
        /// Where its later occurrence stands.
        at: usize,
    },
    /// Nesting beyond the limit; what lies below was not built.
    TooDeep {
        /// Where the value that was skipped begins.
        at: usize,
    },
    /// An escaped surrogate without its half.
    LoneSurrogate {
        /// Where the string begins.
        at: usize,
    },
}

/// A value and where it stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The bytes of the value in the text.
    pub span: Range<usize>,
    /// What the value is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as spelled: `5.0` stays `5.0`.
    Number(String),
    /// A string, unescaped; a lone surrogate reads as U+FFFD.
    String(String),
    /// An array.
    Array(Vec<Node>),
    /// An object in the order of its text, duplicates included.
    Object(Vec<Member>),
    /// A value below the depth limit, skipped.
    TooDeep,
}

/// One member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The key, unescaped.
    pub key: String,
    /// The bytes of the key with its quotes.
    pub key_span: Range<usize>,
    /// The value.
    pub value: Node,
}

/// A whole text, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The outermost value.
    pub root: Node,
    /// What was odd about it, in order.
    pub notes: Vec<Note>,
}

/// Reads `text` with the default depth limit.
///
/// # Errors
/// Where the text is not JSON by RFC 8259, or not UTF-8.
pub fn parse(text: &[u8]) -> Result<Document, SyntaxError> {
    parse_with(text, DEFAULT_DEPTH)
}

/// Reads `text`, building at most `depth` levels.
///
/// # Errors
/// Where the text is not JSON by RFC 8259, or not UTF-8.
pub fn parse_with(text: &[u8], depth: usize) -> Result<Document, SyntaxError> {
    let text = std::str::from_utf8(text).map_err(|error| SyntaxError { at: error.valid_up_to(), what: "not UTF-8" })?;
    // Recursion is bounded by `depth`; the cap keeps a careless limit from
    // overflowing the stack.
    let mut reader = Reader { whole: text, text: text.as_bytes(), at: 0, left: depth.min(2048), notes: Vec::new() };
    reader.space();
    let root = reader.value()?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.error("text after the value"));
    }
    Ok(Document { root, notes: reader.notes })
}

impl Node {
    /// The value under `key`, the last one where the key stands twice.
    pub fn member(&self, key: &str) -> Option<&Self> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The members, empty where this is no object.
    pub fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Object(members) => members,
            _ => &[],
        }
    }

    /// The items, empty where this is no array.
    pub fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::Array(items) => items,
            _ => &[],
        }
    }

    /// The string, where this is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, where this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Kind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The number as spelled, where this is one.
    pub fn as_number(&self) -> Option<&str> {
        match &self.kind {
            Kind::Number(text) => Some(text),
            _ => None,
        }
    }

    /// The value that an RFC 6901 pointer names.
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        let mut node = self;
        if pointer.is_empty() {
            return Some(node);
        }
        for token in pointer.strip_prefix('/')?.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            node = match &node.kind {
                Kind::Object(_) => node.member(&token)?,
                Kind::Array(items) => items.get(token.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(node)
    }

    /// The value for libraries that work on `serde_json::Value`.
    ///
    /// `None` where it would not survive: duplicate keys, skipped depths, or a
    /// number that neither a 64-bit integer nor a double holds exactly.
    pub fn to_value(&self) -> Option<serde_json::Value> {
        use serde_json::Value;
        Some(match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(text) => Value::Number(exact_number(text)?),
            Kind::String(text) => Value::String(text.clone()),
            Kind::Array(items) => Value::Array(items.iter().map(Self::to_value).collect::<Option<_>>()?),
            Kind::Object(members) => {
                let mut map = serde_json::Map::with_capacity(members.len());
                for member in members {
                    if map.insert(member.key.clone(), member.value.to_value()?).is_some() {
                        return None;
                    }
                }
                Value::Object(map)
            }
            Kind::TooDeep => return None,
        })
    }

    /// Calls `visit` with every string at any depth (values and keys), with an
    /// RFC 6901 pointer to it.
    pub fn each_string<'a>(&'a self, visit: &mut dyn FnMut(&str, &'a str)) {
        self.walk_strings(&mut String::new(), visit);
    }

    fn walk_strings<'a>(&'a self, path: &mut String, visit: &mut dyn FnMut(&str, &'a str)) {
        use std::fmt::Write as _;
        let end = path.len();
        match &self.kind {
            Kind::String(text) => visit(path, text),
            Kind::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let _ = write!(path, "/{index}");
                    item.walk_strings(path, visit);
                    path.truncate(end);
                }
            }
            Kind::Object(members) => {
                for member in members {
                    path.push('/');
                    path.push_str(&member.key.replace('~', "~0").replace('/', "~1"));
                    visit(path, &member.key);
                    member.value.walk_strings(path, visit);
                    path.truncate(end);
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::TooDeep => {}
        }
    }
}

/// The number, where a 64-bit integer or a double holds exactly what is spelled.
fn exact_number(text: &str) -> Option<serde_json::Number> {
    if let Ok(value) = text.parse::<i64>() {
        return if text == "-0" { serde_json::Number::from_f64(-0.0) } else { Some(value.into()) };
    }
    if let Ok(value) = text.parse::<u64>() {
        return Some(value.into());
    }
    let value: f64 = text.parse().ok()?;
    let number = serde_json::Number::from_f64(value)?;
    // Shortest round-trip digits of the double, against the digits spelled.
    (digits(&format!("{value:e}")) == digits(text)).then_some(number)
}

/// The significant digits and the decimal exponent of a spelled number.
fn digits(text: &str) -> (bool, String, i64) {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i64 = exponent.parse().unwrap_or(i64::MAX / 2);
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let point = i64::try_from(whole.len()).unwrap_or(0) - i64::try_from(all.len() - significant.len()).unwrap_or(0);
    let significant = significant.trim_end_matches('0');
    if significant.is_empty() {
        return (negative, String::new(), 0);
    }
    (negative, significant.to_owned(), exponent.saturating_add(point))
}

#[derive(Debug)]
struct Reader<'a> {
    whole: &'a str,
    text: &'a [u8],
    at: usize,
    left: usize,
    notes: Vec<Note>,
}

impl Reader<'_> {
    fn error(&self, what: &'static str) -> SyntaxError {
        SyntaxError { at: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Node, SyntaxError> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{' | b'[') if self.left == 0 => {
                self.notes.push(Note::TooDeep { at: start });
                self.skip()?;
                Kind::TooDeep
            }
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            Some(b'"') => Kind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                Kind::Number(self.slice(start))
            }
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            Some(_) => return Err(self.error("expected a value")),
            None => return Err(self.error("the text ends where a value should stand")),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn slice(&self, start: usize) -> String {
        self.whole[start..self.at].to_owned()
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<Kind, SyntaxError> {
        if self.text[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(kind)
        } else {
            Err(self.error("expected a value"))
        }
    }

    fn array(&mut self) -> Result<Kind, SyntaxError> {
        self.at += 1;
        self.left -= 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            loop {
                self.space();
                items.push(self.value()?);
                self.space();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err(self.error("expected ',' or ']'")),
                }
            }
        }
        self.left += 1;
        Ok(Kind::Array(items))
    }

    fn object(&mut self) -> Result<Kind, SyntaxError> {
        self.at += 1;
        self.left -= 1;
        let mut members: Vec<Member> = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                self.space();
                let start = self.at;
                if self.peek() != Some(b'"') {
                    return Err(self.error("expected a key in quotes"));
                }
                let key = self.string()?;
                let key_span = start..self.at;
                self.space();
                if self.peek() != Some(b':') {
                    return Err(self.error("expected ':'"));
                }
                self.at += 1;
                self.space();
                let value = self.value()?;
                members.push(Member { key, key_span, value });
                self.space();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err(self.error("expected ',' or '}'")),
                }
            }
        }
        self.left += 1;
        self.note_duplicates(&members);
        Ok(Kind::Object(members))
    }

    fn note_duplicates(&mut self, members: &[Member]) {
        // A handful of keys is compared directly; a flood of them is sorted, so
        // that a hostile object can't make this quadratic.
        if members.len() <= 16 {
            for (index, member) in members.iter().enumerate() {
                if members[..index].iter().any(|earlier| earlier.key == member.key) {
                    self.notes.push(Note::DuplicateKey { key: member.key.clone(), at: member.key_span.start });
                }
            }
            return;
        }
        let mut seen = std::collections::HashSet::with_capacity(members.len());
        for member in members {
            if !seen.insert(member.key.as_str()) {
                self.notes.push(Note::DuplicateKey { key: member.key.clone(), at: member.key_span.start });
            }
        }
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.error("expected a digit")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        self.digits();
        if start == self.at { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let opening = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            out.push_str(&self.whole[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(opening, &mut out)?,
                Some(_) => return Err(self.error("control character in a string")),
                None => return Err(self.error("the text ends in a string")),
            }
        }
    }

    fn escape(&mut self, opening: usize, out: &mut String) -> Result<(), SyntaxError> {
        self.at += 1;
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let decoded = self.unicode_escape()?;
                if decoded.is_none() {
                    self.notes.push(Note::LoneSurrogate { at: opening });
                }
                out.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
                return Ok(());
            }
            _ => return Err(self.error("unknown escape")),
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    /// The character of a `\u` escape and its second half; `None` for a lone surrogate.
    fn unicode_escape(&mut self) -> Result<Option<char>, SyntaxError> {
        let first = self.hex4()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first));
        }
        if self.text[self.at..].starts_with(b"\\u") {
            let back = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                return Ok(char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)));
            }
            self.at = back;
        }
        Ok(None)
    }

    fn hex4(&mut self) -> Result<u32, SyntaxError> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            value = value * 16 + digit.ok_or_else(|| self.error("expected four hex digits"))?;
            self.at += 1;
        }
        Ok(value)
    }

    /// Skips one array or object, however deep, without recursion.
    fn skip(&mut self) -> Result<(), SyntaxError> {
        let mut open = Vec::new();
        loop {
            match self.peek() {
                Some(byte @ (b'{' | b'[')) => {
                    open.push(byte);
                    self.at += 1;
                }
                Some(byte @ (b'}' | b']')) => {
                    let matching = if byte == b'}' { b'{' } else { b'[' };
                    if open.pop() != Some(matching) {
                        return Err(self.error("brackets don't match"));
                    }
                    self.at += 1;
                }
                Some(b'"') => {
                    self.string()?;
                }
                Some(_) => self.at += 1,
                None => return Err(self.error("the text ends inside a value")),
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn root(text: &str) -> Node {
        parse(text.as_bytes()).unwrap().root
    }

    #[test]
    fn numbers_stay_as_spelled() {
        for text in ["5.0", "1915883588174806058", "1e400", "-0", "1E+2"] {
            assert_eq!(root(text).as_number(), Some(text));
        }
        for text in ["01", "1.", ".5", "+1", "-", "1e", "0x1"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn duplicate_keys_are_noted_after_unescaping() {
        let document = parse(br#"{"name":1,"n\u0061me":2}"#).unwrap();
        assert_eq!(document.notes, [Note::DuplicateKey { key: "name".into(), at: 10 }]);
        assert_eq!(document.root.member("name").unwrap().as_number(), Some("2"));
    }

    #[test]
    fn many_duplicate_keys_are_noted_too() {
        let keys: Vec<String> = (0..20).map(|n| format!("\"k{}\":0", n % 19)).collect();
        let document = parse(format!("{{{}}}", keys.join(",")).as_bytes()).unwrap();
        assert_eq!(document.notes.len(), 1);
    }

    #[test]
    fn depth_is_bounded_and_the_rest_is_read() {
        let deep = format!("{{\"a\":{}{},\"id\":7}}", "[".repeat(60_000), "]".repeat(60_000));
        let document = parse(deep.as_bytes()).unwrap();
        assert!(matches!(document.notes[..], [Note::TooDeep { .. }]));
        assert_eq!(document.root.member("id").unwrap().as_number(), Some("7"));
        assert!(document.root.to_value().is_none());
    }

    #[test]
    fn lone_surrogates_survive() {
        let document = parse(br#""\ud83d oops""#).unwrap();
        assert_eq!(document.root.as_str(), Some("\u{fffd} oops"));
        assert_eq!(document.notes, [Note::LoneSurrogate { at: 0 }]);
        assert_eq!(root(r#""\ud83d\ude00""#).as_str(), Some("😀"));
        assert_eq!(root(r#""\ud83d\u0041""#).as_str(), Some("\u{fffd}A"));
    }

    #[test]
    fn values_that_would_not_survive_are_not_handed_out() {
        assert!(root("0.1").to_value().is_some());
        assert!(root("5.0").to_value().is_some());
        assert!(root("18446744073709551615").to_value().is_some());
        assert!(root("18446744073709551616.5").to_value().is_none());
        assert!(root("0.1000000000000000055511151231257827").to_value().is_none());
        assert!(root("1e999").to_value().is_none());
        assert!(root(r#"{"a":1,"a":1}"#).to_value().is_none());
    }

    #[test]
    fn pointers_reach_every_string() {
        let node = root(r#"{"a/b":["x",{"~":"y"}]}"#);
        let mut seen = Vec::new();
        node.each_string(&mut |path, text| seen.push((path.to_owned(), text.to_owned())));
        let expected = [("/a~1b", "a/b"), ("/a~1b/0", "x"), ("/a~1b/1/~0", "~"), ("/a~1b/1/~0", "y")];
        assert_eq!(seen, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
        assert_eq!(node.pointer("/a~1b/1/~0").unwrap().as_str(), Some("y"));
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Into::into),
            ".*".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map(".*", inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// serde_json is the independent reader: what it writes, we read alike.
        #[test]
        fn reads_what_serde_json_writes(value in json()) {
            let compact = serde_json::to_string(&value).unwrap();
            let document = parse(compact.as_bytes()).unwrap();
            prop_assert_eq!(document.root.to_value().unwrap(), value.clone());
            prop_assert!(document.notes.is_empty());
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(root(&pretty).to_value().unwrap(), value);
        }

        /// Any bytes: no panic, and both readers agree on what is JSON.
        #[test]
        fn agrees_with_serde_json_on_any_text(text in r#"[\[\]{}:,"\\ a-fu0-9.eE+\-tn\x00-\x20]{0,24}"#) {
            let ours = parse(text.as_bytes());
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text);
            // RawValue checks syntax only, so surrogates and big numbers pass there as here.
            prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}", text);
        }

        #[test]
        fn survives_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes);
        }
    }
}
