//! `gates`: the gates of others that cases can be played through; and the words
//! that name one.

use std::{collections::BTreeMap, path::Path};

use clap::{Args, Subcommand};

use super::{args::Common, exit, live::execute, progress, screen, screen::Screen, trouble};
use crate::{
    fixture::{GateProfile, suggest},
    plan::{Outside, Suite},
    report::style::Tone,
    runner::{
        Stop,
        outside::{Probed, probe},
    },
};

/// Where gates are installed, under the corpus.
const FOLDER: &str = ".gates";

/// Installs and lists the gates under `fixtures/gates`.
#[derive(Debug, Args)]
pub(super) struct GatesArgs {
    #[command(subcommand)]
    verb: GatesVerb,
}

#[derive(Debug, Subcommand)]
enum GatesVerb {
    /// Installs them at their pinned versions into `.gates/`; prints each command first.
    Install {
        /// Which; all unless given.
        names: Vec<String>,
    },
    /// Lists them, and whether each is installed.
    List,
}

/// Which gate of somebody else's the cases are played through.
#[derive(Debug, Default, Args)]
pub(super) struct GateArgs {
    /// Play the cases through this gate, a profile under `fixtures/gates`.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["gate_command", "gate_url"])]
    gate: Option<String>,
    /// Play the cases through the gate that this command starts. `{upstream}` stands
    /// for the command of the server that it shall start, `{upstream_url}` for the
    /// URL of the one that it shall connect to, `{listen}` (or `{port}`) for where it
    /// shall listen; without that it is spoken to on its standard streams.
    #[arg(long, value_name = "COMMAND", conflicts_with = "gate_url")]
    gate_command: Option<String>,
    /// Play the cases through a gate that runs already, for the server on the port
    /// that `--upstream-listen` gives.
    #[arg(long, value_name = "URL", requires = "upstream_listen")]
    gate_url: Option<String>,
    /// The port of the loopback interface that the server listens on, for a gate
    /// that runs already.
    #[arg(long, value_name = "PORT", requires = "gate_url")]
    upstream_listen: Option<u16>,
    /// What the gate calls a tool, as `{server}__{tool}`; `{tool}` unless given, or
    /// what the profile says.
    #[arg(long, value_name = "TEMPLATE")]
    tool_name: Option<String>,
    /// The path of a gate that a command starts and that listens; `/mcp` unless given.
    #[arg(long, value_name = "PATH", requires = "gate_command")]
    gate_path: Option<String>,
    /// How many seconds the gate has to start, and for each answer, in place of what
    /// its profile says.
    #[arg(long, value_name = "SECONDS")]
    gate_seconds: Option<u32>,
}

impl GateArgs {
    /// The gate that is meant, if one is; what is wrong is said.
    pub(super) fn chosen(&self, suite: &Suite, common: &Common) -> Result<Option<Outside>, u8> {
        self.find(suite, common).map_err(|error| {
            screen::note(&format!("error: {error}"));
            exit::USAGE
        })
    }

    /// The gate that is meant, if one is; or what to say instead.
    pub(super) fn find(&self, suite: &Suite, common: &Common) -> Result<Option<Outside>, String> {
        let mut outside = match (&self.gate, &self.gate_command, &self.gate_url, self.upstream_listen) {
            (Some(name), ..) => find(name, suite, common)?,
            (None, Some(command), ..) => {
                let words = shlex::split(command).ok_or("--gate-command: a quote is not closed")?;
                ready("command", GateProfile::of_command(words), common)?
            }
            (None, None, Some(url), Some(port)) => Outside::standing(url.as_str(), port),
            _ if self.tool_name.is_some() || self.gate_seconds.is_some() => {
                return Err("there is no gate: --gate, --gate-command or --gate-url".to_owned());
            }
            _ => return Ok(None),
        };
        let profile = &mut outside.profile;
        for (given, kept) in [(&self.tool_name, &mut profile.tool_name), (&self.gate_path, &mut profile.path)] {
            if let Some(given) = given {
                kept.clone_from(given);
            }
        }
        if let Some(seconds) = self.gate_seconds {
            (profile.start_seconds, profile.step_seconds) = (seconds, seconds);
        }
        // Of a gate that runs already there is no command to be looked at.
        let checked = if outside.standing.is_none() {
            outside.profile.check()
        } else {
            GateProfile { command: vec!["{upstream}".to_owned()], ..outside.profile.clone() }.check()
        };
        checked.map_err(|error| {
            let option = match (error.path.first().map(String::as_str), &self.gate) {
                (Some("tool_name"), _) => "--tool-name",
                (Some("path"), None) => "--gate-path",
                (_, None) => "--gate-command",
                _ => "--gate",
            };
            format!("{option}: {}", error.message)
        })?;
        Ok(Some(outside))
    }
}

/// Looks at a gate once, before anything is played, and says what was found.
pub(super) fn probed(outside: Outside, stop: &Stop, screen: &Screen) -> Outside {
    if outside.missing.is_some() {
        return outside;
    }
    let settings = progress::schedule(None, std::env::current_exe().ok(), stop.clone()).settings;
    let found: Probed = probe(&outside, &settings, stop);
    let say = |tone: Tone, text: &str| screen::note(&screen.err.paint(tone, text));
    if let Some(why) = &found.broken {
        say(Tone::Bad, &format!("nothing can be played through {}: {why}", outside.name));
    } else {
        let features = &found.features;
        let absent: Vec<_> = features.absent.keys().map(|feature| feature.as_str()).collect();
        let revision = features.revision.as_deref().unwrap_or("no revision");
        let mut line = format!("{} answers {revision}", outside.name);
        if !absent.is_empty() {
            line = format!("{line}; it offers no {}", absent.join(", no "));
        }
        if !features.added_tools.is_empty() {
            line = format!("{line}; it adds tools of its own: {}", features.added_tools.join(", "));
        }
        say(if absent.is_empty() { Tone::Plain } else { Tone::Warn }, &line);
    }
    found.told_of(outside)
}

/// A gate's name as that of a folder.
pub(super) fn folder_name(outside: &Outside) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    if outside.standing.is_some() { "url".to_owned() } else { outside.name.chars().map(plain).collect() }
}

/// Does what was asked.
pub(super) fn gates(args: &GatesArgs, common: &Common, screen: &Screen) -> u8 {
    let suite = match trouble::load(&common.corpus, screen) {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    match &args.verb {
        GatesVerb::List => list(&suite, common, screen),
        GatesVerb::Install { names } => install(names, &suite, common),
    }
}

/// A gate by its name, or what to say instead.
fn find(name: &str, suite: &Suite, common: &Common) -> Result<Outside, String> {
    ready(name, profile(name, &suite.corpus.gates)?.clone(), common)
}

fn ready(name: &str, profile: GateProfile, common: &Common) -> Result<Outside, String> {
    let folder = std::path::absolute(common.corpus.join(FOLDER)).map_err(|error| format!("{FOLDER}: {error}"))?;
    Ok(Outside::new(name, profile, &folder, |key| std::env::var(key).ok()))
}

fn profile<'a>(name: &str, known: &'a BTreeMap<String, GateProfile>) -> Result<&'a GateProfile, String> {
    known.get(name).ok_or_else(|| {
        let names: Vec<_> = known.keys().map(String::as_str).collect();
        let hint = suggest(name, names.iter().copied()).unwrap_or_else(|| match names.as_slice() {
            [] => "there are no profiles under fixtures/gates".to_owned(),
            names => format!("there are {}", names.join(", ")),
        });
        format!("there is no gate '{name}'; {hint}")
    })
}

fn list(suite: &Suite, common: &Common, screen: &Screen) -> u8 {
    if suite.corpus.gates.is_empty() {
        screen::note("there are no profiles under fixtures/gates");
        return exit::NOTHING;
    }
    for name in suite.corpus.gates.keys() {
        let gate = match find(name, suite, common) {
            Ok(gate) => gate,
            Err(error) => return wrong(&error),
        };
        let (tone, state) = match (&gate.missing, &gate.profile.package) {
            (Some(missing), _) => (Tone::Warn, missing.clone()),
            (None, Some(_)) => (Tone::Good, "installed".to_owned()),
            (None, None) => (Tone::Plain, "installed by you".to_owned()),
        };
        let package = gate.profile.package.as_ref().map_or_else(String::new, |package| {
            format!(" {} {} {}", package.ecosystem.as_str(), package.name, package.version)
        });
        screen::say(&format!(
            "{} {package} ({} in, {} out): {}\n  {}",
            screen.out.paint(Tone::Strong, name),
            gate.front(),
            gate.back(),
            screen.out.paint(tone, &state),
            gate.profile.title,
        ));
        if let Some(note) = &gate.profile.note {
            screen::say(&screen.out.paint(Tone::Dim, &format!("  {}", note.trim())));
        }
    }
    exit::FINE
}

fn install(names: &[String], suite: &Suite, common: &Common) -> u8 {
    let all: Vec<String> = suite.corpus.gates.keys().cloned().collect();
    let names = if names.is_empty() { &all } else { names };
    let mut chosen = Vec::new();
    for name in names {
        match find(name, suite, common) {
            Ok(gate) => chosen.push((name, gate)),
            Err(error) => return wrong(&error),
        }
    }
    for (name, gate) in chosen {
        // Profiles may share an installation, which an earlier one has just made.
        let missing = || find(name, suite, common).map(|gate| gate.missing);
        if matches!(missing(), Ok(Some(_)))
            && let Err(error) = execute_all(&gate.profile.install, &common.corpus)
        {
            screen::note(&format!("error: {name} is not installed: {error}"));
            return exit::FAILED;
        }
        match missing() {
            Ok(None) => screen::say(&format!("{name} is installed: gateproof run --gate {name}")),
            Ok(Some(missing)) => {
                screen::note(&format!("error: {missing}"));
                return exit::FAILED;
            }
            Err(error) => return wrong(&error),
        }
    }
    exit::FINE
}

fn execute_all(commands: &[Vec<String>], corpus: &Path) -> Result<(), String> {
    for words in commands {
        let words: Vec<String> = words.iter().map(|word| word.replace("{gates}", FOLDER)).collect();
        screen::say(&format!("$ {}", words.join(" ")));
        execute(&words, corpus)?;
    }
    Ok(())
}

fn wrong(error: &str) -> u8 {
    screen::note(&format!("error: {error}"));
    exit::USAGE
}
