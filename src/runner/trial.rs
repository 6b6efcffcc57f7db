//! One trial from its wiring to its transcript.

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;

use super::{approvals, outside, wiring::Wiring};
use crate::{
    case,
    gate::{Delegation, Delegations, Guarded, Meter, Naive, Spent, Stopwatch},
    plan::{Arm, Prepared, Trial},
    relay::SharedGate,
    session::{Deadlines, Session},
    transcript::{Event, Recorder, Trail, Transcript},
};

/// What every trial is played with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long single steps may take.
    pub deadlines: Deadlines,
    /// How long a whole trial may take before it is blocked.
    pub trial: Duration,
    /// This program, which child processes are started from (`__bridge`).
    /// Without it, stdio trials are blocked.
    pub program: Option<PathBuf>,
    /// Whether the reference gate is given a clock, to say what each check takes.
    pub stopwatch: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { deadlines: Deadlines::default(), trial: Duration::from_secs(30), program: None, stopwatch: false }
    }
}

/// What was seen of a trial.
#[derive(Debug)]
pub struct Played {
    /// From both sides of the gate.
    pub transcript: Transcript,
    /// What the gate says of itself.
    pub trail: Trail,
    /// What the reference gate took; `None` where nobody measured.
    pub spent: Option<Spent>,
}

/// The clock of a measured gate.
#[derive(Debug)]
struct Wall(Instant);

impl Stopwatch for Wall {
    fn nanos(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Played {
    /// A trial of which it is known beforehand that it can't be judged.
    pub fn blocked(why: &str) -> Self {
        let events = vec![Event::Trouble(why.to_owned())];
        Self { transcript: Transcript { events, ..Transcript::default() }, trail: Trail::default(), spent: None }
    }
}

/// Plays a trial. Whatever goes wrong is in the transcript: a trial never
/// takes the run with it.
pub async fn play(trial: &Trial, settings: &Settings) -> Played {
    let recorder = Recorder::default();
    // Only a reference gate can say what its parts take.
    let is_measured = settings.stopwatch && trial.arm.checks(trial.prepared.rules.checks()).is_some();
    let meter = is_measured.then(|| Arc::new(Meter::new(Wall(Instant::now()))));
    let gate = gate(trial, meter.as_ref());
    let attempt = AssertUnwindSafe(attempt(trial, settings, gate.clone(), recorder.clone())).catch_unwind();
    let patience = outside::patience(trial, settings) + start(trial);
    let trouble = match tokio::time::timeout(patience, attempt).await {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(reason))) => Some(reason),
        Ok(Err(_)) => Some("the harness panicked in this trial".to_owned()),
        Err(_) => Some(format!("the trial was not over after {patience:?}")),
    };
    if let Some(trouble) = trouble {
        recorder.event(Event::Trouble(trouble));
    }
    Played {
        transcript: recorder.take(),
        trail: gate.map(|gate| gate.trail()).unwrap_or_default(),
        spent: meter.map(|meter| meter.spent()),
    }
}

async fn attempt(
    trial: &Trial,
    settings: &Settings,
    gate: Option<SharedGate>,
    recorder: Recorder,
) -> Result<(), String> {
    if trial.arm == Arm::Outside {
        return outside::attempt(trial, settings, recorder).await;
    }
    let prepared = &trial.prepared;
    let streams = prepared.case.body.steps.iter().any(|step| case::speaks_unasked(step) || case::listens(step));
    let wiring =
        Wiring::new(prepared, trial.transport, gate, settings.program.clone(), recorder.clone(), streams, None)
            .await
            .map_err(|error| format!("the servers can't be started: {error}"))?;
    let deadlines = Deadlines { step: settings.deadlines.step.max(start(trial)), ..settings.deadlines };
    let session = Session::new(&prepared.case, trial.revision, recorder.clone(), deadlines, wiring);
    let wiring = session.play().await?;
    recorder.with(|transcript| transcript.states = wiring.states());
    wiring.check().await
}

/// How long its server may take to start: no time, unless it is a real one.
fn start(trial: &Trial) -> Duration {
    trial.prepared.live.as_ref().map_or(Duration::ZERO, |live| live.program.start)
}

/// The gate of a trial. One that restarts is made anew from the same rules,
/// delegations and store.
fn gate(trial: &Trial, meter: Option<&Arc<Meter>>) -> Option<SharedGate> {
    let arm = trial.arm;
    match arm {
        Arm::Direct | Arm::Outside => return None,
        Arm::Naive => return Some(SharedGate::new(|| Box::new(Naive))),
        _ => {}
    }
    let (rules, delegations) = (trial.prepared.rules.clone(), delegations(&trial.prepared));
    let store = approvals::store(&trial.prepared.case.body.host);
    let surroundings = Arc::new(trial.prepared.surroundings.afresh());
    let (policy, meter) = (rules.checks(), meter.cloned());
    let reference = move || {
        let gate = Guarded::new(rules.clone(), delegations.clone());
        let gate = gate.with_store(Arc::clone(&store)).with_surroundings(Arc::clone(&surroundings) as _);
        match &meter {
            Some(meter) => gate.with_meter(Arc::clone(meter)),
            None => gate,
        }
    };
    Some(SharedGate::new(move || match arm {
        Arm::Control(control) => control.gate(reference()),
        Arm::Mutant(mutation, check) => mutation.gate(check, reference(), policy),
        _ => Box::new(reference().enforcing(arm.checks(policy).unwrap_or(policy))),
    }))
}

/// The tokens that the host of this case holds for its user.
fn delegations(prepared: &Arc<Prepared>) -> Delegations {
    let host = &prepared.case.body.host;
    let Some(user) = &host.user else { return BTreeMap::new() };
    prepared
        .servers
        .iter()
        .filter(|(name, _)| host.delegations.as_ref().is_none_or(|held| held.contains(name)))
        .filter_map(|(name, server)| {
            let (token, scopes) = server.token_of(user)?;
            Some((name.clone(), Delegation { token: token.to_owned(), scopes: scopes.to_vec() }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{
        plan::{Arm, Suite},
        protocol::Revision,
        transport::Kind,
    };

    #[test]
    fn a_gate_is_measured_only_where_it_was_given_a_clock() {
        let suite = Suite::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/corpus")).unwrap();
        let prepared = suite.cases.iter().find(|prepared| prepared.case.id.as_str() == "notes.read").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let play = |arm, stopwatch| {
            let trial =
                Trial { prepared: Arc::clone(prepared), arm, transport: Kind::Memory, revision: Revision::DEFAULT };
            runtime.block_on(play(&trial, &Settings { stopwatch, ..Settings::default() }))
        };
        let played = play(Arm::Guarded, true);
        let spent = played.spent.unwrap();
        let inside = spent.facts + spent.checks.values().sum::<Duration>();
        assert!(spent.facts > Duration::ZERO && !spent.checks.is_empty());
        assert!(inside <= spent.whole, "{inside:?} of {:?}", spent.whole);
        assert!(played.transcript.marks.iter().all(|mark| mark.took.is_some_and(|took| took > Duration::ZERO)));
        for (arm, stopwatch) in [(Arm::Guarded, false), (Arm::Naive, true), (Arm::Direct, true)] {
            assert_eq!(play(arm, stopwatch).spent, None);
        }
    }
}
