//! Plays trials with a progress bar, and ends early on Ctrl-C.

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{
    ablate, exit,
    screen::{self, Screen},
    transcripts::{Seen, Transcripts},
};
use crate::{
    plan::{Suite, Trial},
    runner::{self, Schedule, Settings, Stop},
    score::{Record, Standing},
};

/// How trials are played.
#[derive(Debug)]
pub(super) struct Player<'a> {
    /// Where progress goes.
    pub(super) screen: &'a Screen,
    /// Without a bar.
    pub(super) quiet: bool,
    /// Threads.
    pub(super) jobs: Option<usize>,
    /// Ends it early.
    pub(super) stop: Stop,
    /// Takes every transcript.
    pub(super) transcripts: Option<&'a Transcripts>,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Batch {
    /// In the order of the plan.
    pub(super) records: Vec<Record>,
    /// How long it took.
    pub(super) took: Duration,
    /// Somebody pressed Ctrl-C.
    pub(super) interrupted: bool,
}

impl Player<'_> {
    /// Plays `trials`; what `failed` says of an unexpected one is printed when
    /// it happens.
    pub(super) fn play(&self, trials: &[Trial], mut failed: impl FnMut(&Record) -> Option<String>) -> Batch {
        let schedule = schedule(self.jobs, std::env::current_exe().ok(), self.stop.clone());
        let mut bar = Bar::new(trials, self.screen, self.quiet);
        let started = Instant::now();
        let made = |numbered: &runner::Numbered, ended| {
            // Written at once, by the thread that played: transcripts are not collected.
            let seen = self.transcripts.map(|file| (file, Seen::of(&ended)));
            let record = Record::new(&numbered.trial, ended);
            if let Some((file, seen)) = seen {
                file.write(numbered.index, &record, seen);
            }
            (numbered.index, record)
        };
        let values = runner::run(trials, &schedule, made, |(index, record)| {
            bar.finished(*index, record);
            if record.standing() == Standing::Unexpected
                && let Some(text) = failed(record)
            {
                bar.above(|| screen::note(&text));
            }
        });
        bar.end();
        let records = values.into_iter().map(|(_, record)| record).collect();
        Batch { records, took: started.elapsed(), interrupted: schedule.stop.is_stopped() }
    }
}

impl Player<'_> {
    /// Plays what the ablation tables of `cases` need, and adds it to `batch`.
    pub(super) fn ablate(&self, cases: &[Trial], batch: &mut Batch) {
        if batch.interrupted {
            return;
        }
        let Batch { records, took, interrupted } = batch;
        let apart = Player { transcripts: None, stop: self.stop.clone(), ..*self };
        ablate::complete(cases, records, |trials| {
            let more = apart.play(trials, |_| None);
            *took += more.took;
            *interrupted = more.interrupted;
            (!more.interrupted).then_some(more.records)
        });
    }
}

/// How many threads trials of this suite may have, of those that were asked for: a
/// gate that runs already serves one trial at a time.
pub(super) fn jobs(asked: Option<NonZeroUsize>, suite: &Suite) -> Option<usize> {
    let stands = suite.outside.as_ref().is_some_and(|gate| gate.standing.is_some());
    if stands { Some(1) } else { asked.map(NonZeroUsize::get) }
}

/// How trials are spread: as many threads as there are processors unless told.
pub(super) fn schedule(jobs: Option<usize>, program: Option<PathBuf>, stop: Stop) -> Schedule {
    let jobs = jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    Schedule { jobs, settings: Settings { program, ..Settings::default() }, stop, ..Schedule::default() }
}

/// From here on, the first Ctrl-C ends the run and the second one the program.
pub(super) fn listen() -> Stop {
    let stop = Stop::default();
    let heard = stop.clone();
    let (ready, is_ready) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let mut first = std::pin::pin!(asked_to_end());
            // The handler is in place once the future has been polled.
            let _ = futures_util::poll!(first.as_mut());
            let _ = ready.send(());
            if first.await.is_err() {
                return;
            }
            heard.stop();
            if asked_to_end().await.is_ok() {
                #[expect(clippy::exit, reason = "whoever presses twice doesn't want to wait")]
                std::process::exit(i32::from(exit::INCONCLUSIVE));
            }
        });
    });
    // Fails where the thread gave up: then Ctrl-C ends the program as ever.
    let _ = is_ready.recv();
    stop
}

/// Ctrl-C, or whoever ends processes kindly: gates that were started end with us.
async fn asked_to_end() -> std::io::Result<()> {
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = term.recv() => Ok(()),
    }
}

/// A bar with counts and a case that is running.
struct Bar<'a> {
    drawn: ProgressBar,
    trials: &'a [Trial],
    finished: Vec<bool>,
    /// The first trial that isn't finished. Trials are begun in order, so it is running.
    oldest: usize,
    failed: usize,
    open: usize,
}

impl<'a> Bar<'a> {
    fn new(trials: &'a [Trial], screen: &Screen, quiet: bool) -> Self {
        let bar = if quiet || !screen.err_is_terminal {
            ProgressBar::hidden()
        } else {
            let length = u64::try_from(trials.len()).unwrap_or(u64::MAX);
            let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        };
        Self { drawn: bar, trials, finished: vec![false; trials.len()], oldest: 0, failed: 0, open: 0 }
    }

    fn finished(&mut self, index: usize, record: &Record) {
        match record.standing() {
            Standing::AsExpected => {}
            Standing::Unexpected => self.failed += 1,
            Standing::Open => self.open += 1,
        }
        if let Some(finished) = self.finished.get_mut(index) {
            *finished = true;
        }
        while self.finished.get(self.oldest).is_some_and(|finished| *finished) {
            self.oldest += 1;
        }
        if self.drawn.is_hidden() {
            return;
        }
        let running = self
            .trials
            .get(self.oldest)
            .map(|trial| format!("{} {} {}", trial.prepared.case.id, trial.arm, trial.transport))
            .unwrap_or_default();
        self.drawn.inc(1);
        self.drawn.set_message(format!("{} failed, {} open · {running}", self.failed, self.open));
    }

    /// Prints something where the bar is not.
    fn above(&self, print: impl FnOnce()) {
        self.drawn.suspend(print);
    }

    fn end(&self) {
        self.drawn.finish_and_clear();
    }
}
