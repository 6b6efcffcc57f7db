//! What a verb prints, and report files: opened before work starts, put in place
//! only at its end.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use tempfile::NamedTempFile;

use super::{exit, screen};
use crate::report::{self, Document, style::Style};

/// What is printed.
#[derive(Debug, Args)]
pub(super) struct PrintArgs {
    /// What is printed.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Terminal)]
    format: Format,
    /// The same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl PrintArgs {
    /// What was asked for, in either way.
    pub(super) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// How a document is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Tables.
    Terminal,
    /// The report document.
    Json,
    /// The scorecard.
    Markdown,
}

impl Format {
    /// The document in it; `style` is how a terminal may look.
    pub(super) fn render(self, document: &Document, style: Style) -> String {
        match self {
            Self::Terminal => report::terminal::render(document, style),
            Self::Json => report::json::render(document),
            Self::Markdown => report::markdown::render(document),
        }
    }
}

/// Which reports are written, and where.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Where `report.json` and `scorecard.md` go; `reports/latest` unless given (of
    /// `qualify` `reports/qualify`), with `--live` `reports/live-<NAME>`, with a gate
    /// of somebody else's `reports/gate-<NAME>`.
    #[arg(long, value_name = "DIR")]
    pub(super) reports: Option<PathBuf>,
    /// Write no reports.
    #[arg(long, conflicts_with = "reports")]
    no_reports: bool,
}

impl ReportArgs {
    /// Opens the reports in this folder, if any are written.
    ///
    /// # Errors
    /// With what to exit with, once it was said.
    pub(super) fn open(&self, folder: &Path) -> Result<Option<Outputs>, u8> {
        if self.no_reports {
            return Ok(None);
        }
        Outputs::open(folder).map(Some).map_err(|error| {
            screen::note(&format!("error: can't write reports to {}: {error}", folder.display()));
            exit::USAGE
        })
    }
}

/// The files of a run. Dropped without [`Outputs::keep`], they leave what was
/// there untouched.
#[derive(Debug)]
pub(super) struct Outputs {
    folder: PathBuf,
    files: Vec<(&'static str, NamedTempFile)>,
}

impl Outputs {
    /// Makes the folder and opens the files, so that a folder that can't be
    /// written fails before anything is played.
    fn open(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let files = ["report.json", "scorecard.md"].map(|name| Ok((name, open(folder)?)));
        Ok(Self { folder: folder.to_owned(), files: files.into_iter().collect::<io::Result<_>>()? })
    }

    /// Writes everything, then puts each file in place in one move.
    pub(super) fn keep(mut self, document: &Document) -> io::Result<PathBuf> {
        for (name, file) in &mut self.files {
            file.write_all(render(name, document).as_bytes())?;
            file.as_file().sync_all()?;
        }
        for (name, file) in self.files {
            file.persist(self.folder.join(name)).map_err(|error| error.error)?;
        }
        Ok(self.folder)
    }
}

/// A report file's content.
pub(super) fn render(name: &str, document: &Document) -> String {
    if name == "report.json" { report::json::render(document) } else { report::markdown::render(document) }
}

fn open(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".gateproof-");
    // A temporary file is private by default; a report is not.
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(permissions);
    builder.tempfile_in(folder)
}
