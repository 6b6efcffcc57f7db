//! The words that every verb shares.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::{bridge, doctor, exit, explain, fidelity, gates, guard, lint, list, live, new, pins, qualify, replay, run};
use crate::{
    case::Case,
    plan::{Filter, Partition},
};

/// Qualifies MCP gates: plays attacks and their honest twins through a gate,
/// watches both sides, and says what was stopped and what was served.
#[derive(Debug, Parser)]
#[command(name = "gateproof", version, after_help = exit::HELP)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    Run(run::RunArgs),
    Qualify(qualify::QualifyArgs),
    Replay(replay::ReplayArgs),
    List(list::ListArgs),
    Explain(explain::ExplainArgs),
    Lint(lint::LintArgs),
    Doctor(doctor::DoctorArgs),
    Fidelity(fidelity::FidelityArgs),
    New(new::NewArgs),
    Live(live::LiveArgs),
    Gates(gates::GatesArgs),
    Pins(pins::PinsArgs),
    Guard(guard::GuardArgs),
    #[command(name = "__bridge", hide = true)]
    Bridge(bridge::BridgeArgs),
}

/// Options of every verb.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// The folder that holds `cases/` and `fixtures/`.
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    pub(super) corpus: PathBuf,
    /// When to use colours; `NO_COLOR` is honoured.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto, global = true)]
    pub(super) color: When,
    /// Traces to standard error; twice for more.
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub(super) verbose: u8,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// On a terminal.
    Auto,
    Always,
    Never,
}

/// Which cases are meant.
#[derive(Debug, Default, Args)]
pub(super) struct Chosen {
    /// Cases whose id contains one of these words (filter expressions too).
    #[arg(value_name = "FILTER")]
    pub(super) words: Vec<Filter>,
    /// A filter expression: `id(glob)`, `kind(attack)`, `level(must)`,
    /// `technique(D01)`, `by(check)`, with `and`, `or`, `not`; several are joined by `or`.
    #[arg(short = 'E', long = "filter", value_name = "EXPR")]
    pub(super) expressions: Vec<Filter>,
    /// One shard of the cases, `hash:M/N`.
    #[arg(long, value_name = "SHARD")]
    pub(super) partition: Option<Partition>,
}

impl Chosen {
    /// Words and expressions as one filter: one of each must match.
    pub(super) fn filter(&self) -> Filter {
        match (either(&self.words), either(&self.expressions)) {
            (Filter::All, one) | (one, Filter::All) => one,
            (a, b) => Filter::And(Box::new(a), Box::new(b)),
        }
    }

    /// Whether no case is left out.
    pub(super) fn is_everything(&self) -> bool {
        self.words.is_empty() && self.expressions.is_empty() && self.partition.is_none()
    }

    /// Whether a case is meant, the shard included.
    pub(super) fn has(&self, case: &Case) -> bool {
        self.filter().matches(case) && self.partition.is_none_or(|shard| shard.has(case))
    }
}

fn either(filters: &[Filter]) -> Filter {
    filters.iter().cloned().reduce(|a, b| Filter::Or(Box::new(a), Box::new(b))).unwrap_or(Filter::All)
}
