//! `__bridge`: the child process of a stdio trial. People never type it.

use std::{collections::BTreeMap, io::Write as _};

use clap::Args;

use super::exit;
use crate::{case::blown_up, transport::bridge::run_bridge};

/// Relays standard input and output to the harness that started this process.
#[derive(Debug, Args)]
pub(super) struct BridgeArgs {
    /// Where the harness listens.
    #[arg(long)]
    to: String,
    /// Which trial this is.
    #[arg(long)]
    token: String,
    /// What to write on standard error first.
    #[arg(long)]
    stderr: Option<String>,
    /// The words of the server that it stands for.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<String>,
}

/// Runs until either side closes. Nothing slow comes before it: each stdio
/// trial starts such a process.
pub(super) fn run(args: &BridgeArgs) -> u8 {
    let argv: Vec<String> = std::env::args().collect();
    let env: BTreeMap<String, String> = std::env::vars().collect();
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return exit::BUG };
    if let Some(text) = &args.stderr {
        // Whoever doesn't read it holds this process up, as it would any server.
        let _ = std::io::stderr().write_all(blown_up(text).as_bytes());
    }
    match runtime.block_on(run_bridge(&args.to, &args.token, argv, env)) {
        Ok(()) => exit::FINE,
        Err(_) => exit::FAILED,
    }
}
