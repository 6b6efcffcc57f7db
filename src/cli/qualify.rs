//! `qualify`: whether a gate may be admitted.

use std::{
    io::Read as _,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use clap::Args;

use super::{
    args::{Chosen, Common},
    exit,
    gates::{self, GateArgs},
    measure,
    outputs::{Format, Outputs, PrintArgs, ReportArgs},
    progress::{self, Batch, Player},
    run,
    screen::{self, Screen},
    transcripts::{self, TranscriptArgs},
    trouble::{self, count},
};
use crate::{
    fixture::Source,
    plan::{Arm, Filter, Selection, Suite, Trial},
    report::{self, Document, style::Tone},
    runner::Stop,
    score::{Admission, Baseline, Day, Evidence, Limits, Verdict, Waivers, admission},
    transport,
};

/// The longest baseline that is read, in bytes: far more than any report has.
const MOST_BASELINE: u64 = 1 << 30;

/// The file of waivers that is read where none is named.
const WAIVERS: &str = "waivers.toml";

/// Plays the whole corpus through a gate and says ADMIT or HOLD, with every reason.
#[derive(Debug, Args)]
pub(super) struct QualifyArgs {
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    gate: GateArgs,
    /// Play must cases alone: the verdict asks for no others.
    #[arg(long)]
    must_only: bool,
    /// Failures that somebody answers for; `waivers.toml` beside `cases/` if it is there.
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
    /// A `report.json` of an earlier run: a must case that passed then must pass now.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// How many honest cases the gate may get wrong.
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_false_alarms: usize,
    /// How many milliseconds the gate may add to a call at the 99th percentile; no
    /// limit unless given.
    #[arg(long, value_name = "MS", value_parser = millis)]
    max_added_p99: Option<Duration>,
    /// What trials travel on; all unless given, with a gate of somebody else's the
    /// one that it is reached over. Must cases on others are then untested.
    #[arg(long = "transport", value_name = "KIND", value_delimiter = ',', value_parser = run::kind)]
    transports: Vec<transport::Kind>,
    /// Don't play the ablation, which says what each check is worth.
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
}

fn millis(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number of milliseconds".to_owned())?;
    let seconds = Duration::try_from_secs_f64(number / 1e3);
    seconds.map_err(|_| "expected a number of milliseconds, 0 or more".to_owned())
}

/// Qualifies, and says what to exit with.
pub(super) fn qualify(args: &QualifyArgs, common: &Common, screen: &Screen) -> u8 {
    let suite = match trouble::load_chosen(&common.corpus, &args.chosen, screen) {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    match prepared(args, suite, common, screen) {
        Ok(prepared) => play(args, &prepared, screen),
        Err(text) => {
            screen::note(&text);
            exit::USAGE
        }
    }
}

/// Everything that was given, read before anything is played.
struct Prepared {
    suite: Suite,
    arm: Arm,
    trials: Vec<Trial>,
    ablated: Vec<Trial>,
    waivers: Waivers,
    baseline: Option<Baseline>,
    today: Day,
    stop: Stop,
}

fn prepared(args: &QualifyArgs, suite: Suite, common: &Common, screen: &Screen) -> Result<Prepared, String> {
    let waivers = waivers(args, &suite, common, screen)?;
    let gate = args.gate.find(&suite, common).map_err(|error| format!("error: {error}"))?;
    let arm = if gate.is_some() { Arm::Outside } else { Arm::Guarded };
    let baseline = args.baseline.as_deref().map(|path| baseline(path, arm)).transpose()?;
    let today = today()?;
    let transports = match (&gate, args.transports.as_slice()) {
        (None, []) => transport::Kind::ALL.to_vec(),
        (None, given) => given.to_vec(),
        (Some(gate), []) => vec![gate.front()],
        (Some(gate), [kind]) if *kind == gate.front() => vec![*kind],
        (Some(gate), _) => return Err(format!("error: the gate is reached over {} alone", gate.front())),
    };
    let stop = progress::listen();
    let suite = match gate {
        Some(gate) => suite.through(gates::probed(gate, &stop, screen)),
        None => suite,
    };
    let must = "level(must)".parse().map_err(|error| format!("error: {error}"))?;
    let filter =
        if args.must_only { Filter::And(Box::new(args.chosen.filter()), Box::new(must)) } else { args.chosen.filter() };
    // What a gate of somebody else's adds is told from nothing in the middle.
    let control = if arm == Arm::Outside { Arm::Direct } else { Arm::Naive };
    let selection =
        Selection { filter, partition: args.chosen.partition, ..Selection::new([control, arm], transports) };
    let trials = selection.trials(&suite);
    let has_checks = arm == Arm::Guarded && !args.no_ablation;
    let at_home = || Selection { arms: vec![arm], ..selection }.trials_at_home(&suite);
    let ablated = if has_checks { at_home() } else { Vec::new() };
    Ok(Prepared { suite, arm, trials, ablated, waivers, baseline, today, stop })
}

fn waivers(args: &QualifyArgs, suite: &Suite, common: &Common, screen: &Screen) -> Result<Waivers, String> {
    let usual = common.corpus.join(WAIVERS);
    let path = match &args.waivers {
        Some(given) => given.clone(),
        None if usual.is_file() => usual,
        None => return Ok(Waivers::default()),
    };
    let read = Source::read(&path, path.display().to_string()).and_then(|source| Waivers::read(&source, suite));
    read.map_err(|error| format!("{}\nnothing was run", trouble::graphical(&error, screen)))
}

fn baseline(path: &Path, arm: Arm) -> Result<Baseline, String> {
    let shown = path.display();
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| format!("error: {shown}: {error}"))?;
    file.take(MOST_BASELINE).read_to_string(&mut text).map_err(|error| format!("error: {shown}: {error}"))?;
    Baseline::read(&text, &arm.to_string()).map_err(|error| format!("error: {shown}: {error}; nothing was run"))
}

/// The day, in UTC.
fn today() -> Result<Day, String> {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.get(..10).unwrap_or_default().parse()
}

fn play(args: &QualifyArgs, prepared: &Prepared, screen: &Screen) -> u8 {
    let Prepared { suite, arm, trials, ablated, waivers, baseline, today, stop } = prepared;
    if trials.is_empty() {
        screen::note("no case matches; `gateproof list` shows what there is");
        return exit::NOTHING;
    }
    let folder = args.reports.reports.clone().unwrap_or_else(|| match &suite.outside {
        Some(gate) => PathBuf::from("reports").join(format!("gate-{}", gates::folder_name(gate))),
        None => PathBuf::from("reports/qualify"),
    });
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
    let mut batch = player.play(trials, |_| None);
    player.ablate(ablated, &mut batch);
    let timing = (!batch.interrupted).then(|| measure::measure(trials, &batch.records, stop)).flatten();
    let costs = timing.as_ref().map(|measured| measured.costs.clone()).unwrap_or_default();
    let mut document = report::document(suite, &batch.records, !ablated.is_empty() && !batch.interrupted);
    let admission = admission(&Evidence {
        suite,
        arm: *arm,
        records: &batch.records,
        is_shard: args.chosen.partition.is_some(),
        costs: &costs,
        baseline: baseline.as_ref(),
        waivers,
        today: *today,
        limits: Limits { false_alarms: args.max_false_alarms, added_p99: args.max_added_p99 },
    });
    document.timing = timing.map(|measured| measured.timing);
    document.admission = Some(admission);
    screen::say(&format.render(&document, screen.out));
    let kept = transcripts::keep(saved, batch.interrupted);
    let code = finish(&batch, &document, outputs, screen);
    kept.err().unwrap_or(code)
}

fn finish(batch: &Batch, document: &Document, outputs: Option<Outputs>, screen: &Screen) -> u8 {
    if let Err(code) = run::keep(batch, document, outputs) {
        return code;
    }
    let Some(admission) = &document.admission else { return exit::BUG };
    let (code, what) = conclusion(admission, batch.interrupted);
    let tone = if code == exit::FINE { Tone::Good } else { Tone::Bad };
    screen::note(&screen.err.paint(tone, &format!("exit {code}: {what}")));
    code
}

/// The exit code of a verdict, and what it means in one line.
fn conclusion(admission: &Admission, interrupted: bool) -> (u8, String) {
    let reasons = || admission.reasons.iter();
    if interrupted {
        return (exit::INCONCLUSIVE, "interrupted; what was not played is untested".to_owned());
    }
    match admission.verdict {
        Verdict::Admit => (exit::FINE, "ADMIT".to_owned()),
        Verdict::AdmitWithWaivers => {
            (exit::FINE, format!("ADMIT WITH WAIVERS: {}", count(admission.waived.len(), "waived case")))
        }
        Verdict::Hold if reasons().all(|reason| reason.why.is_open()) => (
            exit::INCONCLUSIVE,
            format!("HOLD: no verdict on the gate can be given, for {}", count(reasons().count(), "reason")),
        ),
        Verdict::Hold => {
            let settled = reasons().filter(|reason| !reason.why.is_open()).count();
            (exit::FAILED, format!("HOLD: {}, {} open", count(settled, "reason"), reasons().count() - settled))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::{Reason, Why};

    #[test]
    fn a_limit_is_a_time() {
        assert_eq!(millis("0.5"), Ok(Duration::from_micros(500)));
        assert!(millis("-1").is_err() && millis("soon").is_err() && millis("NaN").is_err());
    }

    #[test]
    fn what_is_only_open_is_no_verdict() {
        let of = |whys: &[Why]| {
            let reason = |why: &Why| Reason {
                why: *why,
                case: String::new(),
                transports: Vec::new(),
                what: String::new(),
                next: String::new(),
            };
            let reasons: Vec<_> = whys.iter().map(reason).collect();
            let verdict = if reasons.is_empty() { Verdict::Admit } else { Verdict::Hold };
            let admission = Admission {
                verdict,
                arm: "guarded".into(),
                must_passed: 0,
                must_total: 0,
                reasons,
                waived: Vec::new(),
            };
            conclusion(&admission, false).0
        };
        assert_eq!(of(&[]), exit::FINE);
        assert_eq!(of(&[Why::Untested, Why::Blocked]), exit::INCONCLUSIVE);
        assert_eq!(of(&[Why::Untested, Why::Failed]), exit::FAILED);
        assert_eq!(of(&[Why::Waiver]), exit::FAILED);
    }
}
