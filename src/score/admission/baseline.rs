//! An earlier report, to tell what got worse.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::digest::Fingerprint;

/// What an earlier run's document says of its trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// The corpus that it was of.
    pub corpus: String,
    /// The must cases that passed in every trial of the arm that was judged, and
    /// those that did not.
    pub passed: BTreeMap<String, bool>,
}

/// Why a baseline is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// It is no report of gateproof's.
    #[error("it is no report that this gateproof can read: {0}")]
    NoReport(String),
    /// The arm was not played in it.
    #[error("the arm {0} was not played in it")]
    NoArm(String),
}

#[derive(Deserialize)]
struct Document {
    schema: String,
    corpus: Corpus,
    trials: Vec<Trial>,
}

#[derive(Deserialize)]
struct Corpus {
    sha256: String,
}

#[derive(Deserialize)]
struct Trial {
    case: String,
    level: String,
    arm: String,
    status: String,
}

impl Baseline {
    /// Reads what a `report.json` says of an arm.
    ///
    /// # Errors
    /// Where it is no such document, or the arm is not in it.
    pub fn read(text: &str, arm: &str) -> Result<Self, BaselineError> {
        let document: Document =
            serde_json::from_str(text).map_err(|error| BaselineError::NoReport(error.to_string()))?;
        if document.schema != "gateproof.report/1" {
            return Err(BaselineError::NoReport(format!("its schema is {:?}", document.schema)));
        }
        let mut passed = BTreeMap::new();
        for trial in document.trials.into_iter().filter(|trial| trial.arm == arm && trial.level == "must") {
            *passed.entry(trial.case).or_insert(true) &= trial.status == "pass";
        }
        if passed.is_empty() {
            return Err(BaselineError::NoArm(arm.to_owned()));
        }
        Ok(Self { corpus: document.corpus.sha256, passed })
    }

    /// Whether it is of this corpus: only then do the same ids mean the same.
    pub fn is_of(&self, corpus: Fingerprint) -> bool {
        self.corpus == corpus.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_passed_if_every_trial_of_it_did() {
        let text = r#"{"schema":"gateproof.report/1","corpus":{"sha256":"ab"},"more":1,"trials":[
            {"case":"a","level":"must","arm":"guarded","status":"pass"},
            {"case":"a","level":"must","arm":"guarded","status":"fail"},
            {"case":"b","level":"must","arm":"guarded","status":"pass"},
            {"case":"b","level":"must","arm":"naive","status":"fail"},
            {"case":"c","level":"should","arm":"guarded","status":"fail"}]}"#;
        let baseline = Baseline::read(text, "guarded").unwrap();
        assert_eq!(baseline.passed, [("a".to_owned(), false), ("b".to_owned(), true)].into());
        assert_eq!(Baseline::read(text, "outside"), Err(BaselineError::NoArm("outside".to_owned())));
        assert!(matches!(Baseline::read("{}", "guarded"), Err(BaselineError::NoReport(_))));
        assert!(matches!(
            Baseline::read(&text.replace("report/1", "report/9"), "guarded"),
            Err(BaselineError::NoReport(_))
        ));
    }
}
