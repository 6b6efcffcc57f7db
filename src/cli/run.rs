//! `run`: plays the cases and says what came of them.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::Args;

use super::{
    args::{Chosen, Common},
    exit,
    gates::{self, GateArgs},
    live, measure,
    outputs::{Format, Outputs, PrintArgs, ReportArgs},
    progress::{self, Batch, Player},
    reference,
    screen::{self, Screen},
    transcripts::{self, TranscriptArgs},
    trouble::{self, count},
};
use crate::{
    case::Level,
    plan::{Arm, Outside, Selection, Suite, Trial},
    protocol::{Revision, UnknownRevision},
    report::{self, Document, style::Tone},
    runner::Stop,
    score::{Record, Standing},
    transport,
};

/// Failures that are printed with their transcripts; the rest get one line.
pub(super) const MOST_TRANSCRIPTS: usize = 20;

/// Plays cases and prints the tables.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    chosen: Chosen,
    /// Play the cases that ride on any server on this one, a manifest under
    /// `fixtures/live`; may be given several times. No ablation arms.
    #[arg(long = "live", value_name = "NAME", value_delimiter = ',')]
    live: Vec<String>,
    #[command(flatten)]
    gate: GateArgs,
    /// What stands in the middle: `direct`, `naive`, `guarded`, `outside`,
    /// `without:<check>`, `only:<check>`, `control:<gate>` or
    /// `mutant:<mutation>:<check>` (see `list arms`); `naive` and `guarded` unless
    /// given, with a gate of somebody else's `direct` and `outside`.
    #[arg(long = "arm", value_name = "ARM", value_delimiter = ',')]
    arms: Vec<Arm>,
    /// What trials travel on: `memory`, `stdio`, `http`; all unless given, with
    /// `--live` `stdio`, with a gate the one that it is reached over.
    #[arg(long = "transport", value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    transports: Vec<transport::Kind>,
    /// What is spoken: `2025-06-18`, …, or `all`; may be given several times. Each case
    /// is played in its home revision alone unless given.
    #[arg(long = "revision", value_name = "DATE", value_delimiter = ',', value_parser = spoken)]
    revisions: Vec<Spoken>,
    /// Don't play the ablation arms, which say what each check is worth.
    #[arg(long)]
    no_ablation: bool,
    /// Threads for trials; as many as there are processors unless given.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    transcripts: TranscriptArgs,
    #[command(flatten)]
    print: PrintArgs,
    /// Make the published reports under `reports/reference` anew: every case,
    /// every arm, every transport, the same bytes each time.
    #[arg(long, conflicts_with_all = [
        "words", "expressions", "partition", "live", "gate", "gate_command", "gate_url", "arms", "transports", "revisions", "no_ablation", "reports", "no_reports",
    ])]
    reference: bool,
}

/// Reads a transport's name.
pub(super) fn kind(text: &str) -> Result<transport::Kind, String> {
    let names = transport::Kind::ALL.map(transport::Kind::as_str);
    transport::Kind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
        let hint = crate::fixture::suggest(text, names).map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("expected {}{hint}", names.join(", "))
    })
}

/// One revision, or every one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    In(Revision),
    All,
}

impl Spoken {
    /// What was asked for, oldest first and each once.
    pub(super) fn revisions(given: &[Self]) -> Vec<Revision> {
        let is_asked =
            |revision: &Revision| given.iter().any(|one| matches!(one, Self::All) || *one == Self::In(*revision));
        Revision::ALL.into_iter().filter(is_asked).collect()
    }
}

/// Reads a revision's date, or `all`.
pub(super) fn spoken(text: &str) -> Result<Spoken, String> {
    match text {
        "all" => Ok(Spoken::All),
        date => date.parse().map(Spoken::In).map_err(|error: UnknownRevision| format!("{error}, or all")),
    }
}

/// Runs, and says what to exit with.
pub(super) fn run(args: &RunArgs, common: &Common, screen: &Screen) -> u8 {
    let suite = match trouble::load_chosen(&common.corpus, &args.chosen, screen) {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let gate = match args.gate.chosen(&suite, common) {
        Ok(gate) => gate,
        Err(code) => return code,
    };
    if args.transcripts.is_given() && args.live.len() > 1 {
        screen::note("error: --transcripts holds one run: give one --live at a time");
        return exit::USAGE;
    }
    if let Err(error) = fits(args, gate.as_ref()) {
        screen::note(&format!("error: {error}"));
        return exit::USAGE;
    }
    let stop = progress::listen();
    // Each suite is played through the same gate, which is looked at once.
    let gate = gate.map(|gate| gates::probed(gate, &stop, screen));
    let through = |suite: Suite| match &gate {
        Some(gate) => suite.through(gate.clone()),
        None => suite,
    };
    if args.live.is_empty() {
        return play(args, &through(suite), common, (&stop, screen));
    }
    let mut ready = Vec::new();
    for name in &args.live {
        match live::find(name, &suite, common) {
            Ok(found) => ready.push(found),
            Err(error) => {
                screen::note(&format!("error: {error}"));
                return exit::USAGE;
            }
        }
    }
    // Each server has a report of its own; the worst of them is the exit code.
    let mut codes = Vec::new();
    for live in ready {
        let name = live.name.clone();
        match Suite::load(&common.corpus).and_then(|suite| suite.on_live(live)) {
            Ok(suite) => codes.push(play(args, &through(suite), common, (&stop, screen))),
            Err(error) => {
                screen::note(&format!("error: the cases don't fit {name}: {error}"));
                return exit::USAGE;
            }
        }
    }
    let worst = [exit::USAGE, exit::FAILED, exit::INCONCLUSIVE, exit::NOTHING];
    worst.into_iter().find(|code| codes.contains(code)).unwrap_or(exit::FINE)
}

/// Whether what was asked for can be had from the gate that was given.
fn fits(args: &RunArgs, gate: Option<&Outside>) -> Result<(), String> {
    let Some(gate) = gate else {
        if args.arms.contains(&Arm::Outside) {
            return Err("the arm 'outside' needs a gate: --gate, --gate-command or --gate-url".to_owned());
        }
        return Ok(());
    };
    match args.transports.iter().find(|kind| **kind != gate.front()) {
        Some(kind) => Err(format!("the gate is reached over {}; nothing can be played over {kind}", gate.front())),
        None => Ok(()),
    }
}

/// The arms that are played.
fn arms(args: &RunArgs, suite: &Suite) -> Vec<Arm> {
    match (args.arms.as_slice(), &suite.outside) {
        ([], None) => vec![Arm::Naive, Arm::Guarded],
        // A gate of somebody else's stands alone in the middle: what it adds is told
        // from nothing there.
        ([], Some(_)) => vec![Arm::Direct, Arm::Outside],
        (given, _) => given.to_vec(),
    }
}

/// Plays one suite and reports it.
fn play(args: &RunArgs, suite: &Suite, common: &Common, (stop, screen): (&Stop, &Screen)) -> u8 {
    let (trials, ablated) =
        if args.reference { (reference::trials(suite), reference::ablated(suite)) } else { trials(args, suite) };
    if trials.is_empty() {
        screen::note("no case matches; `gateproof list` shows what there is");
        return exit::NOTHING;
    }
    let folder = match (args.reference, &suite.live, &args.reports.reports) {
        (true, ..) => common.corpus.join(reference::FOLDER),
        (false, Some(live), Some(folder)) if args.live.len() > 1 => folder.join(format!("live-{}", live.name)),
        (false, _, Some(folder)) => folder.clone(),
        (false, live, None) => {
            let live = live.as_ref().map(|live| format!("live-{}", live.name));
            let gate = suite.outside.as_ref().map(|gate| format!("gate-{}", gates::folder_name(gate)));
            let name = [gate, live].into_iter().flatten().collect::<Vec<_>>().join("-");
            PathBuf::from("reports").join(if name.is_empty() { "latest" } else { &name })
        }
    };
    let outputs = match args.reports.open(&folder) {
        Ok(outputs) => outputs,
        Err(code) => return code,
    };
    let format = args.print.format();
    let jobs = progress::jobs(args.jobs, suite);
    let saved = match args.transcripts.open(suite, trials.len()) {
        Ok(saved) => saved,
        Err(code) => return code,
    };
    let player =
        Player { screen, quiet: format == Format::Json, jobs, stop: stop.clone(), transcripts: saved.as_ref() };
    let mut shown = 0;
    let mut batch = player.play(&trials, |record| {
        shown += 1;
        match (format, shown <= MOST_TRANSCRIPTS) {
            (Format::Json, _) => None,
            (_, true) => Some(report::transcript::failure(record, screen.err)),
            (_, false) => Some(report::transcript::headline(record, screen.err)),
        }
    });
    player.ablate(&ablated, &mut batch);
    let mut document = report::document(suite, &batch.records, !ablated.is_empty() && !batch.interrupted);
    // What is published is the same each time, and nobody waits for the times of
    // a run that they ended.
    if !args.reference && !batch.interrupted {
        document.timing = measure::measure(&trials, &batch.records, stop).map(|measured| measured.timing);
    }
    screen::say(&format.render(&document, screen.out));
    let kept = transcripts::keep(saved, batch.interrupted);
    let code = finish(&batch, &document, outputs, screen);
    kept.err().unwrap_or(code)
}

fn trials(args: &RunArgs, suite: &Suite) -> (Vec<Trial>, Vec<Trial>) {
    let selection = Selection {
        arms: arms(args, suite),
        transports: match (args.transports.as_slice(), &suite.live) {
            ([], _) if suite.outside.is_some() => suite.outside.iter().map(|gate| gate.front()).collect(),
            ([], None) => transport::Kind::ALL.to_vec(),
            // Real servers take their time to start; this is how they are met in the field.
            ([], Some(_)) => vec![transport::Kind::Stdio],
            (given, _) => given.to_vec(),
        },
        filter: args.chosen.filter(),
        partition: args.chosen.partition,
        revisions: Spoken::revisions(&args.revisions),
    };
    (selection.trials(suite), ablated(args, &selection, suite))
}

/// The cases that the per-check tables are made of, each on its home transport.
fn ablated(args: &RunArgs, selection: &Selection, suite: &Suite) -> Vec<Trial> {
    if args.no_ablation || suite.live.is_some() || suite.outside.is_some() || !selection.arms.contains(&Arm::Guarded) {
        return Vec::new();
    }
    Selection { arms: vec![Arm::Guarded], ..selection.clone() }.trials_at_home(suite)
}

/// Says how many trials there were, and keeps the reports.
///
/// # Errors
/// With the exit code, where they can't be written.
pub(super) fn keep(batch: &Batch, document: &Document, outputs: Option<Outputs>) -> Result<(), u8> {
    let seconds = batch.took.as_secs_f64().max(1e-3);
    let played = batch.records.iter().filter(|record| record.untested.is_none()).count();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = played as f64 / seconds;
    screen::note(&format!("{} in {seconds:.1} s, {rate:.0} a second", count(played, "trial")));
    match outputs {
        Some(_) if batch.interrupted => screen::note("interrupted: the reports on disk are left as they were"),
        Some(outputs) => match outputs.keep(document) {
            Ok(folder) => screen::note(&format!("reports: {}", folder.strip_prefix(".").unwrap_or(&folder).display())),
            Err(error) => {
                screen::note(&format!("error: can't write reports: {error}"));
                return Err(exit::USAGE);
            }
        },
        None => {}
    }
    Ok(())
}

/// Keeps the reports and says in one line what the exit code means.
fn finish(batch: &Batch, document: &Document, outputs: Option<Outputs>, screen: &Screen) -> u8 {
    if let Err(code) = keep(batch, document, outputs) {
        return code;
    }
    let (code, reason) = conclusion(batch);
    let tone = if code == exit::FINE { Tone::Good } else { Tone::Bad };
    screen::note(&screen.err.paint(tone, &reason));
    code
}

/// The exit code of a run, and why in one line.
pub(super) fn conclusion(batch: &Batch) -> (u8, String) {
    let asked = || batch.records.iter().filter(|record| !record.arm.expects_nothing());
    let is_must = |record: &&Record| record.case.body.level == Level::Must;
    let of = |standing| move |record: &&Record| record.standing() == standing;
    let failed = asked().filter(of(Standing::Unexpected)).filter(is_must).count();
    let lesser = asked().filter(of(Standing::Unexpected)).count() - failed;
    let open = asked().filter(of(Standing::Open)).filter(is_must).count();
    let besides =
        if lesser > 0 { format!(" (and {} below must level)", count(lesser, "failure")) } else { String::new() };
    if asked().next().is_none() && !batch.interrupted {
        (exit::FINE, "exit 0: nothing is expected of a single trial in these arms".to_owned())
    } else if batch.interrupted {
        (exit::INCONCLUSIVE, format!("exit 3: interrupted, {} not tested", count(open, "must trial")))
    } else if failed > 0 {
        (exit::FAILED, format!("exit 1: {} failed{besides}", count(failed, "must trial")))
    } else if open > 0 {
        (exit::INCONCLUSIVE, format!("exit 3: {} could not be judged{besides}", count(open, "must trial")))
    } else {
        (exit::FINE, format!("exit 0: every must trial came out as it should{besides}"))
    }
}
