//! `pins`: what is approved of which server, what differs by now, and approving it.

mod approve;
pub(super) mod client;
mod source;
mod words;

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use clap::{Args, Subcommand};

use super::{args::Common, exit, screen, screen::Screen};
use crate::{
    gate::{Owner, StoreError},
    pins::{Book, FileStore, compare},
};

/// Shows, compares and approves the definitions that servers are held to.
#[derive(Debug, Args)]
pub(super) struct PinsArgs {
    #[command(subcommand)]
    verb: PinsVerb,
}

#[derive(Debug, Subcommand)]
enum PinsVerb {
    /// Shows what is approved: kind, name, digest, when, by whom.
    Show(ShowArgs),
    /// Compares what is approved with what a server lists now. Exits 1 where they differ.
    Diff(DiffArgs),
    /// Approves what a server lists now. What differs from an approved definition
    /// is only replaced with `--rebaseline`.
    Approve(approve::ApproveArgs),
}

#[derive(Debug, Args)]
struct ShowArgs {
    #[command(flatten)]
    place: StoreArgs,
    /// Only of the server that was called this.
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Every change too, the oldest first.
    #[arg(long)]
    history: bool,
}

#[derive(Debug, Args)]
struct DiffArgs {
    #[command(flatten)]
    place: StoreArgs,
    #[command(flatten)]
    source: source::SourceArgs,
}

/// Where approvals are kept, and how to say what is in there.
#[derive(Debug, Args)]
struct StoreArgs {
    /// The file that approvals are kept in.
    #[arg(long, value_name = "FILE", default_value = "gateproof-pins.json")]
    store: PathBuf,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

impl StoreArgs {
    fn store(&self, by: &str) -> FileStore {
        FileStore::new(&self.store, by, now)
    }
}

/// The time; `SOURCE_DATE_EPOCH` stands in for it where it is set
/// (reproducible-builds.org), so that a store can be made again byte for byte.
pub(super) fn now() -> SystemTime {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    fixed.map_or_else(SystemTime::now, |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Does what was asked.
pub(super) fn pins(args: &PinsArgs, common: &Common, screen: &Screen) -> u8 {
    let done = match &args.verb {
        PinsVerb::Show(args) => show(args, screen),
        PinsVerb::Diff(args) => diff(args, common, screen),
        PinsVerb::Approve(args) => approve::approve(args, common, screen),
    };
    done.unwrap_or_else(|code| code)
}

fn show(args: &ShowArgs, screen: &Screen) -> Result<u8, u8> {
    let store = args.place.store("");
    let book = store.read().map_err(|error| unusable(&error))?;
    let wanted = |name: &str| args.server.as_deref().is_none_or(|server| server == name);
    let servers: Vec<_> =
        book.servers.iter().filter(|(_, kept)| kept.names.iter().any(|name| wanted(name.as_str()))).collect();
    if args.place.json {
        screen::say(&words::shown_json(&servers, args.history.then_some(&book)));
        return Ok(exit::FINE);
    }
    if servers.is_empty() {
        let of = args.server.as_deref().map(|name| format!(" of a server called '{name}'")).unwrap_or_default();
        screen::note(&format!("{}: nothing{of} is approved", store.path().display()));
        return Ok(exit::NOTHING);
    }
    for (place, kept) in &servers {
        screen::say(&words::shown(place, kept, screen.out));
    }
    if args.history {
        screen::say(&words::history(&book, screen.out));
    }
    Ok(exit::FINE)
}

fn diff(args: &DiffArgs, common: &Common, screen: &Screen) -> Result<u8, u8> {
    let store = args.place.store("");
    let book = store.read().map_err(|error| unusable(&error))?;
    let (owner, shown) = args.source.read(common, screen)?;
    let pins = book.load(&owner).pins;
    let differences = compare(&pins, &shown);
    let same = differences.is_empty() && shown.twice.is_empty() && shown.unnamed == 0 && !elsewhere(&book, &owner);
    if args.place.json {
        screen::say(&words::diff_json(&owner, &differences, &shown, same));
    } else {
        if elsewhere(&book, &owner) {
            screen::say(&words::moved(&book, &owner, screen.out));
        }
        screen::say(&words::diff(&owner, &differences, &shown, screen.out));
    }
    Ok(if same { exit::FINE } else { exit::FAILED })
}

/// Nothing is kept of this place, but something of another under the same name.
fn elsewhere(book: &Book, owner: &Owner) -> bool {
    book.load(owner).moved
}

/// A store that can't be used is a file that somebody must put right.
fn unusable(error: &StoreError) -> u8 {
    screen::note(&format!("error: {error}"));
    exit::USAGE
}
