//! `live`: the real servers that overlay cases can be played on.

use std::{collections::BTreeMap, path::PathBuf, process::Command};

use clap::{Args, Subcommand};

use super::{args::Common, exit, screen, screen::Screen, trouble};
use crate::{
    fixture::{LiveManifest, suggest},
    plan::{Live, Suite, in_folder},
    report::style::Tone,
};

/// Where live servers are installed, under the corpus.
const FOLDER: &str = ".live";

/// Installs and lists the live servers under `fixtures/live`.
#[derive(Debug, Args)]
pub(super) struct LiveArgs {
    #[command(subcommand)]
    verb: LiveVerb,
}

#[derive(Debug, Subcommand)]
enum LiveVerb {
    /// Installs them at their pinned versions into `.live/`; prints each command first.
    Install {
        /// Which; all unless given.
        names: Vec<String>,
    },
    /// Lists them, and whether each is installed.
    List,
}

/// Does what was asked.
pub(super) fn live(args: &LiveArgs, common: &Common, screen: &Screen) -> u8 {
    let suite = match trouble::load(&common.corpus, screen) {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    match &args.verb {
        LiveVerb::List => list(&suite, common, screen),
        LiveVerb::Install { names } => install(names, &suite, common),
    }
}

/// A live server by its name, or what to say instead.
pub(super) fn find(name: &str, suite: &Suite, common: &Common) -> Result<Live, String> {
    let manifest = manifest(name, &suite.corpus.live)?;
    let folder = std::path::absolute(common.corpus.join(FOLDER)).map_err(|error| format!("{FOLDER}: {error}"))?;
    Ok(Live::new(name, manifest.clone(), &folder, |key| std::env::var(key).ok()))
}

fn manifest<'a>(name: &str, known: &'a BTreeMap<String, LiveManifest>) -> Result<&'a LiveManifest, String> {
    known.get(name).ok_or_else(|| {
        let names: Vec<_> = known.keys().map(String::as_str).collect();
        let hint = suggest(name, names.iter().copied()).unwrap_or_else(|| match names.as_slice() {
            [] => "there are no manifests under fixtures/live".to_owned(),
            names => format!("there are {}", names.join(", ")),
        });
        format!("there is no live server '{name}'; {hint}")
    })
}

fn list(suite: &Suite, common: &Common, screen: &Screen) -> u8 {
    if suite.corpus.live.is_empty() {
        screen::note("there are no manifests under fixtures/live");
        return exit::NOTHING;
    }
    for name in suite.corpus.live.keys() {
        let live = match find(name, suite, common) {
            Ok(live) => live,
            Err(error) => return wrong(&error),
        };
        let package = &live.manifest.package;
        let (tone, state) = match &live.missing {
            None => (Tone::Good, "installed".to_owned()),
            Some(missing) => (Tone::Warn, missing.clone()),
        };
        screen::say(&format!(
            "{}  {} {} {}: {}\n  {}",
            screen.out.paint(Tone::Strong, name),
            package.ecosystem.as_str(),
            package.name,
            package.version,
            screen.out.paint(tone, &state),
            live.manifest.title,
        ));
    }
    exit::FINE
}

fn install(names: &[String], suite: &Suite, common: &Common) -> u8 {
    let all: Vec<String> = suite.corpus.live.keys().cloned().collect();
    let names = if names.is_empty() { &all } else { names };
    let mut manifests = Vec::new();
    for name in names {
        match manifest(name, &suite.corpus.live) {
            Ok(manifest) => manifests.push((name, manifest)),
            Err(error) => return wrong(&error),
        }
    }
    for (name, manifest) in manifests {
        for words in &manifest.install {
            let words = in_folder(words, FOLDER);
            screen::say(&format!("$ {}", words.join(" ")));
            if let Err(error) = execute(&words, &common.corpus) {
                screen::note(&format!("error: {name} is not installed: {error}"));
                return exit::FAILED;
            }
        }
        match find(name, suite, common).map(|live| live.missing) {
            Ok(None) => screen::say(&format!("{name} is installed: gateproof run --live {name}")),
            Ok(Some(missing)) => {
                screen::note(&format!("error: {missing}"));
                return exit::FAILED;
            }
            Err(error) => return wrong(&error),
        }
    }
    exit::FINE
}

/// Runs a command under the corpus. A program given by its path is one that an
/// earlier command installed there.
pub(super) fn execute(words: &[String], corpus: &std::path::Path) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("there is no command")?;
    let place: PathBuf = if program.contains('/') {
        std::path::absolute(corpus.join(program)).map_err(|error| error.to_string())?
    } else {
        program.into()
    };
    let status = Command::new(place).args(arguments).current_dir(corpus).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{program}` failed: {status}")),
        Err(error) => Err(format!("`{program}` can't be started: {error}")),
    }
}

fn wrong(error: &str) -> u8 {
    screen::note(&format!("error: {error}"));
    exit::USAGE
}
