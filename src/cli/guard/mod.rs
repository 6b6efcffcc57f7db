//! `guard`: the reference gate in front of a server that somebody uses.

mod approve;
mod ask;
mod audit;
mod behind;
mod init;
mod policy;
mod servers;
mod standard;
mod stdio;
mod web;

use std::{net::SocketAddr, num::NonZeroUsize, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::{args::Common, screen::Screen};

/// Puts the reference gate between a host and its servers.
///
/// Clients speak to it on standard input and output, or over HTTP with
/// `--listen`. Servers are started (the command behind `--`), reached over HTTP
/// (`--upstream`), or both (`--config`), whichever way the clients come. On standard output
/// there is the wire and nothing else. Of this program's environment, a
/// server gets what the policy's `launch.env` names; without it, everything but
/// variables that look like credentials or make a process load code.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = HELP)]
pub(super) struct GuardArgs {
    #[command(subcommand)]
    verb: Option<GuardVerb>,
    #[command(flatten)]
    what: What,
}

const HELP: &str = "\
Examples:
  gateproof guard init --policy notes.toml -- notes-server --root /srv/notes
  gateproof guard --policy notes.toml -- notes-server --root /srv/notes
  gateproof guard --policy notes.toml --upstream http://127.0.0.1:8930/mcp
  gateproof guard --policy notes.toml --listen 127.0.0.1:8931 -- notes-server
  gateproof guard --policy all.toml --config servers.toml --audit guard.jsonl

Exit codes:
  the server's own, or 0 where it was told to end
  1   the server could not be started, or the policy doesn't let it; the client's side broke
  2   a mistake on the command line or in the policy
  70  the gate failed, or its log could not be written: the session was closed";

#[derive(Debug, Subcommand)]
enum GuardVerb {
    Init(init::InitArgs),
    Approve(approve::ApproveArgs),
    /// Looks at audit logs.
    Audit(audit::AuditArgs),
}

/// What is guarded, and how.
#[derive(Debug, Args)]
struct What {
    /// The policy to enforce.
    #[arg(long, value_name = "FILE", required = true)]
    policy: Option<PathBuf>,
    /// What the policy calls the server; the only one that it names unless given.
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// The file that approvals are kept in (see `gateproof pins`); without it they
    /// are kept until the session ends.
    #[arg(long, value_name = "FILE")]
    pins: Option<PathBuf>,
    /// Where the policy asks the user (`approval`): the file that calls are written
    /// into which nobody has consented to, arguments and all, and consents come
    /// from (see `gateproof guard approve`).
    #[arg(long, value_name = "FILE")]
    approvals: Option<PathBuf>,
    /// Where the policy asks the user: asks at this terminal, one question at a
    /// time; the one that this program was started at unless it is named (`tty`
    /// says its name).
    #[arg(long, value_name = "TERMINAL", num_args = 0..=1, require_equals = true, default_missing_value = "/dev/tty")]
    ask: Option<PathBuf>,
    /// How many seconds a question waits; then the answer is no.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "ask")]
    ask_seconds: u64,
    /// Decides, lets everything pass, and only says in the log what it would have done.
    #[arg(long)]
    observe: bool,
    /// Writes what is decided to this file, one JSON object a line, each chained
    /// to the one before by its hash. Never an argument, never a result.
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// How many seconds the server may take to end once its standard input is
    /// closed, and again after it was told to end.
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    grace: u64,
    /// How many seconds replies are waited for once the client has closed.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
    /// Listens here on HTTP instead (`127.0.0.1:0` for a free port; the URL is
    /// printed on standard error), with a gate of its own for every session, and
    /// with servers of its own where they are started.
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "patience")]
    listen: Option<SocketAddr>,
    /// How many sessions there may be at once; the one that was idle longest
    /// makes room.
    #[arg(long, value_name = "NUMBER", default_value = "64", requires = "listen")]
    sessions: NonZeroUsize,
    /// Lets it listen where others than this machine reach it.
    #[arg(long, requires = "listen")]
    allow_exposed: bool,
    /// A server over HTTP, as `http://host:port/mcp`.
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Several servers, as one: a file with `[[servers]]` (`name`, `command` or
    /// `url`, `env`, `rename`), or a host's JSON with `mcpServers`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The command that starts the server.
    #[arg(last = true, value_name = "COMMAND")]
    argv: Vec<String>,
}

impl What {
    fn ask_for(&self) -> Duration {
        Duration::from_secs(self.ask_seconds)
    }

    fn manner(&self) -> crate::guard::Manner {
        crate::guard::Manner { grace: Duration::from_secs(self.grace), patience: Duration::from_secs(self.patience) }
    }
}

/// Does what was asked.
pub(super) fn guard(args: &GuardArgs, _: &Common, screen: &Screen) -> u8 {
    match &args.verb {
        Some(GuardVerb::Init(args)) => init::init(args, screen).unwrap_or_else(|code| code),
        Some(GuardVerb::Approve(args)) => approve::approve(args, screen),
        Some(GuardVerb::Audit(args)) => audit::audit(args),
        None => {
            let code = match args.what.listen {
                Some(listen) => web::run(&args.what, listen, screen),
                None => stdio::run(&args.what, screen),
            };
            code.unwrap_or_else(|code| code)
        }
    }
}
