//! `guard init`: a policy and pins, written from what a server lists.

mod scan;
mod write;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::PathBuf,
    time::Duration,
};

use clap::Args;

use self::scan::{Scanned, scan};
use super::{
    super::{
        exit,
        pins::client::{Client, read_all},
        screen,
        screen::Screen,
        trouble::count,
    },
    behind::{environment, started_with},
    policy::mistake,
    servers::reachable,
};
use crate::{
    fixture::suggest,
    gate::{Change, How, Owner, PinKey, PinKind, Place, Reach, Rules},
    pins::{FileStore, Shown, pretty, visible},
    protocol::ServerName,
    report::style::Tone,
};

/// Shows what a server lists and what the gate objects to in it, and writes a
/// policy that allows the rest, with the definitions approved as they are now.
///
/// What the gate objects to is left out of both files, unless `--include` names
/// it. Neither file is overwritten.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct InitArgs {
    /// The policy to write.
    #[arg(long, value_name = "FILE", default_value = "policy.toml")]
    policy: PathBuf,
    /// The file to keep the approved definitions in. It may hold those of other
    /// servers, and none of this one.
    #[arg(long, value_name = "FILE", default_value = "pins.json")]
    pins: PathBuf,
    /// What the server is called; made from its command or URL unless given.
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Takes this in all the same, as `NAME` or `tool:NAME`. May be given several times.
    #[arg(long, value_name = "NAME")]
    include: Vec<String>,
    /// A variable of this program's environment that the server gets, and no
    /// others; it is written as `launch.env`. May be given several times.
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// How many seconds the server may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    /// Who approves; goes into the pins.
    #[arg(long, value_name = "NAME", env = "USER", default_value = "", hide_env_values = true)]
    by: String,
    /// A server over HTTP, as `http://host:port/mcp`.
    #[arg(long, value_name = "URL", conflicts_with = "argv")]
    upstream: Option<String>,
    /// The command that starts the server.
    #[arg(last = true, value_name = "COMMAND")]
    argv: Vec<String>,
}

const HELP: &str = "\
Examples:
  gateproof guard init --policy notes.toml --pins pins.json -- notes-server --root /srv/notes
  gateproof guard init --policy desk.toml --upstream http://127.0.0.1:8930/mcp

Exit codes:
  0   both files are written, and everything that is listed is in them
  1   both files are written, and something was left out
  2   a mistake, or a file that is there already: nothing was written
  3   the server could not be listed: nothing was written";

pub(super) fn init(args: &InitArgs, screen: &Screen) -> Result<u8, u8> {
    let reach = match (&args.upstream, args.argv.is_empty()) {
        (Some(url), _) => Reach::Url(reachable("--upstream", url).map_err(|why| mistake(&why))?),
        (None, false) => Reach::Argv(args.argv.clone()),
        (None, true) => return Err(mistake("which server? Say its command behind --, or its URL with --upstream")),
    };
    let name = ServerName::new(args.server.clone().unwrap_or_else(|| called(&reach)));
    let place = match &reach {
        Reach::Url(url) => Place::Url(url.clone()),
        Reach::Argv(argv) => Place::Argv(argv.clone()),
        Reach::Memory => Place::Memory(name.to_string()),
    };
    let owner = Owner { place, name: name.clone() };
    if args.policy.exists() {
        return Err(mistake(&format!("{} is there already; name another file with --policy", args.policy.display())));
    }
    let store = FileStore::new(&args.pins, &args.by, super::super::pins::now);
    let kept = store.read().map_err(|error| mistake(&error.to_string()))?.load(&owner);
    if kept.moved || !kept.pins.all.is_empty() {
        return Err(mistake(&format!(
            "{} holds definitions of '{name}' already; name another file with --pins, or use `gateproof pins approve`",
            args.pins.display()
        )));
    }
    let rules = scan::rules(&name, &args.env).map_err(|error| mistake(&error.to_string()))?;
    let shown = listed(args, &rules, &reach, &name).map_err(|why| {
        screen::note(&format!("error: {name} could not be listed: {}", visible(&why)));
        exit::INCONCLUSIVE
    })?;
    let scanned = scan(&rules, &name, &shown);
    known(&args.include, &shown)?;
    show(&shown, &scanned, screen);
    let left_out: BTreeSet<&PinKey> = scanned.objections.keys().filter(|key| !wanted(&args.include, key)).collect();
    let text = write::policy(&write::Written {
        name: &name,
        reach: &reach,
        env: &args.env,
        pins: &args.pins,
        shown: &shown,
        objections: &scanned.objections,
        left_out: &left_out,
    });
    write::new_file(&args.policy, &text).map_err(|error| mistake(&format!("{}: {error}", args.policy.display())))?;
    let mut change = Change::new(How::Approved);
    let approved = shown.definitions.iter().filter(|(key, _)| !left_out.contains(key));
    change.put = approved.map(|(key, definition)| (key.clone(), definition.clone())).collect();
    change.settle = shown.whole.iter().copied().collect();
    let kept = store.change(|book| (book.save(&owner, &change, store.stamp(How::Approved)), ()));
    if let Err(error) = kept {
        // A policy without its pins would allow what nobody approved.
        let _ = std::fs::remove_file(&args.policy);
        return Err(mistake(&error.to_string()));
    }
    screen::say(&said(args, &name, &shown, &left_out));
    Ok(if left_out.is_empty() && shown.twice.is_empty() && shown.unnamed == 0 { exit::FINE } else { exit::FAILED })
}

/// Everything that the server lists, started with the environment that the
/// policy will give it.
fn listed(args: &InitArgs, rules: &Rules, reach: &Reach, name: &ServerName) -> Result<Shown, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let patience = Duration::from_secs(args.timeout);
    runtime.block_on(async {
        let mut client = match reach {
            Reach::Url(url) => Client::reach(url, patience),
            Reach::Argv(_) | Reach::Memory => {
                let env = started_with(&scan::gate(rules), name, reach, environment())?;
                Client::start_with(&args.argv, &env, patience)?
            }
        };
        let shown = read_all(&mut client, "{}").await;
        client.end().await;
        shown
    })
}

/// A name made of what is started or reached.
fn called(reach: &Reach) -> String {
    let text = match reach {
        Reach::Argv(argv) => argv.first().and_then(|program| program.rsplit('/').next()).unwrap_or_default().to_owned(),
        Reach::Url(url) => {
            url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
        }
        Reach::Memory => String::new(),
    };
    let name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if name.trim_matches('-').is_empty() { "server".to_owned() } else { name.trim_matches('-').to_owned() }
}

/// Whether a definition is named.
fn wanted(names: &[String], (kind, name): &PinKey) -> bool {
    names.iter().any(|given| {
        given == name
            || given.split_once(':').is_some_and(|(word, rest)| PinKind::parse(word) == Some(*kind) && rest == name)
    })
}

fn known(names: &[String], shown: &Shown) -> Result<(), u8> {
    for name in names {
        let named = std::slice::from_ref(name);
        if !shown.definitions.keys().any(|key| wanted(named, key)) {
            let hint = suggest(name, shown.definitions.keys().map(|(_, name)| name.as_str()));
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            return Err(mistake(&format!("the server lists no '{name}'{hint}")));
        }
    }
    Ok(())
}

/// Every definition as it is, and what the gate says of it.
fn show(shown: &Shown, scanned: &Scanned, screen: &Screen) {
    let style = screen.out;
    for (key @ (kind, name), definition) in &shown.definitions {
        let title = if name.is_empty() { kind.to_string() } else { format!("{kind} {}", visible(name)) };
        screen::say(&style.paint(Tone::Strong, &title));
        for line in pretty(definition).lines() {
            screen::say(&format!("  {line}"));
        }
        for why in scanned.objections.get(key).into_iter().flatten() {
            screen::say(&format!("  {} {}", style.paint(Tone::Bad, "objection"), visible(why)));
        }
    }
    for (kind, name) in &shown.twice {
        screen::say(&format!(
            "{} {kind} {}: two different definitions go by this name",
            style.paint(Tone::Bad, "twice"),
            visible(name)
        ));
    }
    if shown.unnamed > 0 {
        screen::say(&format!(
            "{} {} without a name",
            style.paint(Tone::Bad, "unnamed"),
            count(shown.unnamed, "definition")
        ));
    }
}

/// What was written, and what to do with it.
fn said(args: &InitArgs, name: &ServerName, shown: &Shown, left_out: &BTreeSet<&PinKey>) -> String {
    let (policy, pins) = (args.policy.display(), args.pins.display());
    let approved = count(shown.definitions.len() - left_out.len(), "definition");
    let mut out = format!("\n{name}: {approved} approved; wrote {policy} and {pins}\n");
    if !left_out.is_empty() {
        let names: Vec<_> = left_out.iter().map(|(kind, name)| format!("{kind}:{}", visible(name))).collect();
        let _ = writeln!(out, "left out: {}. Take one in with --include, or by hand", names.join(", "));
    }
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string();
    let server = match &args.upstream {
        Some(url) => vec!["--upstream".to_owned(), url.clone()],
        None => std::iter::once("--".to_owned()).chain(args.argv.iter().cloned()).collect(),
    };
    let words: Vec<String> = ["guard", "--policy"]
        .map(str::to_owned)
        .into_iter()
        .chain([absolute(&args.policy), "--pins".to_owned(), absolute(&args.pins)])
        .chain(server)
        .collect();
    let command = Place::Argv(std::iter::once("gateproof".to_owned()).chain(words.iter().cloned()).collect());
    let entry = BTreeMap::from([(name.as_str(), serde_json::json!({ "command": "gateproof", "args": words }))]);
    let host = serde_json::json!({ "mcpServers": entry });
    let _ = writeln!(
        out,
        "\nread {policy}, and then run\n\n  {command}\n\nor put it into the host's configuration:\n\n{host:#}"
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_called_by_what_is_started() {
        for (words, name) in [(&["/opt/notes server/bin/notes.sh", "-x"][..], "notes-sh"), (&["./"], "server")] {
            assert_eq!(called(&Reach::Argv(words.iter().map(|&word| word.to_owned()).collect())), name);
        }
        assert_eq!(called(&Reach::Url("http://desk.example:9/mcp".to_owned())), "desk-example");
    }
}
