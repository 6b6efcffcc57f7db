//! Where a gate lives for one trial: a home and a working directory, both new.

use std::path::PathBuf;

use tempfile::TempDir;

/// The folders of one gate; gone when dropped.
#[derive(Debug)]
pub(super) struct Folder {
    root: TempDir,
}

impl Folder {
    /// New folders, with the case's policy beside them.
    pub(super) fn new(policy: &str) -> std::io::Result<Self> {
        let folder = Self { root: tempfile::Builder::new().prefix("gateproof-gate-").tempdir()? };
        std::fs::create_dir(folder.home())?;
        std::fs::create_dir(folder.work())?;
        std::fs::write(folder.policy(), policy)?;
        Ok(folder)
    }

    /// `HOME`.
    pub(super) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The working directory.
    pub(super) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The policy file.
    pub(super) fn policy(&self) -> PathBuf {
        self.root.path().join("policy.toml")
    }

    /// Writes a file of the profile into the working directory.
    pub(super) fn write(&self, name: &str, text: &str) -> std::io::Result<()> {
        let path = self.work().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)
    }
}
