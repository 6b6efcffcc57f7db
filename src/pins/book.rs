//! A store as a value: read from its text, changed, written as text again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::Value;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

use super::model::{self, EntryModel, FileModel, PinModel, ServerModel, TraceModel};
use crate::{
    digest::Canonical,
    gate::{Change, How, Loaded, Owner, Pins, Place, Stamp, Trace},
    protocol::{ServerName, strict},
};

/// The version of this format.
pub const SCHEMA: &str = "gateproof.pins/1";

/// Everything that is approved, and how that came about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// What is kept of each server, by how it is reached.
    pub servers: BTreeMap<Place, Kept>,
    /// Every change, the oldest first.
    pub history: Vec<Entry>,
}

/// What is kept of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// What it was called.
    pub names: BTreeSet<ServerName>,
    /// What is approved of it.
    pub pins: Pins,
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, by whom and how.
    pub stamp: Stamp,
    /// Of which server.
    pub place: Place,
    /// What it did, pin by pin.
    pub traces: Vec<Trace>,
}

/// Why a text is no store that can be relied on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    /// Nothing stands in it.
    #[error("it is empty")]
    Empty,
    /// Not JSON, as a file that was cut off isn't.
    #[error("it is not JSON (line {line})")]
    NotJson {
        /// Where the text stops making sense, from 1.
        line: usize,
    },
    /// Two readers could read it as different stores.
    #[error("a key stands twice in it, or a number is not exact")]
    Ambiguous,
    /// Of another version.
    #[error("its schema is '{0}', and this version of gateproof reads '{SCHEMA}'")]
    Schema(String),
    /// Of no version at all.
    #[error("it names no schema")]
    NoSchema,
    /// Changed or damaged.
    #[error("it was changed by hand or damaged: its digest does not match")]
    Digest,
    /// A pin was changed on purpose.
    #[error("a pin in it does not hold the definition that its digest says")]
    Pin,
    /// Not what a store looks like.
    #[error("it does not look like a store: {0}")]
    Shape(String),
}

impl Book {
    /// Reads a store.
    ///
    /// # Errors
    /// Where it is anything but a whole and unchanged store of this version.
    pub fn parse(text: &str) -> Result<Self, BookError> {
        if text.trim().is_empty() {
            return Err(BookError::Empty);
        }
        let document = strict::parse_with(text.as_bytes(), model::DEPTH).map_err(|error| BookError::NotJson {
            line: text.get(..error.at).unwrap_or_default().matches('\n').count() + 1,
        })?;
        let value = document.root.to_value().ok_or(BookError::Ambiguous)?;
        match value.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => {}
            Some(other) => return Err(BookError::Schema(visible(&other.chars().take(40).collect::<String>()))),
            None => return Err(BookError::NoSchema),
        }
        if value.get("digest") != Some(&digest(&value)?) {
            return Err(BookError::Digest);
        }
        let file: FileModel = serde_json::from_value(value)
            // Its words would quote what stands there.
            .map_err(|_| BookError::Shape("a member is missing, unknown or of another type".to_owned()))?;
        let mut book = Self::default();
        for server in file.servers {
            let mut kept = Kept::default();
            kept.names.extend(server.names.into_iter().map(ServerName::new));
            for kind in server.settled {
                kept.pins.settled.insert(model::kind(&kind)?);
            }
            for pin in server.pins {
                let (key, pin) = pin.read()?;
                if kept.pins.all.insert(key, pin).is_some() {
                    return Err(BookError::Ambiguous);
                }
            }
            if book.servers.insert(server.reach.into(), kept).is_some() {
                return Err(BookError::Ambiguous);
            }
        }
        book.history = file.history.into_iter().map(entry).collect::<Result<_, _>>()?;
        Ok(book)
    }

    /// Writes the store: sorted, one pin a block, nothing hidden in its text.
    pub fn render(&self) -> String {
        let servers = self.servers.iter().map(|(place, kept)| ServerModel {
            reach: place.into(),
            names: kept.names.iter().map(ToString::to_string).collect(),
            settled: kept.pins.settled.iter().map(ToString::to_string).collect(),
            pins: kept.pins.all.iter().map(|((kind, name), pin)| PinModel::of(*kind, name, pin)).collect(),
        });
        let history = self.history.iter().map(|entry| EntryModel {
            at: entry.stamp.at.clone(),
            by: entry.stamp.by.clone(),
            how: entry.stamp.how.as_str().to_owned(),
            reach: (&entry.place).into(),
            changes: entry.traces.iter().map(trace).collect(),
        });
        let file = FileModel {
            schema: SCHEMA.to_owned(),
            digest: String::new(),
            servers: servers.collect(),
            history: history.collect(),
        };
        // The model has only strings, and values that were read from JSON.
        let mut value = serde_json::to_value(file).unwrap_or_default();
        if let Ok(digest) = digest(&value) {
            value["digest"] = digest;
        }
        let mut text = escaped(&format!("{value:#}"));
        text.push('\n');
        text
    }

    /// What is kept of a server.
    pub fn load(&self, owner: &Owner) -> Loaded {
        match self.servers.get(&owner.place) {
            Some(kept) => Loaded { pins: kept.pins.clone(), moved: false },
            None => Loaded { pins: Pins::default(), moved: self.elsewhere(owner).next().is_some() },
        }
    }

    /// Other places that went by a server's name.
    pub fn elsewhere(&self, owner: &Owner) -> impl Iterator<Item = &Place> {
        let named =
            self.servers.iter().filter(|(place, kept)| **place != owner.place && kept.names.contains(&owner.name));
        named.map(|(place, _)| place)
    }

    /// Makes a change and keeps a trace of it. Gives whether anything changed.
    pub fn save(&mut self, owner: &Owner, change: &Change, stamp: Stamp) -> bool {
        let before = self.servers.get(&owner.place).cloned();
        let kept = self.servers.entry(owner.place.clone()).or_default();
        kept.names.insert(owner.name.clone());
        let traces = kept.pins.apply(change, &stamp);
        let changed = before.as_ref() != Some(kept);
        if !traces.is_empty() {
            self.history.push(Entry { stamp, place: owner.place.clone(), traces });
        }
        changed
    }

    /// Notes that the store was begun anew because the old one could not be used.
    pub fn begun_anew(&mut self, owner: &Owner, at: String, by: String) {
        let stamp = Stamp { at, by, how: How::Rebaselined };
        self.history.push(Entry { stamp, place: owner.place.clone(), traces: Vec::new() });
    }
}

/// The digest of everything but the digest.
fn digest(value: &Value) -> Result<Value, BookError> {
    let shape = || BookError::Shape("it is no object".to_owned());
    let mut rest = value.as_object().ok_or_else(shape)?.clone();
    rest.remove("digest");
    let canonical = Canonical::of_value(&Value::Object(rest)).ok_or_else(shape)?;
    Ok(format!("sha256:{}", canonical.fingerprint()).into())
}

fn trace(trace: &Trace) -> TraceModel {
    let (kind, name) = &trace.key;
    let text = |digest: Option<crate::digest::Fingerprint>| digest.map(|digest| digest.to_string());
    TraceModel { kind: kind.to_string(), name: name.clone(), old: text(trace.old), new: text(trace.new) }
}

fn entry(entry: EntryModel) -> Result<Entry, BookError> {
    let read = |trace: TraceModel| {
        let key = (model::kind(&trace.kind)?, trace.name);
        Ok(Trace { key, old: model::fingerprint(trace.old)?, new: model::fingerprint(trace.new)? })
    };
    let stamp = Stamp { at: entry.at, by: entry.by, how: model::how(&entry.how)? };
    let traces = entry.changes.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok(Entry { stamp, place: entry.reach.into(), traces })
}

/// JSON text with everything escaped that a reader would not see, or would see
/// in another order. Outside of strings, JSON has no such characters.
pub fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\u{7f}' || (!c.is_ascii() && is_hidden(c)) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// A text on one line with nothing hidden in it.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Whether a character is not seen where it stands: control and format
/// characters, separators, private ones, and marks that join what is before them.
fn is_hidden(c: char) -> bool {
    let invisible = ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}', '\u{2800}'];
    c != ' '
        && (invisible.contains(&c)
            || ('\u{fe00}'..='\u{fe0f}').contains(&c)
            || ('\u{e0100}'..='\u{e01ef}').contains(&c)
            || matches!(c.general_category_group(), GeneralCategoryGroup::Other | GeneralCategoryGroup::Separator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Definition, PinKind};

    fn owner(words: &[&str]) -> Owner {
        let place = Place::Argv(words.iter().map(|word| (*word).to_owned()).collect());
        Owner { place, name: "desk".into() }
    }

    fn definition(text: &str) -> Definition {
        Definition::of(text.as_bytes(), &strict::parse(text.as_bytes()).unwrap().root)
    }

    fn stamp(how: How) -> Stamp {
        Stamp { at: "2026-11-30T10:00:00Z".to_owned(), by: "an operator".to_owned(), how }
    }

    fn book(texts: &[&str]) -> Book {
        let mut book = Book::default();
        let mut change = Change::new(How::Approved);
        for (index, text) in texts.iter().enumerate() {
            change.put.push(((PinKind::Tool, format!("t{index}")), definition(text)));
        }
        change.settle.insert(PinKind::Tool);
        book.save(&owner(&["desk"]), &change, stamp(How::Approved));
        book
    }

    #[test]
    fn what_is_written_is_read() {
        let deep = format!("{}{}", "[".repeat(512), "]".repeat(512));
        let book = book(&[
            r#"{"name":"a","x":[1.50,1e30,-0,0.000001,9007199254740992,123456789.12345678]}"#,
            r#"{"big":9007199254740993}"#,
            r#"{"twice":1,"twice":2}"#,
            &deep,
            "{\"hidden\":\"a\u{200b}\u{202e}b\u{e0041}\\u0007\\u0000é😀\"}",
        ]);
        let text = book.render();
        assert_eq!(Book::parse(&text).unwrap(), book);
        assert!(text.contains(r"a\u200b\u202eb\udb40\udc41\u0007\u0000é😀"), "{text}");
        assert_eq!(Book::parse(&text).unwrap().render(), text);
    }

    #[test]
    fn nothing_else_is_read() {
        let text = book(&[r#"{"name":"a"}"#]).render();
        let wrong = |text: &str| Book::parse(text).unwrap_err();
        assert_eq!(wrong(""), BookError::Empty);
        assert_eq!(wrong(" \n"), BookError::Empty);
        for end in 1..text.len() - 2 {
            assert!(matches!(wrong(&text[..end]), BookError::NotJson { .. }), "cut off after {end} bytes");
        }
        assert_eq!(wrong("[]"), BookError::NoSchema);
        assert_eq!(wrong(&text.replace("pins/1", "pins/0")), BookError::Schema("gateproof.pins/0".to_owned()));
        assert_eq!(wrong(&text.replace("\"a\"", "\"b\"")), BookError::Digest);
        assert_eq!(wrong(&text.replace("an operator", "another one")), BookError::Digest);
        assert_eq!(wrong(&text.replace("\"digest\"", "\"digests\"")), BookError::Digest);
        assert_eq!(wrong(&text.replacen("\"history\"", "\"history\": [],\n\"history\"", 1)), BookError::Ambiguous);
        let respaced = text.replace('\n', "\r\n");
        assert!(Book::parse(&respaced).is_ok(), "white space is no change");
    }

    /// The text with another value in it and a digest that fits.
    fn forged(text: &str, pointer: &str, value: Value) -> String {
        let mut tree: Value = serde_json::from_str(text).unwrap();
        *tree.pointer_mut(pointer).unwrap() = value;
        let sum = digest(&tree).unwrap();
        tree["digest"] = sum;
        tree.to_string()
    }

    #[test]
    fn a_fitting_digest_makes_no_store_of_anything() {
        let text = book(&[r#"{"name":"a"}"#]).render();
        let wrong = |pointer: &str, value: Value| Book::parse(&forged(&text, pointer, value)).unwrap_err();
        assert_eq!(wrong("/servers/0/pins/0/definition", serde_json::json!({"name": "b"})), BookError::Pin);
        for (pointer, value) in [
            ("/servers/0/pins/0/kind", "tools".into()),
            ("/servers/0/pins/0/how", "by magic".into()),
            ("/servers/0/settled/0", "tools".into()),
            ("/servers/0/reach", serde_json::json!({"argv": "desk"})),
            ("/servers/0/reach", serde_json::json!({"argv": ["desk"], "url": "http://desk.example/"})),
            ("/history/0/changes/0/new", "abc".into()),
            ("/servers", Value::Null),
        ] {
            assert!(matches!(wrong(pointer, value), BookError::Shape(_)), "{pointer}");
        }
    }

    #[test]
    fn every_change_leaves_a_trace_and_no_change_leaves_none() {
        let mut book = book(&["1", "2"]);
        let mut change = Change::new(How::Rebaselined);
        change.put.push(((PinKind::Tool, "t0".to_owned()), definition("3")));
        change.take.push((PinKind::Tool, "t1".to_owned()));
        assert!(book.save(&owner(&["desk"]), &change, stamp(How::Rebaselined)));
        assert_eq!(book.history.len(), 2);
        let [replaced, removed] = &book.history[1].traces[..] else { panic!() };
        assert_eq!(
            (replaced.old, replaced.new),
            (Some(definition("1").fingerprint), Some(definition("3").fingerprint))
        );
        assert_eq!((removed.old, removed.new), (Some(definition("2").fingerprint), None));
        assert!(!book.save(&owner(&["desk"]), &change, stamp(How::Rebaselined)));
        assert_eq!(book.history.len(), 2);
    }

    #[test]
    fn a_name_under_another_place_is_remembered() {
        let book = book(&["1"]);
        assert!(!book.load(&owner(&["desk"])).moved);
        assert!(book.load(&owner(&["desk", ""])).moved);
        assert!(!book.load(&Owner { name: "other".into(), ..owner(&["desk", "2"]) }).moved);
        let renamed = Owner { name: "other".into(), ..owner(&["desk"]) };
        assert_eq!(book.load(&renamed).pins.all.len(), 1);
    }
}
