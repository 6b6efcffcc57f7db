//! `replay`: judges again what an earlier run saw. Nothing is played here.

use std::{collections::BTreeMap, fs::File, io::BufReader, path::PathBuf, sync::Arc, time::Duration};

use clap::Args;

use super::{
    args::{Chosen, Common},
    exit, live,
    outputs::{Format, PrintArgs},
    progress::Batch,
    run::{self, MOST_TRANSCRIPTS},
    screen::{self, Screen},
    transcripts::verdict,
    trouble::{self, count},
};
use crate::{
    case::Level,
    plan::{Arm, Prepared, Suite, Trial},
    report::{self, Timing, style::Tone},
    runner::{Ended, Played},
    score::{Record, Standing},
    transcript::saved::{Header, Reader, SavedTrial, SavedVerdict},
};

/// Judges saved transcripts again, with today's judge, and prints the tables; plays
/// nothing.
#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// What `run --transcripts` or `qualify --transcripts` wrote.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    print: PrintArgs,
}

/// A file, judged again.
struct Judged {
    header: Header,
    suite: Suite,
    /// In the order of the plan.
    records: Vec<Record>,
    /// What was said of each before.
    before: Vec<SavedVerdict>,
}

/// Replays, and says what to exit with.
pub(super) fn replay(args: &ReplayArgs, common: &Common, screen: &Screen) -> u8 {
    let suite = match trouble::load(&common.corpus, screen) {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let judged = match judged(args, suite, common) {
        Ok(judged) => judged,
        Err(error) => {
            screen::note(&format!("error: {}: {error}; nothing was judged", args.file.display()));
            return exit::USAGE;
        }
    };
    if judged.records.is_empty() {
        screen::note("the file holds no trial of a case that matches");
        return exit::NOTHING;
    }
    let format = args.print.format();
    if format != Format::Json {
        failures(&judged.records, screen);
    }
    if let Some(gate) = &judged.header.gate {
        screen::note(&format!("the arm outside was played through {gate}"));
    }
    // The trials of the ablation tables are not in the file.
    let mut document = report::document(&judged.suite, &judged.records, false);
    // Elsewhere times are taken in a pass of their own, of which there is nothing here.
    if judged.suite.live.is_some() || judged.records.iter().any(|record| record.arm == Arm::Outside) {
        document.timing = Timing::of(&judged.records);
    }
    screen::say(&format.render(&document, screen.out));
    finish(judged, screen)
}

/// Reads and judges everything before anything is said.
fn judged(args: &ReplayArgs, suite: Suite, common: &Common) -> Result<Judged, String> {
    let file = File::open(&args.file).map_err(|error| error.to_string())?;
    let reader = Reader::new(BufReader::new(file)).map_err(|error| error.to_string())?;
    let header = reader.header().clone();
    let suite = fitting(&header, suite, common)?;
    let cases: BTreeMap<&str, &Arc<Prepared>> =
        suite.cases.iter().map(|prepared| (prepared.case.id.as_str(), prepared)).collect();
    let mut judged = Vec::new();
    for read in reader {
        let (line, saved) = read.map_err(|error| error.to_string())?;
        let trial = trial(&saved, &cases).map_err(|error| format!("line {line}: {error}"))?;
        if args.chosen.has(&trial.prepared.case) {
            judged.push((saved.trial, saved.verdict.clone(), Record::new(&trial, ended(saved))));
        }
    }
    judged.sort_by_key(|(number, ..)| *number);
    let (before, records) = judged.into_iter().map(|(_, verdict, record)| (verdict, record)).unzip();
    Ok(Judged { header, suite, records, before })
}

/// The suite that the file is of, or why it is of none here.
fn fitting(header: &Header, suite: Suite, common: &Common) -> Result<Suite, String> {
    let here = suite.digest().to_string();
    if header.corpus != here {
        return Err(format!(
            "it is of another corpus: it was played on {}, {} is {here}. Take the corpus that it was played on \
             (--corpus DIR), or play this one again with --transcripts",
            header.corpus,
            common.corpus.display()
        ));
    }
    let Some(name) = &header.live else { return Ok(suite) };
    let live = live::find(name, &suite, common)?;
    suite.on_live(live).map_err(|error| format!("the cases don't fit {name}: {error}"))
}

fn trial(saved: &SavedTrial, cases: &BTreeMap<&str, &Arc<Prepared>>) -> Result<Trial, String> {
    let found = cases.get(saved.case.as_str());
    let prepared = found.ok_or_else(|| format!("there is no case '{}' in the corpus", saved.case))?;
    Ok(Trial {
        prepared: Arc::clone(prepared),
        arm: saved.arm.parse().map_err(|error| format!("{error}"))?,
        transport: run::kind(&saved.transport).map_err(|error| format!("transport '{}': {error}", saved.transport))?,
        revision: saved.revision.parse().map_err(|error| format!("{error}"))?,
    })
}

/// What the runner had handed on.
fn ended(saved: SavedTrial) -> Ended {
    match (saved.transcript, saved.untested) {
        (Some(seen), _) => Ended::Played(Played { transcript: seen.into(), trail: saved.trail, spent: None }),
        (None, reason) => Ended::NotPlayed(reason.unwrap_or_default()),
    }
}

/// What a run prints as it happens.
fn failures(records: &[Record], screen: &Screen) {
    let unexpected = records.iter().filter(|record| record.standing() == Standing::Unexpected);
    for (shown, record) in unexpected.enumerate() {
        let whole = shown < MOST_TRANSCRIPTS;
        let print = if whole { report::transcript::failure } else { report::transcript::headline };
        screen::note(&print(record, screen.err));
    }
}

/// Says where today's verdicts are not those of the file, and what the exit code means.
fn finish(judged: Judged, screen: &Screen) -> u8 {
    let Judged { header, records, before, .. } = judged;
    let through = header.gate.map(|gate| format!(" through {gate}")).unwrap_or_default();
    let what = count(records.len(), "trial");
    screen::note(&format!(
        "{what}, played{through} by gateproof {}, judged again; nothing was played",
        header.gateproof
    ));
    let differing: Vec<_> =
        records.iter().zip(&before).filter(|(record, before)| verdict(record) != **before).collect();
    if differing.is_empty() {
        screen::note("every verdict is the one that was saved");
    } else {
        screen::note(&screen.err.paint(Tone::Bad, &format!("{}:", differ(differing.len()))));
    }
    for (record, before) in &differing {
        let now = verdict(record);
        screen::note(&format!(
            "  {} · {} · {} · {}: was {} ({}), is {} ({})",
            record.case.id,
            record.arm,
            record.transport,
            record.revision,
            before.status,
            before.outcome,
            now.status,
            now.outcome
        ));
    }
    let must = differing.iter().filter(|(record, _)| record.case.body.level == Level::Must).count();
    let (code, reason) = if must > 0 {
        (exit::FAILED, format!("exit 1: {} in must trials", differ(must)))
    } else {
        run::conclusion(&Batch { records, took: Duration::ZERO, interrupted: false })
    };
    let tone = if code == exit::FINE { Tone::Good } else { Tone::Bad };
    screen::note(&screen.err.paint(tone, &reason));
    code
}

fn differ(number: usize) -> String {
    format!("{} {}", count(number, "verdict"), if number == 1 { "differs" } else { "differ" })
}
