//! `guard`: the reference gate in front of a server that somebody uses.

mod audit;
mod policy;
mod stdio;
mod web;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::{args::Common, screen::Screen};

/// Puts the reference gate between a host and a server.
///
/// On standard input and output, the server is the command behind `--`; the host starts `gateproof guard …` in
/// its place. Standard output carries the wire and nothing else. Of this
/// program's environment, the server gets what the policy's `launch.env` names;
/// without it, everything but variables that look like credentials or make a
/// process load code.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = HELP)]
pub(super) struct GuardArgs {
    #[command(subcommand)]
    verb: Option<GuardVerb>,
    #[command(flatten)]
    what: What,
}

const HELP: &str = "\
Exit codes:
  the server's own, or 0 where it was told to end
  1   the server could not be started, or the policy doesn't let it; the client's side broke
  2   a mistake on the command line or in the policy
  70  the gate failed, or its log could not be written: the session was closed";

#[derive(Debug, Subcommand)]
enum GuardVerb {
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
    /// printed on standard error), with a gate of its own for every session.
    #[arg(long, value_name = "ADDR:PORT", requires = "upstream", conflicts_with_all = ["argv", "patience"])]
    listen: Option<SocketAddr>,
    /// The server that a listening guard stands before, as `http://host:port/mcp`.
    #[arg(long, value_name = "URL", requires = "listen")]
    upstream: Option<String>,
    /// Lets it listen where others than this machine reach it.
    #[arg(long, requires = "listen")]
    allow_exposed: bool,
    /// The command that starts the server.
    #[arg(last = true, value_name = "COMMAND")]
    argv: Vec<String>,
}

impl What {
    fn manner(&self) -> crate::guard::Manner {
        crate::guard::Manner { grace: Duration::from_secs(self.grace), patience: Duration::from_secs(self.patience) }
    }
}

/// Does what was asked.
pub(super) fn guard(args: &GuardArgs, _: &Common, screen: &Screen) -> u8 {
    match &args.verb {
        Some(GuardVerb::Audit(args)) => audit::audit(args),
        None => {
            let What { listen, upstream, .. } = &args.what;
            let code = match (listen, upstream) {
                (Some(listen), Some(upstream)) => web::run(&args.what, *listen, upstream, screen),
                _ => stdio::run(&args.what, screen),
            };
            code.unwrap_or_else(|code| code)
        }
    }
}
