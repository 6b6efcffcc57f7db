//! `new`: a case to start from.

use std::{io::Write as _, path::Path};

use clap::Args;

use super::{
    args::Common,
    exit,
    screen::{self, Screen},
    trouble,
};
use crate::plan::Suite;

/// Writes the skeleton of a case, which loads and passes as it stands.
#[derive(Debug, Args)]
pub(super) struct NewArgs {
    /// The id: dotted, permanent; its parts are the path under `cases/`.
    id: String,
    /// The server fixture; the first one there is unless given.
    #[arg(long, value_name = "NAME")]
    fixture: Option<String>,
    /// The policy; the first one there is unless given.
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
}

/// Writes the file and says what comes next.
pub(super) fn new(args: &NewArgs, common: &Common, screen: &Screen) -> u8 {
    let wrong = |message: String| {
        screen::note(&format!("error: {message}"));
        exit::USAGE
    };
    if let Some(what) = trouble_with(&args.id) {
        return wrong(format!("'{}' is no case id: {what}", args.id));
    }
    let suite = match trouble::load(&common.corpus, screen) {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let Some(text) = skeleton(args, &suite) else {
        return wrong("a case needs a fixture under fixtures/servers and a policy under fixtures/policies".to_owned());
    };
    let name = format!("cases/{}.toml", args.id.replace('.', "/"));
    if let Err(error) = write(&common.corpus.join(&name), &text) {
        return wrong(format!("{name}: {error}"));
    }
    screen::say(&format!(
        "{name} is written.\n\
         Next:\n  \
         1. edit it; every line says what it is for\n  \
         2. gateproof explain {0}   shows it in plain words\n  \
         3. gateproof run {0}       plays it\n  \
         4. gateproof lint          says whether the corpus still holds together",
        args.id
    ));
    exit::FINE
}

fn trouble_with(id: &str) -> Option<&'static str> {
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.split('.').count() < 2 {
        Some("it needs a category, a dot and a name")
    } else if !id.split('.').all(|part| !part.is_empty() && part.chars().all(is_fine)) {
        Some("its parts are made of a-z, 0-9 and '-', with dots between them")
    } else {
        None
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Never over a case that is there: ids are permanent.
    std::fs::File::options().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

fn skeleton(args: &NewArgs, suite: &Suite) -> Option<String> {
    let fixture = args.fixture.as_ref().or_else(|| suite.corpus.servers.keys().next())?;
    let policy = args.policy.as_ref().or_else(|| suite.policies.keys().next())?;
    Some(SKELETON.replace("ID", &args.id).replace("FIXTURE", fixture).replace("POLICY", policy))
}

const SKELETON: &str = r#"schema = 1
id = "ID"
# One line that a reader understands without the rest.
title = "Lists the tools"
# attack: must be stopped. benign: must be served. robustness: must be survived.
kind = "benign"
# must: a gate that fails it isn't admitted. should, info: reported.
level = "must"
# A row of the technique catalogue; `gateproof list techniques` shows those in use.
technique = "D01"
# Where the rule comes from: a clause of the specification, a CVE, an issue.
refs = []
# For an attack: the honest look-alike that must pass, and the check that should stop it.
# twin = "category.name"
# by = "tool-allowlist"
policy = "POLICY"

# The attack as a patch on a server: `overlay = [{ tool = "x", append = "…" }]`.
servers = [{ fixture = "FIXTURE" }]

# What happens, in order. `as` gives a step a name that `expect` can use.
steps = [
  { open = {} },
  { list = { as = "tools" } },
  # { call = { as = "call", tool = "x", arguments = '{"a": 1}' } },
]

[expect]
# What must have happened for the trial to mean anything; otherwise it is blocked.
control = [{ server-got = { method = "tools/list" } }]
# For an attack: any of these means that it succeeded. Never speak of the gate.
# harm = [{ client-got = { text = "CANARY-" } }]
# All of these must hold: the honest work still works.
utility = [{ reply = { of = "tools", ok = true } }]
# For an attack: the step that must be denied, and where (request, reply, server).
# refusal = { of = "call", stage = "request" }
"#;
