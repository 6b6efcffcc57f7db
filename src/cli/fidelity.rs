//! `fidelity`: whether honest sessions come through a gate byte for byte.

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc, time::Instant};

use bytes::Bytes;
use clap::Args;

use super::{
    args::{Chosen, Common},
    exit,
    gates::{self, GateArgs},
    progress, run,
    screen::{self, Screen},
    trouble::{self, count},
};
use crate::{
    judge::fidelity::{Change, Difference, HOP_LOCAL},
    plan::{Arm, Selection, Suite, Trial},
    protocol::Leg,
    report::{
        style::{Style, Tone, wrapped},
        transcript::apart,
    },
    runner::{self, Schedule},
    score::fidelity::{Passage, Session, by_check, counts, tally},
    transport,
};

/// Plays each honest session with nothing in the middle and through a gate, and
/// compares what the servers and the client received, byte by byte.
#[derive(Debug, Args)]
pub(super) struct FidelityArgs {
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    gate: GateArgs,
    /// What stands in the middle; `naive` and `guarded` unless given, with a gate of
    /// somebody else's `outside`.
    #[arg(long = "arm", value_name = "ARM", value_delimiter = ',')]
    arms: Vec<Arm>,
    /// What sessions travel on: `memory`, `stdio`, `http`; all unless given, with a
    /// gate the one that it is reached over.
    #[arg(long = "transport", value_name = "KIND", value_delimiter = ',', value_parser = run::kind)]
    transports: Vec<transport::Kind>,
    /// What is spoken: `2025-06-18`, …, or `all`; each case's home revision alone
    /// unless given.
    #[arg(long = "revision", value_name = "DATE", value_delimiter = ',', value_parser = run::spoken)]
    revisions: Vec<run::Spoken>,
    /// Threads for trials; as many as there are processors unless given.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Sessions of which the transcripts are held at once.
const AT_ONCE: usize = 64;

/// Changed sessions that are printed; the rest get one line.
const MOST: usize = 20;

/// Plays, prints the table, and says what to exit with.
pub(super) fn fidelity(args: &FidelityArgs, common: &Common, screen: &Screen) -> u8 {
    let suite = match trouble::load_chosen(&common.corpus, &args.chosen, screen) {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let gate = match args.gate.chosen(&suite, common) {
        Ok(gate) => gate,
        Err(code) => return code,
    };
    if gate.is_none() && args.arms.contains(&Arm::Outside) {
        screen::note("error: the arm 'outside' needs a gate: --gate, --gate-command or --gate-url");
        return exit::USAGE;
    }
    let stop = progress::listen();
    let suite = match gate {
        Some(gate) => suite.through(gates::probed(gate, &stop, screen)),
        None => suite,
    };
    let sessions = sessions(args, &suite);
    if sessions.is_empty() {
        screen::note("no honest case matches; `gateproof list` shows what there is");
        return exit::NOTHING;
    }
    let schedule = progress::schedule(progress::jobs(args.jobs, &suite), std::env::current_exe().ok(), stop);
    screen::note(&format!("{}, each twice", count(sessions.len(), "session")));
    let started = Instant::now();
    let compared = compare(&sessions, &schedule);
    if args.json {
        screen::say(&format!("{:#}", json(&compared)));
    } else {
        screen::say(&render(&compared, screen.out));
    }
    screen::note(&format!("{:.1} s", started.elapsed().as_secs_f64()));
    let (code, reason) = conclusion(&compared, schedule.stop.is_stopped());
    let tone = if code == exit::FINE { Tone::Good } else { Tone::Bad };
    screen::note(&screen.err.paint(tone, &reason));
    code
}

/// Each honest session in one arm, beside the same with nothing in the middle.
fn sessions(args: &FidelityArgs, suite: &Suite) -> Vec<(Trial, Trial)> {
    let front = suite.outside.as_ref().map(|gate| gate.front());
    let arms = match (args.arms.as_slice(), front) {
        ([], None) => vec![Arm::Naive, Arm::Guarded],
        ([], Some(_)) => vec![Arm::Outside],
        (given, _) => given.to_vec(),
    };
    let transports = match (args.transports.as_slice(), front) {
        ([], Some(front)) => vec![front],
        ([], None) => transport::Kind::ALL.to_vec(),
        (given, _) => given.to_vec(),
    };
    let revisions = run::Spoken::revisions(&args.revisions);
    let selection = Selection {
        filter: args.chosen.filter(),
        partition: args.chosen.partition,
        revisions,
        ..Selection::new(arms, transports)
    };
    let direct = |trial: &Trial| Trial { arm: Arm::Direct, prepared: Arc::clone(&trial.prepared), ..*trial };
    let is_meant = |trial: &Trial| trial.arm != Arm::Direct && counts(trial);
    let trials = selection.trials(suite).into_iter().filter(is_meant);
    trials.map(|trial| (direct(&trial), trial)).collect()
}

/// Plays every session twice and compares; what an interruption left out is open.
pub fn compare(sessions: &[(Trial, Trial)], schedule: &Schedule) -> Vec<Session> {
    let mut out = Vec::new();
    for some in sessions.chunks(AT_ONCE) {
        let trials: Vec<_> = some.iter().flat_map(|(direct, through)| [direct.clone(), through.clone()]).collect();
        let ended = runner::run(&trials, schedule, |_, ended| ended, |_| {});
        for ((_, trial), ended) in some.iter().zip(ended.chunks(2)) {
            if let [direct, through] = ended {
                out.push(Session::new(trial, direct, through));
            }
        }
    }
    out
}

fn conclusion(sessions: &[Session], interrupted: bool) -> (u8, String) {
    let count_of = |is: fn(&Passage) -> bool| sessions.iter().filter(|session| is(&session.passage)).count();
    let changed = count_of(|passage| matches!(passage, Passage::Changed(_)));
    let open = count_of(|passage| matches!(passage, Passage::Open(_)));
    if changed > 0 {
        (exit::FAILED, format!("exit 1: {} changed, and nothing accounts for it", count(changed, "session")))
    } else if open > 0 || interrupted {
        (exit::INCONCLUSIVE, format!("exit 3: {} could not be compared", count(open, "session")))
    } else {
        (exit::FINE, "exit 0: what need not change came through byte for byte".to_owned())
    }
}

fn render(sessions: &[Session], style: Style) -> String {
    let mut table = style.table(&["arm", "via", "sessions", "messages", "identical", "by a check", "changed", "open"]);
    for ((arm, transport), tally) in tally(sessions) {
        let bad = |number: usize| style.cell(if number == 0 { Tone::Plain } else { Tone::Bad }, number);
        let plain = |number: usize| style.cell(Tone::Plain, number);
        table.add_row(vec![
            style.cell(Tone::Strong, arm),
            style.cell(Tone::Plain, transport),
            plain(tally.sessions),
            plain(tally.messages),
            plain(tally.identical),
            plain(tally.by_check),
            bad(tally.changed),
            bad(tally.open),
        ]);
    }
    let legend = format!(
        "Honest sessions through a gate, held against the same with nothing in the middle: what the servers received \
         and what the client received, message by message and byte by byte. By a check: a check says that it acted \
         on the server's messages. Hop-local headers are left out ({}), and so are the cases under `faults`, whose \
         wire is broken on purpose, and over HTTP sessions with requests that are sent at once.",
        HOP_LOCAL.join(", ")
    );
    let mut out = vec![style.fitted(table, 80), style.paint(Tone::Dim, &wrapped(&legend, style.width()))];
    let checks = by_check(sessions);
    if !checks.is_empty() {
        let checks: Vec<_> = checks.into_iter().map(|(check, sessions)| format!("{check} {sessions}")).collect();
        out.push(wrapped(&format!("changed by checks: {}", checks.join(", ")), style.width()));
    }
    let mut shown = 0;
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for session in sessions {
        match &session.passage {
            Passage::Changed(changes) => {
                shown += 1;
                out.push(told(session, if shown <= MOST { changes } else { &[] }, style));
            }
            Passage::Open(why) => *open.entry(why).or_default() += 1,
            Passage::Identical | Passage::ByCheck(..) => {}
        }
    }
    out.extend(open.into_iter().map(|(why, sessions)| format!("open: {}: {why}", count(sessions, "session"))));
    out.join("\n")
}

fn told(session: &Session, changes: &[Change], style: Style) -> String {
    let head = format!("{} · {} · {} · {}", session.case, session.arm, session.transport, session.revision);
    let mut out = vec![style.paint(Tone::Bad, &format!("CHANGED {head}"))];
    for Change { at, server, what } in changes {
        let who = match at {
            Leg::Upstream => format!("{server} received"),
            Leg::Downstream => format!("the client received from {server}"),
        };
        let room = style.width().saturating_sub(15);
        let two = |one: Option<&Bytes>, other: Option<&Bytes>, what: &str| {
            let (at, [one, other]) = apart(one, other, room);
            let place = at.map(|at| format!(" from byte {at} on")).unwrap_or_default();
            format!("  {who} {what}{place}\n    direct:  {one}\n    through: {other}")
        };
        out.push(match what {
            Difference::Bytes { direct, through } => two(Some(direct), Some(through), "other bytes"),
            Difference::Lost(direct) => two(Some(direct), None, "less"),
            Difference::Made(through) => two(None, Some(through), "more"),
            Difference::Reordered => format!("  {who} the same messages in another order"),
            Difference::Dress(said) => format!("  {who} the same under other headers: {said}"),
        });
    }
    out.join("\n")
}

fn json(sessions: &[Session]) -> serde_json::Value {
    let tallies: Vec<_> = tally(sessions)
        .into_iter()
        .map(|((arm, transport), tally)| {
            serde_json::json!({ "arm": arm.to_string(), "transport": transport.as_str(), "figures": tally })
        })
        .collect();
    let not_identical: Vec<_> = sessions
        .iter()
        .filter_map(|session| {
            let (passage, why, changes) = match &session.passage {
                Passage::Identical => return None,
                Passage::ByCheck(checks, changes) => ("by-check", checks.join(", "), changes.as_slice()),
                Passage::Changed(changes) => ("changed", String::new(), changes.as_slice()),
                Passage::Open(why) => ("open", why.clone(), &[][..]),
            };
            let style = Style::new(false, 200);
            Some(serde_json::json!({
                "case": session.case.as_str(),
                "arm": session.arm.to_string(),
                "transport": session.transport.as_str(),
                "revision": session.revision.as_str(),
                "passage": passage,
                "why": why,
                "changes": told(session, changes, style).lines().skip(1).collect::<Vec<_>>(),
            }))
        })
        .collect();
    serde_json::json!({ "hop_local": HOP_LOCAL, "figures": tallies, "not_identical": not_identical })
}
