//! `guard audit verify`: whether a log is as it was written.

use std::{fs::File, io::BufReader, path::PathBuf};

use clap::{Args, Subcommand};

use super::super::{exit, screen, trouble::count};
use crate::{
    digest::Fingerprint,
    guard::audit::{Intact, verify},
};

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    #[command(subcommand)]
    verb: AuditVerb,
}

#[derive(Debug, Subcommand)]
enum AuditVerb {
    /// Says whether a log is as it was written, or the first line that is not:
    /// exit code 1.
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
struct VerifyArgs {
    /// The log.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A hash that an earlier look at the log gave, which must still be in it.
    /// Without one, nothing tells that lines were cut off the end.
    #[arg(long, value_name = "HASH")]
    seen: Option<String>,
}

pub(super) fn audit(args: &AuditArgs) -> u8 {
    let AuditVerb::Verify(args) = &args.verb;
    let seen = match args.seen.as_deref().map(|text| (text, Fingerprint::parse(text))) {
        Some((text, None)) => {
            screen::note(&format!("error: --seen {text:?} is no SHA-256 in 64 digits"));
            return exit::USAGE;
        }
        given => given.and_then(|(_, hash)| hash),
    };
    let name = args.file.display();
    match File::open(&args.file).and_then(|file| verify(BufReader::new(file), seen)) {
        Err(error) => {
            screen::note(&format!("error: {name}: {error}"));
            exit::USAGE
        }
        Ok(Err(tampered)) => {
            screen::say(&format!("{name}: {tampered}"));
            exit::FAILED
        }
        Ok(Ok(Intact { seen: false, .. })) => {
            screen::say(&format!("{name}: the lines hang together, and the hash that was seen is not among them"));
            exit::FAILED
        }
        Ok(Ok(Intact { lines, last, open, .. })) => {
            let lines = count(usize::try_from(lines).unwrap_or(usize::MAX), "line");
            screen::say(&format!("{name}: intact, {lines}, last hash {last}"));
            if open > 0 {
                let sessions = count(usize::try_from(open).unwrap_or(usize::MAX), "session");
                screen::note(&format!("{sessions} without an end: still running, killed, or cut off the log"));
            }
            exit::FINE
        }
    }
}
