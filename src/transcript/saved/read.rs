//! Reads a file of transcripts, one line at a time, and believes no part of it.

use std::{collections::BTreeSet, io, io::BufRead};

use serde::de::DeserializeOwned;

use super::{Header, SCHEMA, SavedTrial};

/// What is wrong with a file of transcripts.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// It can't be read.
    #[error("line {line}: {error}")]
    Unread {
        /// Which line, from 1.
        line: usize,
        /// Why.
        error: io::Error,
    },
    /// It is no file of transcripts.
    #[error("line 1: this is no file of transcripts (`gateproof run --transcripts FILE` writes one): {0}")]
    Other(String),
    /// It is of another format.
    #[error("line 1: the format is '{0}', this version reads '{SCHEMA}': use the gateproof that wrote it")]
    Schema(String),
    /// A line says something else than it may.
    #[error("line {line} is damaged: {why}")]
    Damaged {
        /// Which line, from 1.
        line: usize,
        /// Why.
        why: String,
    },
    /// It ends too early.
    #[error("line {line}: the file is cut off: it holds {found} of {trials} trials")]
    Cut {
        /// The line that is missing, or not whole; from 1.
        line: usize,
        /// Trials that are there.
        found: usize,
        /// Trials that were played.
        trials: usize,
    },
}

/// Gives each trial with the number of its line, from 1.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    header: Header,
    line: usize,
    seen: BTreeSet<usize>,
    over: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// Where it is not the header of a file of this format.
    pub fn new(mut from: R) -> Result<Self, SavedError> {
        let read = next_line(&mut from).map_err(|error| SavedError::Unread { line: 1, error })?;
        let Read::Line(text) = read else {
            return Err(SavedError::Other("the first line is missing or not whole".to_owned()));
        };
        // The format is looked at first: another one may have other fields.
        let value: serde_json::Value = parse(&text).map_err(SavedError::Other)?;
        match value.get("schema").and_then(serde_json::Value::as_str) {
            Some(SCHEMA) => {}
            Some(schema) if schema.starts_with("gateproof.transcripts/") => {
                return Err(SavedError::Schema(schema.to_owned()));
            }
            _ => return Err(SavedError::Other("it has no 'schema' of one".to_owned())),
        }
        let header = parse(&text).map_err(|why| SavedError::Damaged { line: 1, why })?;
        Ok(Self { from, header, line: 1, seen: BTreeSet::new(), over: false })
    }

    /// What was played.
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn trial(&mut self) -> Result<Option<SavedTrial>, SavedError> {
        self.line += 1;
        let line = self.line;
        let trials = self.header.trials;
        let text = match next_line(&mut self.from).map_err(|error| SavedError::Unread { line, error })? {
            Read::Line(text) => text,
            Read::End if self.seen.len() == trials => return Ok(None),
            // Half a line after the last trial is no end, either.
            Read::End | Read::Half => return Err(SavedError::Cut { line, found: self.seen.len(), trials }),
        };
        let damaged = |why: String| SavedError::Damaged { line, why };
        let trial: SavedTrial = parse(&text).map_err(damaged)?;
        match (&trial.transcript, &trial.untested) {
            (Some(_), None) | (None, Some(_)) => {}
            _ => return Err(damaged("it must have either a transcript or a reason why it was not tested".to_owned())),
        }
        if trial.trial >= trials {
            return Err(damaged(format!("there is no trial {} among {trials}", trial.trial)));
        }
        if !self.seen.insert(trial.trial) {
            return Err(damaged(format!("trial {} is there twice", trial.trial)));
        }
        Ok(Some(trial))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<(usize, SavedTrial), SavedError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.trial().transpose();
        self.over = !matches!(next, Some(Ok(_)));
        next.map(|trial| trial.map(|trial| (self.line, trial)))
    }
}

/// What there is at some place of a file.
enum Read {
    /// A line, without its end.
    Line(Vec<u8>),
    /// A line that doesn't end.
    Half,
    /// Nothing more.
    End,
}

fn next_line(from: &mut impl BufRead) -> io::Result<Read> {
    let mut text = Vec::new();
    from.read_until(b'\n', &mut text)?;
    Ok(match text.pop() {
        None => Read::End,
        Some(b'\n') => Read::Line(text),
        Some(_) => Read::Half,
    })
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    // Each line is read by itself, and would always be the first.
    serde_json::from_slice(text).map_err(|error| error.to_string().replace(" at line 1 column ", " at column "))
}
