//! Failures that somebody answers for, for a while.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    fixture::{Source, SourceError, Step, suggest},
    plan::Suite,
};

/// A day of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    year: u16,
    month: u8,
    date: u8,
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.date)
    }
}

impl FromStr for Day {
    type Err = String;

    /// Reads `2026-12-31`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no day, expected one like 2026-12-31");
        // TOML's own reader knows how long a month is.
        let read: toml::value::Datetime = text.parse().map_err(|_| wrong())?;
        match (read.date, read.time, read.offset) {
            (Some(date), None, None) => Ok(Self { year: date.year, month: date.month, date: date.day }),
            _ => Err(wrong()),
        }
    }
}

/// A file of waivers, as authored.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct File {
    /// The version of this format: 1.
    schema: u32,
    /// The waivers.
    #[serde(default)]
    waivers: Vec<Authored>,
}

/// One waiver, as authored.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Authored {
    /// A case with all its variants, or one variant.
    id: String,
    /// Why it may fail.
    reason: String,
    /// Who answers for it.
    owner: String,
    /// The last day on which it holds, `2026-12-31`.
    expires: String,
}

/// Somebody's word that a must case may fail for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// A case with all its variants (`board.writes.post`), or one of them
    /// (`board.writes.post#when=late`).
    pub id: String,
    /// Why it may fail.
    pub reason: String,
    /// Who answers for it.
    pub owner: String,
    /// The last day on which it holds.
    pub expires: Day,
}

impl Waiver {
    /// Whether it is about this case.
    pub fn covers(&self, id: &str) -> bool {
        id == self.id || id.split_once('#').is_some_and(|(base, _)| base == self.id)
    }
}

/// All waivers of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waivers(pub Vec<Waiver>);

impl Waivers {
    /// Reads a file of waivers for the cases of a corpus.
    ///
    /// # Errors
    /// With the place, where it doesn't fit the model, waives a case that there is
    /// not, gives no reason or owner, or stands twice.
    pub fn read(source: &Source, suite: &Suite) -> Result<Self, SourceError> {
        let file: File = source.parse()?;
        if file.schema != 1 {
            let what = format!("schema {} is unknown, expected 1", file.schema);
            return Err(source.error(&[Step::Key("schema")], what));
        }
        let mut waivers: Vec<Waiver> = Vec::new();
        for (index, waiver) in file.waivers.into_iter().enumerate() {
            let at = |key| [Step::Key("waivers"), Step::Index(index), Step::Key(key)];
            for (key, text) in [("reason", &waiver.reason), ("owner", &waiver.owner)] {
                if text.trim().is_empty() {
                    return Err(source.error(&at(key), format!("a waiver must have its {key}")));
                }
            }
            let expires = waiver.expires.parse().map_err(|what: String| source.error(&at("expires"), what))?;
            if waivers.iter().any(|known| known.id == waiver.id) {
                return Err(source.error(&at("id"), format!("'{}' is waived twice", waiver.id)));
            }
            let waiver = Waiver { id: waiver.id, reason: waiver.reason, owner: waiver.owner, expires };
            if !suite.cases.iter().any(|known| waiver.covers(known.case.id.as_str())) {
                let error = source.error(&at("id"), format!("there is no case '{}'", waiver.id));
                let known = suite.cases.iter().flat_map(|known| [known.case.id.base(), known.case.id.as_str()]);
                return Err(match suggest(&waiver.id, known) {
                    Some(help) => error.with_help(help),
                    None => error.with_help("`gateproof list` shows what there is"),
                });
            }
            waivers.push(waiver);
        }
        Ok(Self(waivers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_days() {
        let day = |text: &str| text.parse::<Day>();
        assert_eq!(day("2026-12-31").unwrap().to_string(), "2026-12-31");
        assert!(day("2026-02-28").unwrap() < day("2026-03-01").unwrap());
        for wrong in ["2026-02-30", "2026-13-01", "31.12.2026", "2026-12-31T00:00:00Z", "", "soon"] {
            assert!(day(wrong).is_err(), "{wrong}");
        }
        assert!(day("2028-02-29").is_ok(), "a leap year");
    }

    #[test]
    fn a_base_id_covers_its_variants_and_no_other_case() {
        let waiver = |id: &str| Waiver {
            id: id.to_owned(),
            reason: "r".into(),
            owner: "o".into(),
            expires: "2026-12-31".parse().unwrap(),
        };
        assert!(waiver("a.b").covers("a.b") && waiver("a.b").covers("a.b#x=1"));
        assert!(!waiver("a.b").covers("a.bc") && !waiver("a.b").covers("a.b.c#x=1"));
        assert!(waiver("a.b#x=1").covers("a.b#x=1") && !waiver("a.b#x=1").covers("a.b#x=10"));
    }
}
