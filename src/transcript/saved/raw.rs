//! Values that have no JSON form of their own.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// Bytes as they crossed: a string where they are UTF-8, else base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Spelled", into = "Spelled")]
pub(super) struct Raw(pub(super) Bytes);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelled {
    Text(String),
    Bytes { base64: String },
}

impl From<Raw> for Spelled {
    fn from(Raw(bytes): Raw) -> Self {
        match std::str::from_utf8(&bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes { base64: STANDARD.encode(&bytes) },
        }
    }
}

impl TryFrom<Spelled> for Raw {
    type Error = base64::DecodeError;

    fn try_from(spelled: Spelled) -> Result<Self, Self::Error> {
        match spelled {
            Spelled::Text(text) => Ok(Self(text.into())),
            Spelled::Bytes { base64 } => Ok(Self(STANDARD.decode(base64)?.into())),
        }
    }
}

/// What HTTP requests are sent with.
const VERBS: [&str; 3] = ["POST", "GET", "DELETE"];

/// One of [`VERBS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Verb(pub(super) &'static str);

impl<'de> Deserialize<'de> for Verb {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let known = VERBS.into_iter().find(|verb| *verb == text);
        known.map(Self).ok_or_else(|| D::Error::custom(format!("unknown verb '{text}', expected {}", VERBS.join(", "))))
    }
}
