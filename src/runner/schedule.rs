//! Runs many trials at once and keeps their order.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
    mpsc,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::Notify;

use super::{Ended, Numbered, Played, Settings, play};
use crate::plan::{self, Arm, Trial};

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

    pub(super) async fn stopped(&self) {
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
    /// Threads.
    pub jobs: usize,
    /// Trials that a thread has under way at once: while one waits for a
    /// deadline, a process or a socket, others go on. With 1, what a trial takes
    /// is its own.
    pub at_once: usize,
    /// What every trial is played with.
    pub settings: Settings,
    /// Ends the run early.
    pub stop: Stop,
}

impl Default for Schedule {
    fn default() -> Self {
        Self { jobs: 1, at_once: 8, settings: Settings::default(), stop: Stop::default() }
    }
}

/// Plays `trials`; `made` turns each one into a value on the thread that played
/// it, `each` sees the values as they come. Returns them in the plan's order.
///
/// Each thread has a runtime of its own, on which a few trials take turns.
pub fn run<T: Send>(
    trials: &[Trial],
    schedule: &Schedule,
    made: impl Fn(&Numbered, Ended) -> T + Sync,
    mut each: impl FnMut(&T),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let (to_caller, finished) = mpsc::channel::<(usize, T)>();
    let mut values: Vec<Option<T>> = Vec::new();
    values.resize_with(trials.len(), || None);
    std::thread::scope(|scope| {
        for _ in 0..schedule.jobs.clamp(1, trials.len().max(1)) {
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
    let take = || {
        let index = next.fetch_add(1, Ordering::SeqCst);
        trials.get(index).map(|trial| Numbered { index, trial: trial.clone() })
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            while let Some(numbered) = take() {
                let value = made(&numbered, Ended::NotPlayed(format!("no runtime: {error}")));
                // The caller is gone only if it panicked; its panic is what matters.
                let _ = to_caller.send((numbered.index, value));
            }
            return;
        }
    };
    // A real server, or a gate, needs a processor to start on.
    let starts = |trial: &Trial| trial.prepared.live.is_some() || trial.arm == Arm::Outside;
    let at_once = if trials.iter().any(starts) { 1 } else { schedule.at_once.max(1) };
    runtime.block_on(async {
        let mut under_way = FuturesUnordered::new();
        loop {
            while under_way.len() < at_once
                && let Some(numbered) = take()
            {
                under_way.push(one(numbered, schedule));
            }
            let Some((numbered, ended)) = under_way.next().await else { break };
            let _ = to_caller.send((numbered.index, made(&numbered, ended)));
        }
    });
    // Aborted tasks hold sockets and processes until their runtime is gone.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
}

async fn one(numbered: Numbered, schedule: &Schedule) -> (Numbered, Ended) {
    let interrupted = || Ended::NotPlayed("the run was interrupted".to_owned());
    if schedule.stop.is_stopped() {
        return (numbered, interrupted());
    }
    if let Some(missing) = numbered.trial.prepared.live.as_ref().and_then(|live| live.missing.clone()) {
        return (numbered, Ended::NotPlayed(missing));
    }
    if numbered.trial.arm == Arm::Outside
        && let Some(outside) = &numbered.trial.prepared.outside
    {
        let missing = outside.missing.clone();
        if let Some(reason) = missing.or_else(|| plan::outside::untestable(&numbered.trial.prepared, outside)) {
            return (numbered, Ended::NotPlayed(reason));
        }
        if let Some(broken) = &outside.broken {
            let played = Played::blocked(broken);
            return (numbered, Ended::Played(played));
        }
    }
    let ended = tokio::select! {
        biased;
        played = play(&numbered.trial, &schedule.settings) => Ended::Played(played),
        () = schedule.stop.stopped() => interrupted(),
    };
    (numbered, ended)
}
