//! A mixed load: honest calls, refused ones, cancelled ones, large ones, clients
//! that leave, servers that make noise, die and come back, for minutes. Every
//! answer is looked at: nothing may be lost, nothing may come twice, and nobody
//! may get what is another's.

mod http;
mod ledger;
mod lines;
pub(crate) mod server;

use std::{
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

pub(crate) use ledger::{Ledger, Outcome};

/// Sessions on standard streams; the server of the first never dies.
const SESSIONS: usize = 4;
/// Clients on HTTP, in one session.
const CLIENTS: usize = 16;
/// Whoever waits longer for an answer has lost it.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deed {
    Echo,
    Large,
    Slow,
    Climb,
    Forbidden,
    Cancelled,
    Malformed,
    Left,
    Fatal,
}

impl Deed {
    /// The next one, by a number without a pattern.
    fn pick(random: u64) -> Self {
        match random % 64 {
            0..=31 => Self::Echo,
            32..=37 => Self::Large,
            38..=43 => Self::Slow,
            44..=49 => Self::Climb,
            50..=55 => Self::Forbidden,
            56..=59 => Self::Cancelled,
            60..=61 => Self::Malformed,
            _ => Self::Left,
        }
    }

    /// The call, in which `word` is nobody else's.
    pub(crate) fn message(self, id: u64, word: &str) -> String {
        let (tool, times) = match self {
            Self::Malformed => return format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call""#),
            Self::Echo => ("echo", 1),
            Self::Large => ("echo", 2_000),
            Self::Slow | Self::Cancelled | Self::Left => ("slow", 1),
            Self::Climb => ("climb", 1),
            Self::Forbidden => ("forbidden", 1),
            Self::Fatal => ("die", 1),
        };
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"word":"{word}","times":{times}}},"_meta":{{"progressToken":{id}}}}}}}"#
        )
    }
}

/// Numbers without a pattern, the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: usize) -> Self {
        Self(0x9E37_79B9_7F4A_7C15 ^ seed as u64)
    }

    pub(crate) fn next(&mut self) -> u64 {
        // Marsaglia's xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn deed(&mut self) -> Deed {
        Deed::pick(self.next() >> 20)
    }
}

/// Runs for `length` and says how it went.
pub(crate) fn run(length: Duration) -> ExitCode {
    let (ledger, over) = (Ledger::default(), AtomicBool::new(false));
    let until = Instant::now() + length;
    thread::scope(|scope| {
        for number in 0..SESSIONS {
            let ledger = &ledger;
            scope.spawn(move || lines::session(number, until, ledger));
        }
        let load = http::Load::start();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (load, ledger) = (&load, &ledger);
                scope.spawn(move || http::client(number, until, load, ledger))
            })
            .collect();
        let (load, over, ledger) = (&load, &over, &ledger);
        let keeper = scope.spawn(move || http::restart(load, over, ledger));
        for client in clients {
            let _ = client.join();
        }
        over.store(true, Ordering::Relaxed);
        let _ = keeper.join();
    });
    ledger.print();
    if ledger.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
