//! One trial from its wiring to its transcript.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, path::PathBuf, sync::Arc, time::Duration};

use futures_util::FutureExt as _;

use super::{approvals, wiring::Wiring};
use crate::{
    gate::{Delegation, Delegations, Guarded, Naive},
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
}

impl Default for Settings {
    fn default() -> Self {
        Self { deadlines: Deadlines::default(), trial: Duration::from_secs(30), program: None }
    }
}

/// What was seen of a trial.
#[derive(Debug)]
pub struct Played {
    /// From both sides of the gate.
    pub transcript: Transcript,
    /// What the gate says of itself.
    pub trail: Trail,
}

/// Plays a trial. Whatever goes wrong is in the transcript: a trial never
/// takes the run with it.
pub async fn play(trial: &Trial, settings: &Settings) -> Played {
    let recorder = Recorder::default();
    let gate = gate(trial);
    let attempt = AssertUnwindSafe(attempt(trial, settings, gate.clone(), recorder.clone())).catch_unwind();
    let patience = settings.trial + start(trial);
    let trouble = match tokio::time::timeout(patience, attempt).await {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(reason))) => Some(reason),
        Ok(Err(_)) => Some("the harness panicked in this trial".to_owned()),
        Err(_) => Some(format!("the trial was not over after {patience:?}")),
    };
    if let Some(trouble) = trouble {
        recorder.event(Event::Trouble(trouble));
    }
    Played { transcript: recorder.take(), trail: gate.map(|gate| gate.trail()).unwrap_or_default() }
}

async fn attempt(
    trial: &Trial,
    settings: &Settings,
    gate: Option<SharedGate>,
    recorder: Recorder,
) -> Result<(), String> {
    let prepared = &trial.prepared;
    let streams = prepared.case.body.steps.iter().any(crate::case::speaks_unasked);
    let wiring = Wiring::new(prepared, trial.transport, gate, settings.program.clone(), recorder.clone(), streams)
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
fn gate(trial: &Trial) -> Option<SharedGate> {
    let arm = trial.arm;
    match arm {
        Arm::Direct => return None,
        Arm::Naive => return Some(SharedGate::new(|| Box::new(Naive))),
        _ => {}
    }
    let (rules, delegations) = (trial.prepared.rules.clone(), delegations(&trial.prepared));
    let store = approvals::store(&trial.prepared.case.body.host);
    let surroundings = Arc::new(trial.prepared.surroundings.afresh());
    let policy = rules.checks();
    let reference = move || {
        let gate = Guarded::new(rules.clone(), delegations.clone());
        gate.with_store(Arc::clone(&store)).with_surroundings(Arc::clone(&surroundings) as _)
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
