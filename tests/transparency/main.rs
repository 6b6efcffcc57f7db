//! Whether `gateproof guard` is there at all for whoever means no harm: the
//! conformance suite of the protocol with and without it, check by check, and the
//! clients of three SDKs, which must see the same with and without it.
//!
//! Opt-in: `bash tests/clients/install.sh` brings what this needs. What isn't
//! installed is reported as untested, out loud. `-- --nocapture` prints the whole
//! table of checks.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "tables, and what is untested, are said out loud")]

mod clients;
mod conformance;
mod peers;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

type Test = (String, Option<String>, Box<dyn FnOnce() -> Result<(), Failed> + Send>);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let tests = conformance::tests(arguments.nocapture).into_iter().chain(clients::tests());
    let trials = tests.map(|(name, missing, test): Test| {
        let name = missing.as_ref().map_or(name.clone(), |missing| format!("{name} (untested: {missing})"));
        if let Some(missing) = missing.as_ref().filter(|_| !arguments.list) {
            eprintln!("untested: {missing}");
        }
        Trial::test(name, test).with_ignored_flag(missing.is_some())
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
