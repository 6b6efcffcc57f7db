//! `guard approve`: consents to calls that the guard refused.

use std::{path::PathBuf, time::SystemTime};

use clap::Args;

use super::super::{exit, screen, screen::Screen, trouble::count};
use crate::{
    gate::Definition,
    guard::{Approvals, ApprovalsError, Call},
    pins::{pretty, visible},
    protocol::strict,
    report::style::{Style, Tone},
};

/// Consents to one call that a guard refused, once, with exactly the arguments
/// that are shown. Without a digest, lists the calls that wait.
///
/// A consent is good for 15 minutes. The call has to be made again: nothing waits
/// for a consent in this file.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ApproveArgs {
    /// The file that the guard was given as `--approvals`.
    #[arg(long, value_name = "FILE")]
    approvals: PathBuf,
    /// The digest of the call, or its beginning.
    #[arg(value_name = "DIGEST")]
    digest: Option<String>,
}

const HELP: &str = "\
Examples:
  gateproof guard approve --approvals approvals.json
  gateproof guard approve --approvals approvals.json 3f9a0c21b7d4

Exit codes:
  0   the call is consented to, or the list is printed
  2   there is no such call, or the file can't be used
  4   no call waits";

pub(super) fn approve(args: &ApproveArgs, screen: &Screen) -> u8 {
    let file = Approvals::new(&args.approvals, SystemTime::now);
    let done = match &args.digest {
        Some(digest) => file.give(digest).map(|call| {
            screen::say(&shown(&call, screen.out));
            screen::say("consented to, once; the call has to be made again within 15 minutes");
            exit::FINE
        }),
        None => list(&file, screen),
    };
    done.unwrap_or_else(|error| {
        screen::note(&format!("error: {error}"));
        exit::USAGE
    })
}

fn list(file: &Approvals, screen: &Screen) -> Result<u8, ApprovalsError> {
    let calls = file.read()?;
    let waiting: Vec<_> = calls.iter().filter(|call| call.given.is_none()).collect();
    for call in &waiting {
        screen::say(&shown(call, screen.out));
    }
    if waiting.is_empty() {
        screen::note(&format!("{}: no call waits", file.path().display()));
        return Ok(exit::NOTHING);
    }
    screen::note(&format!("{} waiting; consent to one with its digest", count(waiting.len(), "call")));
    Ok(exit::FINE)
}

fn shown(call: &Call, style: Style) -> String {
    let title = format!("{} {}", visible(&call.server), visible(&call.tool));
    let digest = call.digest.get(..12).unwrap_or(&call.digest);
    format!("{digest}  {}  {}\n{}", style.paint(Tone::Strong, &title), visible(&call.asked), arguments(&call.arguments))
}

/// Arguments as people read them: whole, one member a line, nothing hidden in them.
pub(super) fn arguments(text: &str) -> String {
    let document = strict::parse(text.as_bytes());
    document.map_or_else(|_| visible(text), |document| pretty(&Definition::of(text.as_bytes(), &document.root)))
}
