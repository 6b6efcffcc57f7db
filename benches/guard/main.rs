//! What `gateproof guard` costs whoever uses a server through it: a call beside the
//! same call without it, calls a second over one pool of connections, and the
//! memory that it holds after a million calls.
//!
//! `cargo bench --bench guard`, or `-- --memory 100000` for fewer calls. Machines
//! are noisy: both sides of a comparison are measured in turns, in one run.
//! `-- --mixed 600` plays a mixed load with faults for so many seconds instead, and
//! fails if anything was lost.

#![expect(clippy::expect_used, clippy::panic, reason = "a bench that can't start has nothing to measure")]
#![expect(clippy::print_stdout, reason = "a bench prints")]

mod http;
mod lines;
mod mixed;
mod place;
mod process;
mod server;
mod words;

use std::{process::ExitCode, time::Duration};

use process::{Guard, Server};

/// How often direct and guarded take turns.
const ROUNDS: usize = 25;
/// Calls in one turn.
const TURN: usize = 200;
/// Connections of the pool.
const CONNECTIONS: usize = 32;
/// Calls through the pool.
const POOLED: u32 = 50_000;
/// When memory is looked at.
const MEMORY: [usize; 4] = [10_000, 100_000, 500_000, 1_000_000];

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    match given.as_slice() {
        ["serve", "stdio"] => server::stdio(),
        ["serve", "http"] => server::http(),
        ["serve", "noisy-stdio"] => mixed::server::stdio(),
        ["serve", "noisy-http", port] => mixed::server::http(port),
        ["--mixed", seconds] => {
            return mixed::run(Duration::from_secs(seconds.parse().expect("--mixed takes a number of seconds")));
        }
        [] => measure(MEMORY[MEMORY.len() - 1]),
        ["--memory", most] => measure(most.parse().expect("--memory takes a number of calls")),
        other => panic!("unknown words {other:?}; there are --memory CALLS and --mixed SECONDS"),
    }
    ExitCode::SUCCESS
}

fn measure(most: usize) {
    println!("a call and its reply, {} each, in turns of {TURN}\n", ROUNDS * TURN);
    if let Some([apart, here]) = place::wake_up() {
        println!(
            "To wake a program takes {} here where it is on another processor, {} on",
            micros(apart),
            micros(here)
        );
        println!("the same one. A guarded call wakes twice as many as a direct one.\n");
    }
    // Everything on one processor says what the guard does; where the system puts
    // three programs on several processors, waking them may cost more than that.
    place::on_one_processor(|| latency("on one processor"));
    latency("where the system puts them");
    let server = Server::start();
    println!("{POOLED} calls over {CONNECTIONS} connections that are kept\n");
    let guard = Guard::before(&server.address, false);
    for (name, address) in [("direct", &server.address), ("guarded", &guard.address)] {
        let taken = http::pool(address, CONNECTIONS, POOLED as usize);
        println!("{name:<10} {:>10.0} calls/s", f64::from(POOLED) / taken.as_secs_f64());
    }
    println!("\nmemory that the guard holds (resident)\n");
    println!("{:>10} {:>12} {:>12}", "calls", "http", "stdio");
    let guard = Guard::before(&server.address, false);
    let mut pool = http::Pool::open(&guard.address, CONNECTIONS);
    let mut line = lines::Client::guarded(false);
    let mut done = 0;
    for until in MEMORY.into_iter().filter(|until| *until <= most) {
        pool.call(until - done);
        line.stream(until - done);
        done = until;
        println!("{until:>10} {:>12} {:>12}", mebibytes(guard.resident()), mebibytes(line.resident()));
    }
}

/// What the guard adds to a call, in each way that it is reached.
fn latency(place: &str) {
    println!("{place:<26} {:>10} {:>10} {:>12} {:>12}", "median", "p99", "+median", "+p99");
    for audited in [false, true] {
        let name = if audited { "stdio, with a log" } else { "stdio" };
        let mut guarded = lines::Client::guarded(audited);
        let mut direct = lines::Client::direct();
        compare(name, || direct.call(), || guarded.call());
    }
    let server = Server::start();
    for audited in [false, true] {
        let name = if audited { "http, with a log" } else { "http" };
        let guard = Guard::before(&server.address, audited);
        let mut guarded = http::Client::open(&guard.address);
        let mut direct = http::Client::open(&server.address);
        compare(name, || direct.call(), || guarded.call());
    }
    println!();
}

/// Times both in turns and prints a line for each.
fn compare(name: &str, mut direct: impl FnMut() -> Duration, mut guarded: impl FnMut() -> Duration) {
    let (mut plain, mut through) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for (call, times) in [(&mut direct as &mut dyn FnMut() -> Duration, &mut plain), (&mut guarded, &mut through)] {
            let turn: Vec<_> = (0..TURN).map(|_| call()).collect();
            // The first turn warms up.
            if round > 0 {
                times.extend(turn);
            }
        }
    }
    let at = |times: &mut Vec<Duration>, percent: usize| {
        times.sort_unstable();
        times[times.len() * percent / 100]
    };
    let (a, b) = (at(&mut plain, 50), at(&mut plain, 99));
    let (c, d) = (at(&mut through, 50), at(&mut through, 99));
    println!("{:<26} {:>10} {:>10}", format!("{name}: direct"), micros(a), micros(b));
    println!(
        "{:<26} {:>10} {:>10} {:>12} {:>12}",
        format!("{name}: guarded"),
        micros(c),
        micros(d),
        format!("+{}", micros(c.saturating_sub(a))),
        format!("+{}", micros(d.saturating_sub(b)))
    );
}

fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

pub(crate) fn mebibytes(bytes: usize) -> String {
    let tenths = (bytes * 10) >> 20;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}
