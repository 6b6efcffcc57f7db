//! The file of `--transcripts`: written as trials finish, put in place at the end.

use std::{
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use clap::Args;
use tempfile::NamedTempFile;

use super::{exit, screen};
use crate::{
    plan::Suite,
    runner::{Ended, Played},
    score::Record,
    transcript::{
        Trail,
        saved::{Header, SCHEMA, SavedTranscript, SavedTrial, SavedVerdict},
    },
};

/// Where transcripts go.
#[derive(Debug, Default, Args)]
pub(super) struct TranscriptArgs {
    /// Write what crossed in every trial (but for the ablation's) to this file, for
    /// `gateproof replay`. It holds everything that a gate and a real server said.
    #[arg(long, value_name = "FILE")]
    transcripts: Option<PathBuf>,
}

/// A file that is being written. Dropped without [`keep`], it leaves what was there
/// untouched.
#[derive(Debug)]
pub(super) struct Transcripts {
    path: PathBuf,
    /// The first error ends the writing, and is said at the end.
    out: Mutex<io::Result<BufWriter<NamedTempFile>>>,
}

/// What was seen of a trial that is not judged yet.
#[derive(Debug)]
pub(super) struct Seen {
    transcript: Option<SavedTranscript>,
    trail: Trail,
}

impl Seen {
    /// Looks at what the judge takes with it.
    pub(super) fn of(ended: &Ended) -> Self {
        match ended {
            Ended::Played(Played { transcript, trail, .. }) => {
                Self { transcript: Some(transcript.into()), trail: trail.clone() }
            }
            Ended::NotPlayed(_) => Self { transcript: None, trail: Trail::default() },
        }
    }
}

impl TranscriptArgs {
    /// Opens the file, so that one that can't be written fails before anything is
    /// played.
    ///
    /// # Errors
    /// With what to exit with, once it was said.
    pub(super) fn open(&self, suite: &Suite, trials: usize) -> Result<Option<Transcripts>, u8> {
        let Some(path) = &self.transcripts else { return Ok(None) };
        Transcripts::open(path, suite, trials).map(Some).map_err(|error| wrong(path, &error))
    }

    /// Whether a file is asked for.
    pub(super) fn is_given(&self) -> bool {
        self.transcripts.is_some()
    }
}

impl Transcripts {
    fn open(path: &Path, suite: &Suite, trials: usize) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        // What crossed is for whoever played it: the file stays private, as temporary
        // files are, where reports are not.
        let mut out = BufWriter::new(tempfile::Builder::new().prefix(".gateproof-").tempfile_in(folder)?);
        let header = Header {
            schema: SCHEMA.to_owned(),
            gateproof: env!("CARGO_PKG_VERSION").to_owned(),
            corpus: suite.digest().to_string(),
            gate: suite.outside.as_ref().map(|gate| gate.name.clone()),
            live: suite.live.as_ref().map(|live| live.name.clone()),
            trials,
        };
        out.write_all(&line(&header)?)?;
        Ok(Self { path: path.to_owned(), out: Mutex::new(Ok(out)) })
    }

    /// Adds a trial, from whichever thread played it.
    pub(super) fn write(&self, number: usize, record: &Record, seen: Seen) {
        let trial = line(&SavedTrial {
            trial: number,
            case: record.case.id.to_string(),
            arm: record.arm.to_string(),
            transport: record.transport.to_string(),
            revision: record.revision.to_string(),
            verdict: verdict(record),
            untested: record.untested.clone(),
            transcript: seen.transcript,
            trail: seen.trail,
        });
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(file) = out.as_mut()
            && let Err(error) = trial.and_then(|trial| file.write_all(&trial))
        {
            *out = Err(error);
        }
    }

    fn put(self) -> io::Result<PathBuf> {
        let out = self.out.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(self.path)
    }
}

/// Puts the file in place in one move, if there is one.
///
/// # Errors
/// With what to exit with, once it was said.
pub(super) fn keep(file: Option<Transcripts>, interrupted: bool) -> Result<(), u8> {
    let Some(file) = file else { return Ok(()) };
    if interrupted {
        screen::note("interrupted: no transcripts are written");
        return Ok(());
    }
    let path = file.path.clone();
    let kept = file.put().map_err(|error| wrong(&path, &error))?;
    screen::note(&format!("transcripts: {}", kept.display()));
    Ok(())
}

/// What is said of a trial, as it is saved.
pub(super) fn verdict(record: &Record) -> SavedVerdict {
    SavedVerdict { status: record.status().as_str().to_owned(), outcome: record.outcome().as_str().to_owned() }
}

fn wrong(path: &Path, error: &io::Error) -> u8 {
    screen::note(&format!("error: can't write transcripts: {}: {error}", path.display()));
    exit::USAGE
}

fn line(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
