//! The programs that are measured.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

/// Every check is on; what bounds a session is out of the way of a loop.
const POLICY: &str = r#"schema = 1
title = "A session without an end"

[servers.shelf]
allow = ["find", "echo", "slow", "climb", "die"]

[servers.shelf.budget]
calls = 1_000_000_000
identical = 1_000_000_000
in_a_row = 1_000_000_000
"#;

/// The server over HTTP.
pub(crate) struct Server {
    pub(crate) address: String,
    process: Child,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::spawn(&["serve", "http"])
    }

    /// The one of the mixed load, on this port (0: a free one).
    pub(crate) fn noisy(port: &str) -> Self {
        Self::spawn(&["serve", "noisy-http", port])
    }

    /// Kills it and starts it again where it was.
    pub(crate) fn restart(&mut self) {
        end(&mut self.process);
        let port = self.address.rsplit(':').next().unwrap_or_default().to_owned();
        *self = Self::noisy(&port);
    }

    fn spawn(words: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let mut process = command.args(words).stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut address = String::new();
        let stdout = process.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut address).expect("its address");
        Self { address: address.trim().to_owned(), process }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

/// A guard that listens.
pub(crate) struct Guard {
    pub(crate) address: String,
    process: Child,
    _folder: TempDir,
}

impl Guard {
    pub(crate) fn before(server: &str, audited: bool) -> Self {
        let (mut command, folder) = guard(audited);
        command.args(["--listen", "127.0.0.1:0", "--upstream", &format!("http://{server}/mcp")]);
        let mut process = command.stderr(Stdio::piped()).spawn().expect("the guard starts");
        let mut line = String::new();
        let mut stderr = BufReader::new(process.stderr.take().expect("its complaints"));
        stderr.read_line(&mut line).expect("its address");
        let address = line.trim().strip_prefix("listening on http://").and_then(|url| url.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("the guard doesn't listen: {line}")).to_owned();
        Self { address, process, _folder: folder }
    }

    /// The memory that it holds, in bytes.
    pub(crate) fn resident(&self) -> usize {
        resident(&self.process)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

/// The command of a guard, without its server, and the folder of its files.
pub(crate) fn guard(audited: bool) -> (Command, TempDir) {
    let folder = TempDir::new().expect("a folder");
    let file = |name: &str| -> PathBuf { folder.path().join(name) };
    std::fs::write(file("policy.toml"), POLICY).expect("the policy is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
    command.arg("guard").arg("--policy").arg(file("policy.toml"));
    if audited {
        command.arg("--audit").arg(file("log.jsonl"));
    }
    (command, folder)
}

/// The memory that a process holds, in bytes.
pub(crate) fn resident(process: &Child) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
}

pub(crate) fn end(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}
