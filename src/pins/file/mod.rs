//! A store in a file, replaced whole and in one move.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use tempfile::NamedTempFile;

use super::{Book, BookError, text::NEXT};
use crate::gate::{Change, How, Loaded, Owner, PinStore, Stamp, StoreError};

/// How long another process may hold the lock.
const PATIENCE: Duration = Duration::from_secs(5);

/// What stands in the lock file once there is a store beside it.
const MARK: &[u8] = b"the store beside this file is in use\n";

/// What the name of a file ends in that is to become the store.
const TEMPORARY: &str = ".tmp";

/// The steps of a change, in their order. A crash between any two leaves the
/// old store or the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nobody else may change the store now.
    Lock,
    /// What is kept was read.
    Read,
    /// The new store's file was made, beside the old one.
    Create,
    /// Everything was written into it.
    Write,
    /// It is on disk.
    SyncFile,
    /// It is about to take the old one's place.
    Rename,
    /// That it did is on disk.
    SyncFolder,
}

/// Keeps pins in a file.
#[derive(Clone, Debug)]
pub struct FileStore {
    path: PathBuf,
    by: String,
    now: fn() -> SystemTime,
    /// Asked after each step; an error stops there. For tests.
    at: fn(Step) -> io::Result<()>,
}

impl FileStore {
    /// The store at `path`, which need not exist yet. What it keeps is stamped
    /// with `now` and with `by`, the name of whoever approves.
    pub fn new(path: impl Into<PathBuf>, by: impl Into<String>, now: fn() -> SystemTime) -> Self {
        Self { path: path.into(), by: by.into(), now, at: |_| Ok(()) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything that is kept; nothing, where there has never been a store.
    ///
    /// # Errors
    /// Where there is a store that can't be read or relied on.
    pub fn read(&self) -> Result<Book, StoreError> {
        match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_symlink() => {
                return Err(self.error("it is a symbolic link", "name the file that it points to"));
            }
            Ok(found) if found.is_dir() => return Err(self.error("it is a folder", "name a file in it")),
            Ok(found) if !found.is_file() => return Err(self.error("it is no regular file", "name another one")),
            Ok(_) => {}
            // A store that is gone must not come back as an empty one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return if self.was_there() {
                    let next = format!("{NEXT}; to begin with nothing, remove {} too", self.beside(".lock").display());
                    Err(self.error("it is gone", &next))
                } else {
                    Ok(Book::default())
                };
            }
            Err(error) => return Err(self.failed("it can't be read", &error)),
        }
        let bytes = fs::read(&self.path).map_err(|error| self.failed("it can't be read", &error))?;
        let text = String::from_utf8(bytes).map_err(|_| self.error("it is not UTF-8", NEXT))?;
        Book::parse(&text).map_err(|error| {
            let newer = matches!(&error, BookError::Schema(schema) if is_newer(schema));
            let next = if newer { "use the version of gateproof that wrote it" } else { NEXT };
            self.error(&error.to_string(), next)
        })
    }

    /// Changes what is kept, whatever it is: read, changed and written under one
    /// lock, so that of two who change it at once neither loses anything.
    ///
    /// # Errors
    /// Where it can't be read, relied on or written. Then nothing has changed.
    pub fn change<T>(&self, with: impl FnOnce(&mut Book) -> (bool, T)) -> Result<T, StoreError> {
        let mut lock = self.lock()?;
        self.after(Step::Lock)?;
        let mut book = self.read()?;
        self.after(Step::Read)?;
        let (changed, value) = with(&mut book);
        if changed {
            self.put(&mut lock, &book)?;
        }
        Ok(value)
    }

    /// Begins with nothing in the place of a store that can't be used, which is
    /// kept under another name. Gives that name, where there was a store.
    ///
    /// # Errors
    /// Where the place itself can't be used.
    pub fn begin_anew(&self, owner: &Owner) -> Result<Option<PathBuf>, StoreError> {
        let mut lock = self.lock()?;
        let mut kept = None;
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.is_file()) {
            let aside = (1..1000).map(|n| self.beside(&format!(".unusable-{n}"))).find(|path| !path.exists());
            if let Some(aside) = aside {
                // A copy: until the new one takes its place, the old one stays.
                fs::copy(&self.path, &aside).map_err(|error| self.failed("it can't be kept aside", &error))?;
                kept = Some(aside);
            }
        } else if self.path.exists() || fs::symlink_metadata(&self.path).is_ok() {
            return Err(self.error("it is no regular file", "name another one"));
        }
        let mut book = Book::default();
        book.begun_anew(owner, self.time(), self.by.clone());
        self.put(&mut lock, &book)?;
        Ok(kept)
    }

    /// When and by whom something is approved now.
    pub fn stamp(&self, how: How) -> Stamp {
        let by = if how == How::FirstUse { String::new() } else { self.by.clone() };
        Stamp { at: self.time(), by, how }
    }

    fn time(&self) -> String {
        humantime::format_rfc3339_seconds((self.now)()).to_string()
    }

    /// Puts a store in place for good.
    fn put(&self, lock: &mut File, book: &Book) -> Result<(), StoreError> {
        let failed = |error: io::Error| self.failed("it can't be written", &error);
        let folder = self.folder();
        self.sweep(folder);
        let mut builder = tempfile::Builder::new();
        let prefix = self.temporary();
        builder.prefix(&prefix).suffix(TEMPORARY);
        #[cfg(unix)]
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        #[cfg(unix)]
        builder.permissions(mode);
        let mut file: NamedTempFile = builder.tempfile_in(folder).map_err(failed)?;
        if let Ok(before) = fs::metadata(&self.path) {
            file.as_file().set_permissions(before.permissions()).map_err(failed)?;
        }
        self.after(Step::Create)?;
        file.write_all(book.render().as_bytes()).map_err(failed)?;
        self.after(Step::Write)?;
        file.as_file().sync_all().map_err(failed)?;
        self.after(Step::SyncFile)?;
        self.after(Step::Rename)?;
        file.persist(&self.path).map_err(|error| failed(error.error))?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        self.after(Step::SyncFolder)?;
        mark(lock).map_err(failed)
    }

    /// Takes away what a crash left behind. Whoever holds the lock is alone.
    fn sweep(&self, folder: &Path) {
        let prefix = self.temporary();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.starts_with(&prefix) && name.ends_with(TEMPORARY)) {
                // One that can't be removed is in nobody's way.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn lock(&self) -> Result<File, StoreError> {
        let path = self.beside(".lock");
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| self.failed("it can't be locked", &error))?;
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(self.error("another process holds its lock", "try again once that one is done"));
                }
                Err(TryLockError::Error(error)) => return Err(self.failed("it can't be locked", &error)),
            }
        }
    }

    /// Whether there was a store here once.
    fn was_there(&self) -> bool {
        fs::read(self.beside(".lock")).is_ok_and(|mark| mark == MARK)
    }

    fn after(&self, step: Step) -> Result<(), StoreError> {
        (self.at)(step).map_err(|error| self.failed("it can't be written", &error))
    }

    fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(suffix);
        self.path.with_file_name(name)
    }

    fn temporary(&self) -> String {
        format!(".{}.", self.path.file_name().unwrap_or_default().to_string_lossy())
    }

    fn error(&self, what: &str, next: &str) -> StoreError {
        StoreError { what: what.to_owned(), place: self.path.display().to_string(), next: next.to_owned() }
    }

    fn failed(&self, what: &str, error: &io::Error) -> StoreError {
        self.error(what, &format!("the system says: {error}"))
    }
}

impl PinStore for FileStore {
    fn load(&self, owner: &Owner) -> Result<Loaded, StoreError> {
        Ok(self.read()?.load(owner))
    }

    fn save(&self, owner: &Owner, change: &Change) -> Result<Loaded, StoreError> {
        let stamp = self.stamp(change.how);
        self.change(|book| (book.save(owner, change, stamp), book.load(owner)))
    }
}

/// Notes that there is a store, once.
fn mark(lock: &mut File) -> io::Result<()> {
    let mut found = Vec::new();
    lock.rewind()?;
    lock.read_to_end(&mut found)?;
    if found == MARK {
        return Ok(());
    }
    lock.rewind()?;
    lock.set_len(0)?;
    lock.write_all(MARK)?;
    lock.sync_all()
}

fn is_newer(schema: &str) -> bool {
    let version = |schema: &str| schema.strip_prefix("gateproof.pins/").and_then(|text| text.parse::<u32>().ok());
    version(schema).is_some_and(|found| Some(found) > version(super::SCHEMA))
}

#[cfg(test)]
mod tests;
