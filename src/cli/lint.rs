//! `lint`: whether the corpus holds what it promises.

use std::num::NonZeroUsize;

use clap::Args;

use super::{
    args::{Chosen, Common},
    exit,
    progress::{self, Player},
    screen::{self, Screen},
    trouble::{self, count},
};
use crate::{
    plan::{Arm, Selection},
    report::style::Tone,
    score::{Finding, Severity, lint as findings_of},
    transport,
};

/// Plays the corpus in every arm and says what is wrong with its cases.
#[derive(Debug, Args)]
pub(super) struct LintArgs {
    #[command(flatten)]
    chosen: Chosen,
    /// Threads for trials.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// Prints the findings, by rule.
pub(super) fn lint(args: &LintArgs, common: &Common, screen: &Screen) -> u8 {
    let suite = match trouble::load_chosen(&common.corpus, &args.chosen, screen) {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let selection = Selection {
        filter: args.chosen.filter(),
        partition: args.chosen.partition,
        ..Selection::new([Arm::Direct, Arm::Naive, Arm::Guarded], transport::Kind::ALL)
    };
    let trials = selection.trials_at_home(&suite);
    if trials.is_empty() {
        screen::note("no case matches; `gateproof list` shows what there is");
        return exit::NOTHING;
    }
    let jobs = args.jobs.map(NonZeroUsize::get);
    let player = Player { screen, quiet: false, jobs, stop: progress::listen(), transcripts: None };
    let mut batch = player.play(&trials, |_| None);
    let cases: Vec<_> = trials.into_iter().filter(|trial| trial.arm == Arm::Guarded).collect();
    player.ablate(&cases, &mut batch);
    if batch.interrupted {
        screen::note("exit 3: interrupted, nothing can be said of the corpus");
        return exit::INCONCLUSIVE;
    }
    let findings = findings_of(&suite, &batch.records, args.chosen.is_everything());
    print(&findings, screen);
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let notes = findings.len() - errors;
    let code = if errors == 0 { exit::FINE } else { exit::FAILED };
    let tone = if errors == 0 { Tone::Good } else { Tone::Bad };
    let line = format!("exit {code}: {}, {}", count(errors, "error"), count(notes, "note"));
    screen::note(&screen.err.paint(tone, &line));
    code
}

fn print(findings: &[Finding], screen: &Screen) {
    let mut rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    rules.dedup();
    for rule in rules {
        screen::say(&screen.out.paint(Tone::Strong, rule));
        for finding in findings.iter().filter(|finding| finding.rule == rule) {
            let (tone, word) = match finding.severity {
                Severity::Error => (Tone::Bad, "error"),
                Severity::Note => (Tone::Dim, "note"),
            };
            let place = if finding.file.is_empty() { String::new() } else { format!("{}: ", finding.file) };
            screen::say(&format!("  {} {place}{}", screen.out.paint(tone, word), finding.message));
        }
    }
}
