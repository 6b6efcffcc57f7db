//! Writes the log.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use serde_json::{Map, Value};

use super::{
    super::watch::Asked,
    chain::{self, Link},
    record::{self, Ending, Session},
};
use crate::gate::{Event, Ruling};

/// The longest line in bytes that a log is gone on with.
const LONGEST: u64 = 1 << 20;

/// A log can't be begun or gone on with.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file can't be opened or read.
    #[error("{path}: {error}", path = .0.display(), error = .1)]
    File(PathBuf, io::Error),
    /// Somebody else writes it.
    #[error("{path}: another guard writes it; give each its own", path = .0.display())]
    Busy(PathBuf),
    /// Its last line is not one of a log.
    #[error(
        "{path}: its last line is cut off or altered; look at it with `gateproof guard audit verify`, and move it \
         aside to begin a new one", path = .0.display()
    )]
    Unsound(PathBuf),
}

/// A log that is appended to. Clones write the same one.
#[derive(Clone, Debug)]
pub struct Log(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    file: File,
    last: Link,
    now: fn() -> SystemTime,
    /// A line was not written whole: nothing may follow it.
    failed: bool,
}

impl Log {
    /// Goes on with the log at `path`, or begins it. Times are `now`'s.
    ///
    /// # Errors
    /// Where it can't be written, is somebody else's, or doesn't end in a whole line.
    pub fn open(path: &Path, now: fn() -> SystemTime) -> Result<Self, LogError> {
        let failed = |error| LogError::File(path.to_owned(), error);
        // What tools are used is nobody else's business.
        let options = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
        let mut file = options.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::Busy(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let last = last(&mut file).map_err(failed)?.ok_or_else(|| LogError::Unsound(path.to_owned()))?;
        Ok(Self(Arc::new(Mutex::new(Inner { file, last, now, failed: false }))))
    }

    /// A session begins.
    ///
    /// # Errors
    /// Where the log can't be written.
    pub fn start(&self, session: &Session) -> io::Result<()> {
        self.write(record::start(session))
    }

    /// A session is over.
    ///
    /// # Errors
    /// Where the log can't be written.
    pub fn end(&self, session: &Session, ending: &Ending) -> io::Result<()> {
        self.write(record::end(session, ending))
    }

    /// Something was decided.
    pub(in crate::guard) fn ruling(
        &self,
        session: &Session,
        event: &Event<'_>,
        asked: Option<&Asked>,
        ruling: &Ruling,
    ) -> io::Result<()> {
        self.write(record::ruling(session, event, asked, ruling))
    }

    fn write(&self, record: Map<String, Value>) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.failed {
            return Err(io::Error::other("an earlier line could not be written"));
        }
        let mut timed = Map::new();
        let time = humantime::format_rfc3339_millis((inner.now)()).to_string();
        timed.insert("time".to_owned(), time.into());
        timed.extend(record);
        let (line, link) = chain::seal(inner.last, timed);
        let written = inner.file.write_all(line.as_bytes()).and_then(|()| inner.file.flush());
        inner.failed = written.is_err();
        inner.last = link;
        written
    }
}

/// Where the chain stands; `None` where the file doesn't end in a line of a log.
fn last(file: &mut File) -> io::Result<Option<Link>> {
    let length = file.seek(SeekFrom::End(0))?;
    if length == 0 {
        return Ok(Some(Link::start()));
    }
    let from = length.saturating_sub(LONGEST);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let Some(whole) = tail.strip_suffix(b"\n") else { return Ok(None) };
    let start = whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = std::str::from_utf8(&whole[start..]).ok();
    Ok(line.and_then(chain::read).map(|line| line.own))
}
