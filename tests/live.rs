//! The overlay cases on the live servers that are installed. Those that are not
//! are reported as untested, out loud, and never as passed: `gateproof live
//! install` installs them.

#![expect(clippy::print_stderr, reason = "what is untested is said out loud")]

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use gateproof::plan::{Live, Suite};
use libtest_mimic::{Arguments, Failed, Trial as Test};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let suite = match Suite::load(root) {
        Ok(suite) => suite,
        Err(error) => {
            eprintln!("the corpus can't be loaded: {error}; `gateproof lint` shows where");
            return ExitCode::FAILURE;
        }
    };
    let mut tests = vec![Test::test("what is not installed is untested", untested)];
    for (name, manifest) in &suite.corpus.live {
        let live = Live::new(name, manifest.clone(), &root.join(".live"), |_| None);
        let title = match &live.missing {
            None => format!("live::{name}"),
            Some(missing) => {
                if !arguments.list {
                    eprintln!("untested: {missing}");
                }
                format!("live::{name} (untested: {missing})")
            }
        };
        let ignored = live.missing.is_some();
        let name = name.clone();
        tests.push(Test::test(title, move || play(&name)).with_ignored_flag(ignored));
    }
    libtest_mimic::run(&arguments, tests).exit_code()
}

/// Plays every overlay case on one server, through the program as people use it.
fn play(name: &str) -> Result<(), Failed> {
    let output = gateproof(Path::new(env!("CARGO_MANIFEST_DIR")), &["run", "--live", name, "--transport", "memory"])?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}\n{said}", output.status).into())
}

/// A corpus without an installation: every trial is untested with the reason,
/// and the exit code is not success.
fn untested() -> Result<(), Failed> {
    let corpus = tempfile::tempdir()?;
    for folder in ["cases", "fixtures"] {
        std::os::unix::fs::symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), corpus.path().join(folder))?;
    }
    let output = gateproof(corpus.path(), &["run", "--live", "everything", "--json"])?;
    let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let trials = document["trials"].as_array().ok_or("no trials")?;
    let reason = "server-everything is not installed: run `gateproof live install everything`";
    let is_untested =
        |trial: &serde_json::Value| trial["status"] == "untested" && trial["reasons"] == serde_json::json!([reason]);
    if output.status.code() != Some(3) || trials.is_empty() || !trials.iter().all(is_untested) {
        return Err(format!("{}: {:?}", output.status, trials.first()).into());
    }
    if document["live"]["name"] != "everything" {
        return Err(format!("{}", document["live"]).into());
    }
    let output = gateproof(corpus.path(), &["run", "--live", "everythin"])?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(2) || !said.contains("did you mean 'everything'?") {
        return Err(format!("{}: {said}", output.status).into());
    }
    Ok(())
}

fn gateproof(corpus: &Path, words: &[&str]) -> std::io::Result<std::process::Output> {
    let corpus = corpus.to_string_lossy().into_owned();
    Command::new(env!("CARGO_BIN_EXE_gateproof"))
        .args(["--corpus", &corpus, "--color", "never"])
        .args(words)
        .arg("--no-reports")
        .output()
}
