//! The programs on either side of a guard.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use libtest_mimic::Failed;

/// A file under `tests/clients`.
pub(crate) fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(path)
}

/// What to say where a file is not there that `install.sh what` brings.
pub(crate) fn missing(path: &str, what: &str) -> Option<String> {
    (!file(path).exists()).then(|| format!("{what} is not installed; `bash tests/clients/install.sh {what}` does it"))
}

/// What every test here needs.
pub(crate) fn server_missing() -> Option<String> {
    missing("typescript/node_modules", "typescript")
}

/// The command of the server on standard streams.
pub(crate) fn server_command() -> [String; 3] {
    ["node".to_owned(), file("typescript/server.mjs").display().to_string(), "stdio".to_owned()]
}

/// The command of a guard, to which its server is added.
pub(crate) fn guard_command() -> [String; 4] {
    let policy = file("policy.toml").display().to_string();
    [env!("CARGO_BIN_EXE_gateproof"), "guard", "--policy", &policy].map(str::to_owned)
}

/// A process that listens, and ends with this value.
pub(crate) struct Listening {
    pub(crate) url: String,
    process: Child,
}

impl Listening {
    /// The server; `barren` offers nothing.
    pub(crate) fn server(how: &str) -> Result<Self, Failed> {
        let mut command = Command::new("node");
        command.arg(file("typescript/server.mjs")).arg(how).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let said = process.stdout.take();
        Self::heard(process, said)
    }

    /// A guard in front of a URL.
    pub(crate) fn guard(upstream: &str) -> Result<Self, Failed> {
        let [program, words @ ..] = guard_command();
        let mut command = Command::new(program);
        command.args(words).args(["--listen", "127.0.0.1:0", "--upstream", upstream]).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let said = process.stderr.take();
        Self::heard(process, said)
    }

    fn heard(process: Child, said: Option<impl std::io::Read + Send + 'static>) -> Result<Self, Failed> {
        // Ends the process even where it says nothing useful.
        let mut listening = Self { url: String::new(), process };
        let mut said = BufReader::new(said.ok_or("the process has no output")?);
        let mut line = String::new();
        said.read_line(&mut line)?;
        let url = line.trim().strip_prefix("listening on ");
        url.ok_or_else(|| format!("it doesn't listen: {line:?}"))?.clone_into(&mut listening.url);
        // Whoever isn't read may be held up.
        std::thread::spawn(move || said.read_to_end(&mut Vec::new()));
        Ok(listening)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
