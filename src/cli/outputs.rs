//! Report files: opened before work starts, put in place only at its end.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::report::{self, Document};

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
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
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
