//! Runs many trials at once and keeps their order.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
    mpsc,
};

use tokio::sync::Notify;

use super::{Ended, Numbered, Settings, play};
use crate::{plan::Trial, transport};

/// Ends a run early: trials under way are given up, the rest is not begun.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    wake: Arc<Notify>,
}

impl Stop {
    /// Ends the run.
    pub fn stop(&self) {
        self.flag.store(true, Ordering::SeqCst);
        self.wake.notify_waiters();
    }

    /// Whether the run was ended.
    pub fn is_stopped(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    async fn stopped(&self) {
        loop {
            let wake = self.wake.notified();
            if self.is_stopped() {
                return;
            }
            wake.await;
        }
    }
}

/// How trials are spread over threads.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Threads for trials in memory; others wait on processes and sockets, and
    /// get three times as many.
    pub jobs: usize,
    /// What every trial is played with.
    pub settings: Settings,
    /// Ends the run early.
    pub stop: Stop,
}

/// Plays `trials`; `made` turns each one into a value on the thread that played
/// it, `each` sees the values as they come. Returns them in the plan's order.
///
/// Each thread has a runtime of its own and plays one trial at a time: no trial
/// can hold another up by what it computes.
pub fn run<T: Send>(
    trials: &[Trial],
    schedule: &Schedule,
    made: impl Fn(&Numbered, Ended) -> T + Sync,
    mut each: impl FnMut(&T),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let (to_caller, finished) = mpsc::channel::<(usize, T)>();
    // A real server needs a processor to start on.
    let is_live = trials.iter().any(|trial| trial.prepared.live.is_some());
    let waits = !is_live && trials.iter().any(|trial| trial.transport != transport::Kind::Memory);
    let threads = if waits { schedule.jobs * 3 } else { schedule.jobs };
    let mut values: Vec<Option<T>> = Vec::new();
    values.resize_with(trials.len(), || None);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, trials.len().max(1)) {
            let to_caller = to_caller.clone();
            let (next, made) = (&next, &made);
            scope.spawn(move || worker(trials, schedule, next, made, &to_caller));
        }
        drop(to_caller);
        for (index, value) in finished {
            each(&value);
            if let Some(slot) = values.get_mut(index) {
                *slot = Some(value);
            }
        }
    });
    values.into_iter().flatten().collect()
}

fn worker<T>(
    trials: &[Trial],
    schedule: &Schedule,
    next: &AtomicUsize,
    made: &(impl Fn(&Numbered, Ended) -> T + Sync),
    to_caller: &mpsc::Sender<(usize, T)>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    loop {
        let index = next.fetch_add(1, Ordering::SeqCst);
        let Some(trial) = trials.get(index) else { break };
        let numbered = Numbered { index, trial: trial.clone() };
        let missing = trial.prepared.live.as_ref().and_then(|live| live.missing.clone());
        let ended = match &runtime {
            Err(error) => Ended::NotPlayed(format!("no runtime: {error}")),
            Ok(_) if schedule.stop.is_stopped() => Ended::NotPlayed("the run was interrupted".to_owned()),
            Ok(_) if missing.is_some() => Ended::NotPlayed(missing.unwrap_or_default()),
            Ok(runtime) => runtime.block_on(async {
                tokio::select! {
                    biased;
                    played = play(trial, &schedule.settings) => Ended::Played(played),
                    () = schedule.stop.stopped() => Ended::NotPlayed("the run was interrupted".to_owned()),
                }
            }),
        };
        // The caller is gone only if it panicked; its panic is what matters.
        if to_caller.send((index, made(&numbered, ended))).is_err() {
            break;
        }
    }
    // Aborted tasks hold sockets and processes until their runtime is gone.
    drop(runtime.map(|runtime| runtime.shutdown_timeout(std::time::Duration::from_secs(1))));
}
