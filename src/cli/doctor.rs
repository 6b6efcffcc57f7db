//! `doctor`: whether the harness finds out gates that are wrong on purpose.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;

use super::{
    args::Common,
    exit, progress,
    screen::{self, Screen},
    trouble::{self, count},
};
use crate::{
    case::{Kind, Stage},
    controls::{Control, Mutation},
    gate::checks,
    plan::{Arm, Selection, Suite, Trial},
    report::style::Tone,
    runner::{self, Schedule, Settings},
    score::{Diagnosis, Mutant, Record, Seen, doctor},
    session::Deadlines,
    transport,
};

/// Plays gates that are wrong on purpose and says whether the harness finds out.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Threads for trials.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Prints the table, and the mutants that survive.
pub(super) fn doctor(args: &DoctorArgs, common: &Common, screen: &Screen) -> u8 {
    let suite = match trouble::load(&common.corpus, screen) {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    if suite.cases.is_empty() {
        screen::note("there are no cases, so no gate can be found out");
        return exit::NOTHING;
    }
    let program = std::env::current_exe().ok();
    let schedule = progress::schedule(args.jobs.map(NonZeroUsize::get), program, progress::listen());
    let started = Instant::now();
    let Some(diagnosis) = examine(&suite, &schedule, &mut |said| screen::note(said)) else {
        screen::note("exit 3: interrupted, nothing can be said of the harness");
        return exit::INCONCLUSIVE;
    };
    if args.json {
        let Diagnosis { controls, mutants } = &diagnosis;
        let all = serde_json::json!({ "holds": diagnosis.holds(), "controls": controls, "mutants": mutants });
        screen::say(&format!("{all:#}"));
    } else {
        screen::say(&render(&diagnosis, screen));
    }
    screen::note(&format!("{:.1} s", started.elapsed().as_secs_f64()));
    let (code, tone, word) = if diagnosis.holds() {
        (exit::FINE, Tone::Good, "every control gate and every mutant was found out")
    } else {
        (exit::FAILED, Tone::Bad, "the harness does not find out every gate that is wrong")
    };
    screen::note(&screen.err.paint(tone, &format!("exit {code}: {word}")));
    code
}

/// What the widest row takes, in columns.
const ROOM: usize = 100;

fn render(diagnosis: &Diagnosis, screen: &Screen) -> String {
    let style = screen.out;
    let mut table = style.table(&["gate", "via", "expected", "seen", "ok"]);
    for row in &diagnosis.controls {
        let seen = row.seen.iter().map(|seen| format!("{} {}", seen.what, seen.rate)).collect::<Vec<_>>().join("\n");
        let (tone, word) = if row.holds { (Tone::Good, "yes") } else { (Tone::Bad, "NO") };
        table.add_row(vec![
            style.cell(Tone::Strong, &row.gate),
            style.cell(Tone::Plain, row.via),
            style.cell(Tone::Plain, row.expected),
            style.cell(Tone::Plain, seen),
            style.cell(tone, word),
        ]);
    }
    let mut out = vec![style.fitted(table, ROOM)];
    for row in &diagnosis.controls {
        for seen in row.seen.iter().filter(|seen| !Seen::holds(seen)) {
            let must = if seen.all { "all" } else { "none" };
            let head = format!("{} ({}): {} {}, must be {must}", row.gate, row.via, seen.what, seen.rate);
            out.push(style.paint(Tone::Bad, &head));
            out.extend(seen.against.iter().map(|case| format!("  {case}")));
        }
    }
    let killed = diagnosis.mutants.len() - diagnosis.survivors().count();
    let tone = if diagnosis.survivors().next().is_none() { Tone::Good } else { Tone::Bad };
    out.push(style.paint(tone, &format!("mutants: killed {killed} of {}", diagnosis.mutants.len())));
    for mutation in Mutation::ALL {
        let prefix = format!("mutant:{mutation}:");
        let of: Vec<_> = diagnosis.mutants.iter().filter(|mutant| mutant.gate.starts_with(&prefix)).collect();
        let killed = of.iter().filter(|mutant| mutant.killed_by.is_some()).count();
        out.push(format!("  {killed} of {} {mutation}: a check that {}", of.len(), mutation.what()));
    }
    for Mutant { gate, tried, .. } in diagnosis.survivors() {
        out.push(format!(
            "  {} {gate}: {} could tell",
            style.paint(Tone::Bad, "survives"),
            if *tried == 0 { "no case".to_owned() } else { format!("none of {}", count(*tried, "case")) }
        ));
    }
    out.join("\n")
}

/// How often a mutant is played before it counts as surviving: so many cases in
/// each round, the likeliest ones first.
const ROUNDS: [usize; 4] = [1, 3, 6, 10];

/// Examines the harness with control gates and mutants; `None` where it was
/// interrupted. `say` hears what is going on.
///
/// One variant of each case file is played, on its cheapest transport; some are
/// played over HTTP too.
pub fn examine(suite: &Suite, schedule: &Schedule, say: &mut dyn FnMut(&str)) -> Option<Diagnosis> {
    let every = Selection::new([Arm::Guarded], transport::Kind::ALL).trials_at_home(suite);
    // Wherever bytes count, each variant is spelled in a way of its own.
    let is_spelled = |trial: &&Trial| trial.prepared.case.id.category() == doctor::FIDELITY;
    let spelled: Vec<_> = every.iter().filter(is_spelled).cloned().collect();
    let home = once_each(every);
    let http = sample(&home);
    let play = |trials: &[Trial], wait| play(trials, schedule, wait);

    say(&format!(
        "{}: the reference gate, then {}",
        count(home.len(), "case"),
        count(Control::ALL.len(), "control gate")
    ));
    let guarded = play(&home, Deadlines::default())?;
    let mut records = play(&http, Deadlines::default())?;
    for (wait, trials) in controls((&home, &guarded), (&http, &records), &spelled) {
        records.extend(play(&trials, wait)?);
    }

    let arms: Vec<_> =
        checks::ALL.iter().flat_map(|check| Mutation::ALL.map(|mutation| (mutation, check.docs().id))).collect();
    say(&format!("{} of {}", count(arms.len(), "mutant"), count(checks::ALL.len(), "check")));
    let mut mutants = Vec::new();
    let mut left = Vec::new();
    for (mutation, check) in arms {
        let gate = Arm::Mutant(mutation, check);
        left.push((gate, doctor::candidates(&guarded, mutation, check).into_iter()));
        mutants.push(Mutant { gate: gate.to_string(), killed_by: None, tried: 0 });
    }
    for round in ROUNDS {
        let mut trials = Vec::new();
        for ((arm, candidates), mutant) in left.iter_mut().zip(&mut mutants) {
            if mutant.killed_by.is_none() {
                let next = candidates.by_ref().take(round).filter_map(|index| home.get(index)).cloned();
                trials.extend(next.map(|trial| Trial { arm: *arm, ..trial }));
            }
        }
        for record in play(&trials, Deadlines::default())? {
            let name = record.arm.to_string();
            if let Some(mutant) = mutants.iter_mut().find(|mutant| mutant.gate == name && mutant.killed_by.is_none()) {
                mutant.tried += 1;
                mutant.killed_by = doctor::kills(&record).then(|| record.case.id.to_string());
            }
        }
    }
    records.extend(guarded);
    Some(Diagnosis { controls: doctor::controls(&records), mutants })
}

/// What is played of the control gates, with the waits: the trials at home and
/// over HTTP come with what the reference gate made of them; in `spelled` every byte
/// counts.
fn controls(
    home: (&[Trial], &[Record]),
    http: (&[Trial], &[Record]),
    spelled: &[Trial],
) -> Vec<(Deadlines, Vec<Trial>)> {
    // Where nothing had to be denied, there is nothing to leak.
    let due = |(trials, guarded): (&[Trial], &[Record])| {
        let both = trials.iter().zip(guarded).filter(|(_, record)| doctor::denied_before(record));
        both.map(|(trial, _)| trial.clone()).collect::<Vec<_>>()
    };
    let leaks = [due(home), due(http)].concat();
    let everywhere = [home.0, http.0].concat();
    let is_attack = |trial: &&Trial| trial.prepared.case.body.kind == Kind::Attack;
    let attacks: Vec<_> = home.0.iter().filter(is_attack).cloned().collect();
    let of = |control: Control| {
        let trials = match control {
            Control::PassThrough | Control::Dead | Control::Hanging => home.0,
            Control::DenyAll | Control::CannedYes => &everywhere,
            Control::Leaky | Control::Mute => &leaks,
            Control::WrongReason => &attacks,
            Control::Retyping => spelled,
        };
        (deadlines(control), in_arm(trials, Arm::Control(control)))
    };
    Control::ALL.map(of).into()
}

/// How long a control gate is waited for.
///
/// A short wait can't turn a failure into a pass under a gate that forwards
/// nothing: no server is asked, so nothing is under way that a longer wait would
/// bring, and what it answers itself is there at once. A leaky gate is found out
/// by what has come.
fn deadlines(control: Control) -> Deadlines {
    let brief = |step| Deadlines {
        step: Duration::from_millis(step),
        settle: Duration::from_millis(step.min(50)),
        ..Deadlines::default()
    };
    match control {
        Control::Hanging | Control::Mute => brief(10),
        Control::Dead | Control::DenyAll | Control::CannedYes => brief(200),
        Control::PassThrough | Control::Retyping | Control::Leaky | Control::WrongReason => Deadlines::default(),
    }
}

/// Of each case file the first trial.
fn once_each(trials: Vec<Trial>) -> Vec<Trial> {
    let mut seen = BTreeSet::new();
    trials.into_iter().filter(|trial| seen.insert(trial.prepared.case.file.clone())).collect()
}

/// Of each category an attack whose request must be denied and an honest case,
/// over HTTP, where home is elsewhere.
fn sample(home: &[Trial]) -> Vec<Trial> {
    let mut found = BTreeMap::new();
    for trial in home {
        let body = &trial.prepared.case.body;
        let is_due = body.expect.refusal.as_ref().is_some_and(|refusal| refusal.stage == Stage::Request);
        let elsewhere = trial.transport != transport::Kind::Http && body.transports.contains(&transport::Kind::Http);
        if elsewhere && (body.kind == Kind::Benign || (body.kind == Kind::Attack && is_due)) {
            let category = trial.prepared.case.id.category();
            found.entry((category, body.kind)).or_insert(trial);
        }
    }
    found.into_values().map(|trial| Trial { transport: transport::Kind::Http, ..trial.clone() }).collect()
}

fn in_arm(trials: &[Trial], arm: Arm) -> Vec<Trial> {
    trials.iter().map(|trial| Trial { prepared: Arc::clone(&trial.prepared), arm, ..*trial }).collect()
}

fn play(trials: &[Trial], schedule: &Schedule, deadlines: Deadlines) -> Option<Vec<Record>> {
    let settings = Settings { deadlines, ..schedule.settings.clone() };
    let schedule = Schedule { settings, ..schedule.clone() };
    let made = |numbered: &runner::Numbered, ended| Record::new(&numbered.trial, ended);
    let records = runner::run(trials, &schedule, made, |_| {});
    (!schedule.stop.is_stopped()).then_some(records)
}
