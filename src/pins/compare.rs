//! What a server lists now, against what is approved of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::model::value_of;
use crate::gate::{Definition, PinKey, PinKind, Pins};

/// What a server lists now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Its definitions; what two different ones go by the same name for is not here.
    pub definitions: BTreeMap<PinKey, Definition>,
    /// Names that two different definitions go by.
    pub twice: BTreeSet<PinKey>,
    /// How many definitions have no name.
    pub unnamed: usize,
    /// Kinds of which the whole list was read: what is not in it is gone.
    pub whole: BTreeSet<PinKind>,
}

impl Shown {
    /// Adds a definition under its name.
    pub fn add(&mut self, key: PinKey, definition: Definition) {
        match self.definitions.get(&key) {
            _ if self.twice.contains(&key) => {}
            Some(known) if *known != definition => {
                self.definitions.remove(&key);
                self.twice.insert(key);
            }
            _ => {
                self.definitions.insert(key, definition);
            }
        }
    }
}

/// How one definition differs from what is approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub key: PinKey,
    /// What is approved; `None` where nothing is.
    pub old: Option<Definition>,
    /// What is listed; `None` where nothing is.
    pub new: Option<Definition>,
}

/// What became of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It has another value.
    Changed,
}

impl Field {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

impl Difference {
    /// What became of the whole definition.
    pub fn change(&self) -> Field {
        match (&self.old, &self.new) {
            (None, _) => Field::Added,
            (Some(_), None) => Field::Removed,
            (Some(_), Some(_)) => Field::Changed,
        }
    }

    /// The fields of a changed definition that differ, by JSON pointer; empty
    /// where one of the two has no exact form, or nothing but its spelling differs.
    pub fn fields(&self) -> Vec<(String, Field)> {
        let value = |definition: &Option<Definition>| definition.as_ref().and_then(|one| value_of(&one.text));
        let mut fields = Vec::new();
        if let (Some(old), Some(new)) = (value(&self.old), value(&self.new)) {
            walk(&old, &new, "", &mut fields);
        }
        fields
    }
}

fn walk(old: &Value, new: &Value, at: &str, fields: &mut Vec<(String, Field)>) {
    let step = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                both(old.get(key), new.get(key), &step(key), fields);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for index in 0..old.len().max(new.len()) {
                both(old.get(index), new.get(index), &step(&index.to_string()), fields);
            }
        }
        _ if old == new => {}
        _ => fields.push((at.to_owned(), Field::Changed)),
    }
}

fn both(old: Option<&Value>, new: Option<&Value>, at: &str, fields: &mut Vec<(String, Field)>) {
    match (old, new) {
        (Some(old), Some(new)) => walk(old, new, at, fields),
        (None, _) => fields.push((at.to_owned(), Field::Added)),
        (_, None) => fields.push((at.to_owned(), Field::Removed)),
    }
}

/// Everything that differs, by kind and name.
pub fn compare(pins: &Pins, shown: &Shown) -> Vec<Difference> {
    let gone = pins.all.keys().filter(|(kind, _)| shown.whole.contains(kind));
    let keys: BTreeSet<&PinKey> = shown.definitions.keys().chain(gone).collect();
    let differing = keys.into_iter().filter(|key| !shown.twice.contains(*key)).filter_map(|key| {
        let old = pins.all.get(key).map(|pin| pin.definition.clone());
        let new = shown.definitions.get(key).cloned();
        (old != new).then(|| Difference { key: key.clone(), old, new })
    });
    differing.collect()
}

/// A definition as people read it: one member a line, nothing hidden in it.
pub fn pretty(definition: &Definition) -> String {
    let value = definition.exact.then(|| value_of(&definition.text)).flatten();
    let text = value.map_or_else(|| definition.text.to_string(), |value| format!("{value:#}"));
    super::book::escaped(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        gate::{Change, How, Stamp},
        protocol::strict,
    };

    fn definition(text: &str) -> Definition {
        Definition::of(text.as_bytes(), &strict::parse(text.as_bytes()).unwrap().root)
    }

    fn tool(name: &str) -> PinKey {
        (PinKind::Tool, name.to_owned())
    }

    #[test]
    fn what_differs_is_named_field_by_field() {
        let mut pins = Pins::default();
        let mut change = Change::new(How::Approved);
        for name in ["same", "other", "gone", "twice"] {
            let text = r#"{"a":{"b":[1,{"c/d":2}]},"e":1,"f":0}"#;
            change.put.push((tool(name), definition(text)));
        }
        change.put.push(((PinKind::Prompt, "unread".to_owned()), definition("1")));
        pins.apply(&change, &Stamp { at: String::new(), by: String::new(), how: How::Approved });
        let mut shown = Shown::default();
        shown.whole.insert(PinKind::Tool);
        shown.add(tool("same"), definition(r#"{"f":0,"e":1.0,"a":{"b":[1,{"c/d":2}]}}"#));
        shown.add(tool("other"), definition(r#"{"a":{"b":[1,{"c/d":3},4]},"e":1,"g":0}"#));
        shown.add(tool("new"), definition("{}"));
        for text in ["1", "2", "1"] {
            shown.add(tool("twice"), definition(text));
        }
        let found = compare(&pins, &shown);
        let words: Vec<_> = found.iter().map(|one| (one.key.1.as_str(), one.change())).collect();
        assert_eq!(words, [("gone", Field::Removed), ("new", Field::Added), ("other", Field::Changed)]);
        let fields = found[2].fields();
        let fields: Vec<_> = fields.iter().map(|(path, field)| (path.as_str(), field.as_str())).collect();
        assert_eq!(fields, [("/a/b/1/c~1d", "changed"), ("/a/b/2", "added"), ("/f", "removed"), ("/g", "added")]);
        assert_eq!(shown.twice.len(), 1);
    }

    #[test]
    fn nothing_hides_in_what_people_read() {
        assert_eq!(
            pretty(&definition("{\"a\":\"x\u{202e}y\u{e0041}\"}")),
            "{\n  \"a\": \"x\\u202ey\\udb40\\udc41\"\n}"
        );
        assert_eq!(pretty(&definition("{\"a\":1,\"a\":\"\u{200b}\"}")), "{\"a\":1,\"a\":\"\\u200b\"}");
    }
}
