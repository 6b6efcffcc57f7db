//! `__bridge`: the child process of a stdio trial. People never type it.

use std::collections::BTreeMap;

use clap::Args;

use super::exit;
use crate::transport::bridge::run_bridge;

/// Relays standard input and output to the harness that started this process.
#[derive(Debug, Args)]
pub(super) struct BridgeArgs {
    /// Where the harness listens.
    #[arg(long)]
    to: String,
    /// Which trial this is.
    #[arg(long)]
    token: String,
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
    match runtime.block_on(run_bridge(&args.to, &args.token, argv, env)) {
        Ok(()) => exit::FINE,
        Err(_) => exit::FAILED,
    }
}
