//! Parses, runs, exits.

use std::process::ExitCode;

fn main() -> ExitCode {
    gateproof::cli::main()
}
