//! A JSON value that knows where it stood.

use std::ops::Range;

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
