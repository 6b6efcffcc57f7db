//! On which processors programs run, and what it costs to wake them there.

use std::{
    io::{Read as _, Write as _},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// How often a program is woken to see what that takes.
const ROUNDS: usize = 2000;

/// Does `work` with this program, and those that it starts, on one processor.
pub(crate) fn on_one_processor(work: impl FnOnce()) {
    let all = sched_getaffinity(None).expect("this program's processors");
    let first = processors(&all).next().expect("a processor");
    stay_on(&first);
    work();
    stay_on(&all);
}

/// What it takes to wake a program on another processor, and on the same one; nothing
/// where there is only one.
pub(crate) fn wake_up() -> Option<[Duration; 2]> {
    let all = sched_getaffinity(None).ok()?;
    let (here, there) = (processors(&all).next()?, processors(&all).nth(1)?);
    let times = [there, here].map(|place| {
        stay_on(&place);
        let mut echo = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cat starts");
        stay_on(&here);
        let time = there_and_back(&mut echo) / 2;
        super::process::end(&mut echo);
        time
    });
    stay_on(&all);
    Some(times)
}

fn stay_on(processors: &CpuSet) {
    sched_setaffinity(None, processors).expect("a choice of processors");
}

/// The median of a byte's way to a program and back.
fn there_and_back(echo: &mut Child) -> Duration {
    let (mut to, mut from) = (echo.stdin.take().expect("its input"), echo.stdout.take().expect("its output"));
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            to.write_all(b"x").expect("it reads");
            from.read_exact(&mut [0]).expect("it answers");
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

/// Each processor by itself.
fn processors(all: &CpuSet) -> impl Iterator<Item = CpuSet> + '_ {
    (0..CpuSet::MAX_CPU).filter(|number| all.is_set(*number)).map(|number| {
        let mut one = CpuSet::new();
        one.set(number);
        one
    })
}
