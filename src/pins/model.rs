//! A store as it is written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::book::BookError;
use crate::{
    digest::{Canonical, Fingerprint},
    gate::{Definition, How, Pin, PinKind, Place, Stamp},
    protocol::strict,
};

/// The whole file. The order of members is the order in which they are written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileModel {
    pub(super) schema: String,
    /// Over everything else.
    pub(super) digest: String,
    pub(super) servers: Vec<ServerModel>,
    pub(super) history: Vec<EntryModel>,
}

/// What is kept of one server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerModel {
    pub(super) reach: PlaceModel,
    pub(super) names: Vec<String>,
    pub(super) settled: Vec<String>,
    pub(super) pins: Vec<PinModel>,
}

/// Exactly one of them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub(super) enum PlaceModel {
    Argv(Vec<String>),
    Url(String),
    Memory(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PinModel {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) sha256: String,
    pub(super) at: String,
    pub(super) by: String,
    pub(super) how: String,
    /// The definition, where it has an RFC 8785 form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) definition: Option<Value>,
    /// Its raw text, where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) raw: Option<String>,
}

/// One change, and what it did.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryModel {
    pub(super) at: String,
    pub(super) by: String,
    pub(super) how: String,
    pub(super) reach: PlaceModel,
    pub(super) changes: Vec<TraceModel>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceModel {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

impl From<&Place> for PlaceModel {
    fn from(place: &Place) -> Self {
        match place {
            Place::Argv(argv) => Self::Argv(argv.clone()),
            Place::Url(url) => Self::Url(url.clone()),
            Place::Memory(name) => Self::Memory(name.clone()),
        }
    }
}

impl From<PlaceModel> for Place {
    fn from(place: PlaceModel) -> Self {
        match place {
            PlaceModel::Argv(argv) => Self::Argv(argv),
            PlaceModel::Url(url) => Self::Url(url),
            PlaceModel::Memory(name) => Self::Memory(name),
        }
    }
}

impl PinModel {
    pub(super) fn of(kind: PinKind, name: &str, pin: &Pin) -> Self {
        let definition = &pin.definition;
        let value = definition.exact.then(|| value_of(&definition.text)).flatten();
        Self {
            kind: kind.to_string(),
            name: name.to_owned(),
            sha256: definition.fingerprint.to_string(),
            at: pin.stamp.at.clone(),
            by: pin.stamp.by.clone(),
            how: pin.stamp.how.as_str().to_owned(),
            raw: value.is_none().then(|| definition.text.to_string()),
            definition: value,
        }
    }

    /// The pin, if what it holds has the fingerprint that it says.
    pub(super) fn read(self) -> Result<((PinKind, String), Pin), BookError> {
        let canonical = match (self.definition, self.raw) {
            (Some(value), None) => Canonical::of_value(&value),
            (None, Some(text)) => Some(Canonical { text, exact: false }),
            _ => None,
        };
        let kind = kind(&self.kind)?;
        let definition: Definition = canonical.ok_or(BookError::Shape("a pin has one definition".to_owned()))?.into();
        if definition.fingerprint.to_string() != self.sha256 {
            return Err(BookError::Pin);
        }
        let stamp = Stamp { at: self.at, by: self.by, how: how(&self.how)? };
        Ok(((kind, self.name), Pin { definition, stamp }))
    }
}

/// A JSON text as a value, with every digit.
pub(super) fn value_of(text: &str) -> Option<Value> {
    strict::parse_with(text.as_bytes(), DEPTH).ok()?.root.to_value()
}

/// A definition may be as deep as a message, and the file is deeper by a little.
pub(super) const DEPTH: usize = strict::DEFAULT_DEPTH + 16;

pub(super) fn kind(word: &str) -> Result<PinKind, BookError> {
    PinKind::parse(word).ok_or_else(|| BookError::Shape("a kind of pin is unknown".to_owned()))
}

pub(super) fn how(word: &str) -> Result<How, BookError> {
    let found = How::ALL.into_iter().find(|how| how.as_str() == word);
    found.ok_or_else(|| BookError::Shape("a way of approving is unknown".to_owned()))
}

pub(super) fn fingerprint(text: Option<String>) -> Result<Option<Fingerprint>, BookError> {
    let read = |text: String| Fingerprint::parse(&text).ok_or_else(|| BookError::Shape("a digest is none".to_owned()));
    text.map(read).transpose()
}
