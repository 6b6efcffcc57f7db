//! The server as a child process, with its complaints left where they go.

use std::{
    collections::BTreeMap,
    io,
    os::unix::process::ExitStatusExt as _,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{process::Command, sync::oneshot, time::timeout};

use super::told;
use crate::transport::{Connection, stdio};

/// A server in a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub struct Child {
    process: tokio::process::Child,
    group: Pid,
    ended: Option<ExitStatus>,
    /// Resolves once everything that was accepted for it is written.
    written: oneshot::Receiver<()>,
}

impl Child {
    /// Starts `argv` with exactly `env`; what it writes to standard error goes
    /// where this program's does.
    ///
    /// # Errors
    /// Where it can't be started.
    pub fn spawn(argv: &[String], env: &BTreeMap<String, String>) -> io::Result<(Self, Connection)> {
        let missing = || io::Error::new(io::ErrorKind::InvalidInput, "no program to start");
        let (program, arguments) = argv.split_first().ok_or_else(missing)?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(env).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = command.spawn()?;
        let missing = || io::Error::other("a started process has no pipes");
        let group = process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw).ok_or_else(missing)?;
        let stdin = process.stdin.take().ok_or_else(missing)?;
        let stdout = process.stdout.take().ok_or_else(missing)?;
        let (stdin, written) = told(stdin);
        Ok((Self { process, group, ended: None, written }, stdio::over(stdout, stdin)))
    }

    /// Waits until it has ended by itself, and ends the rest of its group: what
    /// they hold open would keep its output from ending.
    ///
    /// # Errors
    /// Where it can't be waited for.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.ended {
            return Ok(status);
        }
        let status = self.process.wait().await?;
        let _ = kill_process_group(self.group, Signal::KILL);
        self.ended = Some(status);
        Ok(status)
    }

    /// Waits until it has ended, or taken in everything that was accepted for it, at
    /// most so long: what it gets to end in counts from then. Whoever calls this has
    /// closed its standard input.
    pub async fn taken_in(&mut self, patience: Duration) {
        tokio::select! {
            _ = self.process.wait() => {}
            _ = timeout(patience, &mut self.written) => {}
        }
    }

    /// Waits `grace`, asks it to end (TERM), waits, and kills. Whoever calls this
    /// has closed its standard input.
    ///
    /// # Errors
    /// Where it can't be waited for.
    pub async fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        for signal in [Signal::TERM, Signal::KILL] {
            if let Ok(status) = timeout(grace, self.wait()).await {
                return status;
            }
            let _ = kill_process_group(self.group, signal);
        }
        self.wait().await
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // After the leader is gone its number may be somebody else's.
        if self.ended.is_none() {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
    }
}

/// The code that a program exits with in the place of another that ended so;
/// `asked`: it was told to end.
pub(super) fn code(status: ExitStatus, asked: bool) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(1),
        (None, Some(_)) if asked => 0,
        (None, Some(signal)) => u8::try_from(signal + 128).unwrap_or(1),
        (None, None) => 1,
    }
}
