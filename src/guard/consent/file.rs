//! Calls that wait for a consent, in a file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::Wanted;
use crate::{
    digest::{Canonical, Fingerprint},
    protocol::strict,
};

/// The version of this format.
const SCHEMA: &str = "gateproof.approvals/1";

/// How many calls are kept that nobody has answered; the oldest make room.
const WAITING: usize = 64;

/// The longest arguments, in bytes, that are kept to be looked at.
const LONGEST: usize = 64 << 10;

/// How long a consent is good for.
const GOOD_FOR: Duration = Duration::from_secs(15 * 60);

/// The file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalsError {
    /// It can't be read or written.
    #[error("{path}: {error}", path = .0.display(), error = .1)]
    File(PathBuf, io::Error),
    /// It is not what a guard wrote.
    #[error("{path}: it is no file of approvals; move it aside", path = .0.display())]
    Unsound(PathBuf),
    /// No call there has this digest, or several have.
    #[error("{path}: no call there has the digest '{digest}'; list them without one", path = .0.display(), digest = .1)]
    Unknown(PathBuf, String),
    /// They are too long to be looked at.
    #[error("the arguments are longer than {LONGEST} bytes")]
    TooLong,
    /// They are not JSON, or can be read in two ways.
    #[error("the arguments can be read in two ways")]
    Ambiguous,
}

/// A call that was refused for want of a consent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Over server, tool and arguments.
    pub digest: String,
    /// Whose.
    pub server: String,
    /// Which tool.
    pub tool: String,
    /// The arguments as they were written.
    pub arguments: String,
    /// When it was refused last.
    pub asked: String,
    /// When somebody consented, if somebody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
}

impl Call {
    /// Whether its digest is over what it holds.
    fn is_sound(&self) -> bool {
        digest(&self.server, &self.tool, &self.arguments).is_ok_and(|digest| digest.to_string() == self.digest)
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    schema: String,
    calls: Vec<Call>,
}

/// A file of calls. It is replaced whole, under a lock.
#[derive(Clone, Debug)]
pub struct Approvals {
    path: PathBuf,
    now: fn() -> SystemTime,
}

impl Approvals {
    /// The file at `path`, which need not exist yet. Times are `now`'s.
    pub fn new(path: impl Into<PathBuf>, now: fn() -> SystemTime) -> Self {
        Self { path: path.into(), now }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every call that is there.
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn read(&self) -> Result<Vec<Call>, ApprovalsError> {
        let bytes = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|error| self.failed(error))?,
        };
        let model: Option<Model> = serde_json::from_slice(&bytes).ok();
        let model = model.filter(|model| model.schema == SCHEMA && model.calls.iter().all(Call::is_sound));
        model.map(|model| model.calls).ok_or_else(|| ApprovalsError::Unsound(self.path.clone()))
    }

    /// Somebody consents to the one call whose digest begins so, once.
    ///
    /// # Errors
    /// Where there is none, or the file can't be written.
    pub fn give(&self, prefix: &str) -> Result<Call, ApprovalsError> {
        self.change(|calls, now| {
            let mut fitting = calls.iter_mut().filter(|call| !prefix.is_empty() && call.digest.starts_with(prefix));
            match (fitting.next(), fitting.next()) {
                (Some(call), None) => {
                    call.given = Some(now);
                    Ok(call.clone())
                }
                _ => Err(ApprovalsError::Unknown(self.path.clone(), prefix.to_owned())),
            }
        })
    }

    /// A call was refused: it can be consented to under the digest that this gives.
    ///
    /// # Errors
    /// Where it can't be shown, or the file can't be written.
    pub(in crate::guard) fn ask(&self, call: Wanted<'_>) -> Result<Fingerprint, ApprovalsError> {
        if call.arguments.len() > LONGEST {
            return Err(ApprovalsError::TooLong);
        }
        let digest = digest(call.server.as_str(), call.tool, call.arguments)?;
        self.change(|calls, now| {
            calls.retain(|known| known.digest != digest.to_string());
            calls.push(Call {
                digest: digest.to_string(),
                server: call.server.to_string(),
                tool: call.tool.to_owned(),
                arguments: call.arguments.to_owned(),
                asked: now,
                given: None,
            });
            let excess = calls.iter().filter(|call| call.given.is_none()).count().saturating_sub(WAITING);
            for _ in 0..excess {
                if let Some(oldest) = calls.iter().position(|call| call.given.is_none()) {
                    calls.remove(oldest);
                }
            }
            Ok(digest)
        })
    }

    /// Uses up the consent to a call, where there is one that is still good.
    ///
    /// # Errors
    /// Where the file can't be read or written: then nothing was consented to.
    pub(in crate::guard) fn take(&self, call: Wanted<'_>) -> Result<bool, ApprovalsError> {
        let digest = digest(call.server.as_str(), call.tool, call.arguments)?.to_string();
        if !self.read()?.iter().any(|known| known.given.is_some() && known.digest == digest) {
            return Ok(false);
        }
        self.change(|calls, _| {
            let found = calls.iter().position(|known| known.given.is_some() && known.digest == digest);
            let taken = found.map(|index| calls.remove(index));
            Ok(taken.and_then(|call| call.given).is_some_and(|given| self.is_good(&given)))
        })
    }

    fn is_good(&self, given: &str) -> bool {
        let given = humantime::parse_rfc3339(given).ok();
        given.is_some_and(|given| (self.now)().duration_since(given).unwrap_or_default() <= GOOD_FOR)
    }

    fn change<T>(
        &self,
        with: impl FnOnce(&mut Vec<Call>, String) -> Result<T, ApprovalsError>,
    ) -> Result<T, ApprovalsError> {
        let failed = |error| self.failed(error);
        // What the tools are told is nobody else's business.
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut name = self.path.clone().into_os_string();
        name.push(".lock");
        let lock: File = options.open(PathBuf::from(name)).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut calls = self.read()?;
        let value = with(&mut calls, humantime::format_rfc3339_seconds((self.now)()).to_string())?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Made readable to nobody else, as temporary files are.
        let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
        let model = Model { schema: SCHEMA.to_owned(), calls };
        serde_json::to_writer_pretty(&mut file, &model).map_err(|error| failed(error.into()))?;
        file.write_all(b"\n").map_err(failed)?;
        file.persist(&self.path).map_err(|error| failed(error.error))?;
        Ok(value)
    }

    fn failed(&self, error: io::Error) -> ApprovalsError {
        ApprovalsError::File(self.path.clone(), error)
    }
}

/// What a call is known by.
fn digest(server: &str, tool: &str, arguments: &str) -> Result<Fingerprint, ApprovalsError> {
    let document = strict::parse(arguments.as_bytes()).map_err(|_| ApprovalsError::Ambiguous)?;
    if !document.notes.is_empty() {
        return Err(ApprovalsError::Ambiguous);
    }
    let arguments = Canonical::of(arguments.as_bytes(), &document.root).fingerprint();
    let parts = serde_json::json!([server, tool, arguments.to_string()]);
    Ok(Fingerprint::of(parts.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::protocol::ServerName;

    fn approvals() -> (tempfile::TempDir, Approvals) {
        let folder = tempfile::TempDir::new().unwrap();
        let approvals = Approvals::new(folder.path().join("approvals.json"), || SystemTime::UNIX_EPOCH);
        (folder, approvals)
    }

    #[test]
    fn a_consent_is_for_one_call_with_exactly_its_arguments() {
        let (_folder, approvals) = approvals();
        let server = ServerName::new("notes");
        let call = |arguments| Wanted { server: &server, tool: "delete", arguments };
        assert!(!approvals.take(call("{}")).unwrap());
        let digest = approvals.ask(call(r#"{"id":1,"why":"old"}"#)).unwrap().to_string();
        assert!(!approvals.take(call(r#"{"id":1,"why":"old"}"#)).unwrap());
        assert!(matches!(approvals.give(""), Err(ApprovalsError::Unknown(..))));
        assert!(matches!(approvals.give("xyz"), Err(ApprovalsError::Unknown(..))));
        assert_eq!(approvals.give(&digest[..8]).unwrap().tool, "delete");
        for other in [r#"{"id":2,"why":"old"}"#, r#"{"id":1}"#] {
            assert!(!approvals.take(call(other)).unwrap(), "{other}");
        }
        assert!(!approvals.take(Wanted { tool: "purge", ..call(r#"{"id":1,"why":"old"}"#) }).unwrap());
        // Key order says nothing.
        assert!(approvals.take(call(r#"{"why":"old", "id":1}"#)).unwrap());
        assert!(!approvals.take(call(r#"{"why":"old", "id":1}"#)).unwrap());
        assert!(matches!(approvals.ask(call(r#"{"id":1,"id":2}"#)), Err(ApprovalsError::Ambiguous)));
        assert!(matches!(approvals.ask(call(&format!("\"{}\"", "x".repeat(LONGEST)))), Err(ApprovalsError::TooLong)));
    }

    #[test]
    fn a_consent_does_not_last() {
        static NOW: AtomicU64 = AtomicU64::new(0);
        let folder = tempfile::TempDir::new().unwrap();
        let now = || SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.load(Ordering::SeqCst));
        let approvals = Approvals::new(folder.path().join("approvals.json"), now);
        let server = ServerName::new("notes");
        let call = Wanted { server: &server, tool: "delete", arguments: "{}" };
        for (later, good) in [(15 * 60, true), (15 * 60 + 1, false)] {
            let digest = approvals.ask(call).unwrap().to_string();
            approvals.give(&digest).unwrap();
            NOW.fetch_add(later, Ordering::SeqCst);
            assert_eq!(approvals.take(call).unwrap(), good);
            assert!(!approvals.take(call).unwrap());
        }
    }

    #[test]
    fn what_was_altered_is_no_consent() {
        let (_folder, approvals) = approvals();
        let server = ServerName::new("notes");
        let call = |arguments| Wanted { server: &server, tool: "delete", arguments };
        let digest = approvals.ask(call(r#"{"id":1}"#)).unwrap().to_string();
        approvals.give(&digest).unwrap();
        let text = fs::read_to_string(approvals.path()).unwrap();
        fs::write(approvals.path(), text.replace(r#"\"id\":1"#, r#"\"id\":2"#)).unwrap();
        assert!(matches!(approvals.take(call(r#"{"id":1}"#)), Err(ApprovalsError::Unsound(_))));
        fs::remove_file(approvals.path()).unwrap();
        for n in 0..WAITING + 3 {
            let arguments = n.to_string();
            approvals.ask(Wanted { server: &server, tool: "delete", arguments: &arguments }).unwrap();
        }
        let calls = approvals.read().unwrap();
        assert_eq!((calls.len(), calls[0].arguments.as_str()), (WAITING, "3"));
    }
}
