//! The policy as it is written.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs::OpenOptions,
    io::{self, Write as _},
    path::Path,
};

use crate::{
    gate::{PinKey, PinKind, Reach},
    pins::{Shown, visible},
    protocol::ServerName,
};

/// What a policy is written from.
pub(super) struct Written<'a> {
    pub(super) name: &'a ServerName,
    pub(super) reach: &'a Reach,
    pub(super) env: &'a [String],
    pub(super) pins: &'a Path,
    pub(super) shown: &'a Shown,
    pub(super) objections: &'a BTreeMap<PinKey, Vec<String>>,
    pub(super) left_out: &'a BTreeSet<&'a PinKey>,
}

/// A policy that allows what nobody objects to.
pub(super) fn policy(written: &Written<'_>) -> String {
    let Written { name, reach, env, pins, shown, objections, left_out } = written;
    let tools = shown.definitions.keys().filter(|(kind, _)| *kind == PinKind::Tool);
    let (allowed, refused): (Vec<_>, Vec<_>) = tools.partition(|key| !left_out.contains(key));
    let server = text(name.as_str());
    let mut out = format!(
        "# Written by `gateproof guard init` from what the server listed. Read it before it is used.\n\
         schema = 1\n\
         title = {}\n\n\
         [servers.{server}]\n\
         # What may be listed and called, and nothing else. Arguments are held to the tool's own schema.\n\
         allow = [\n",
        text(&format!("{name}: {} of {} tools", allowed.len(), allowed.len() + refused.len())),
    );
    for (_, tool) in &allowed {
        let _ = writeln!(out, "  {},", text(tool));
    }
    for key in &refused {
        for why in objections.get(*key).into_iter().flatten() {
            let _ = writeln!(out, "  # left out: {}, {}", text(&visible(&key.1)), visible(why));
        }
    }
    let _ = write!(
        out,
        "]\n\
         # Definitions are as they were approved, in {}; `gateproof pins diff` shows\n\
         # what a server has changed, `gateproof pins approve --rebaseline` approves it.\n\
         pins = \"approved\"\n\n\
         [servers.{server}.launch]\n",
        visible(&pins.display().to_string())
    );
    if let Reach::Argv(argv) = reach {
        let words: Vec<_> = argv.iter().map(|word| text(word)).collect();
        let _ =
            writeln!(out, "# The command that it may be started with, word by word.\nargv = [{}]", words.join(", "));
    }
    if env.is_empty() {
        out.push_str(
            "# Which variables it gets: without `env`, all but those that look like credentials or load code.\n\
             # env = [\"PATH\", \"HOME\"]\n",
        );
    } else {
        let names: Vec<_> = env.iter().map(|name| text(name)).collect();
        let _ = writeln!(out, "# The variables that it gets, and no others.\nenv = [{}]", names.join(", "));
    }
    let _ = write!(
        out,
        "\n# More that can be said, each explained by `gateproof explain CHECK`:\n\
         # [servers.{server}.paths]     which folders arguments may name (path-scope)\n\
         # [servers.{server}.egress]    which hosts (egress)\n\
         # [servers.{server}.approval]  which calls you are asked about (approval)\n"
    );
    out
}

/// A text in TOML.
fn text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Writes a file that must not be there.
pub(super) fn new_file(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}
