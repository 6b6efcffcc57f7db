//! Clients on HTTP, whose server is killed and started again behind their backs.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{Deed, Ledger, Outcome, PATIENCE, Random};
use crate::{
    http::{Answer, Connection, IN_SESSION, open_session},
    process::{Guard, Server},
};

const HOW: &str = "http";
/// How long a server lives.
const LIFE: Duration = Duration::from_secs(10);
/// So that others get to work on the machine, too.
const PAUSE: Duration = Duration::from_millis(5);

/// What all clients share.
pub(crate) struct Load {
    guard: Guard,
    server: Mutex<Server>,
    /// Odd while the server is being replaced; counts up with each change.
    generation: AtomicU64,
    last: AtomicU64,
}

impl Load {
    pub(crate) fn start() -> Self {
        let server = Server::noisy("0");
        let guard = Guard::before(&server.address, false);
        let mut first = Connection::open(&guard.address, PATIENCE).expect("the guard listens");
        let listed = open_session(&mut first).expect("a session");
        assert!(listed.contains("climb"), "the server lists its tools: {listed}");
        Self { guard, server: Mutex::new(server), generation: AtomicU64::new(0), last: AtomicU64::new(10) }
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }
}

/// Kills the server and starts it again, on the same port, until it is over.
pub(crate) fn restart(load: &Load, over: &AtomicBool, ledger: &Ledger) {
    let mut due = Instant::now() + LIFE;
    while !over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(100));
        ledger.memory(HOW, load.guard.resident());
        if Instant::now() >= due {
            load.generation.fetch_add(1, Ordering::SeqCst);
            load.server.lock().unwrap_or_else(PoisonError::into_inner).restart();
            load.generation.fetch_add(1, Ordering::SeqCst);
            ledger.died("the server on HTTP");
            due = Instant::now() + LIFE;
        }
    }
}

/// Asks one thing after another.
pub(crate) fn client(number: usize, until: Instant, load: &Load, ledger: &Ledger) {
    let mut random = Random::new(100 + number);
    let connect = || Connection::open(&load.guard.address, PATIENCE).expect("the guard listens");
    let mut connection = connect();
    while Instant::now() < until {
        thread::sleep(PAUSE);
        let id = load.last.fetch_add(1, Ordering::Relaxed);
        let deed = match random.deed() {
            Deed::Cancelled if random.next() % 4 == 0 => Deed::Fatal,
            // On HTTP somebody else would have to cancel it.
            Deed::Cancelled => Deed::Left,
            deed => deed,
        };
        let word = format!("word-{number}-{id}-{:x}", random.next());
        let message = deed.message(id, &word);
        if deed == Deed::Left {
            let mut leaving =
                Connection::open(&load.guard.address, Duration::from_millis(5)).expect("the guard listens");
            // Goes away before the answer comes.
            let _ = leaving.post(&message, IN_SESSION);
            ledger.ended(HOW, deed, Outcome::Dropped);
            continue;
        }
        let before = load.generation();
        match connection.post(&message, IN_SESSION) {
            Ok(answer) => {
                let steady = before % 2 == 0 && before == load.generation();
                judge(deed, id, &word, &answer, steady, ledger);
            }
            Err(error) => {
                ledger.trouble(HOW, deed, Outcome::Lost, &format!("{id}: {error}"));
                connection = connect();
            }
        }
    }
}

/// `steady`: the server lived all the while.
fn judge(deed: Deed, id: u64, word: &str, answer: &Answer, steady: bool, ledger: &Ledger) {
    let Answer { status, body } = answer;
    let wrong = || ledger.trouble(HOW, deed, Outcome::Wrong, &format!("{id}: {status} {body}"));
    if body.contains("leaked") {
        return wrong();
    }
    let events: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let texts = if events.is_empty() { vec![body.as_str()] } else { events };
    let messages: Vec<Value> = texts.into_iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    let replies: Vec<&Value> = messages.iter().filter(|message| message["method"].is_null()).collect();
    let [reply] = replies.as_slice() else {
        // An error of the transport, without a message.
        return match deed {
            Deed::Malformed if *status >= 400 => ledger.ended(HOW, deed, Outcome::Refused),
            Deed::Fatal if *status >= 500 => ledger.ended(HOW, deed, Outcome::Failed),
            _ if *status >= 500 && !steady => ledger.ended(HOW, deed, Outcome::Failed),
            _ => wrong(),
        };
    };
    let failed = reply["error"].is_object();
    if deed == Deed::Malformed {
        return if failed { ledger.ended(HOW, deed, Outcome::Refused) } else { wrong() };
    }
    if reply["id"].as_u64() != Some(id) {
        return wrong();
    }
    let climbed: Vec<f64> = messages.iter().filter_map(|message| message["params"]["progress"].as_f64()).collect();
    let own = messages.iter().all(|message| {
        message["params"]["progressToken"].is_null() || message["params"]["progressToken"].as_u64() == Some(id)
    });
    let text = reply["result"]["content"][0]["text"].as_str().unwrap_or_default();
    let right = text.contains(word) && !text.split(' ').any(|part| !part.is_empty() && part != word);
    match deed {
        Deed::Forbidden if failed => ledger.ended(HOW, deed, Outcome::Refused),
        Deed::Fatal if failed => ledger.ended(HOW, deed, Outcome::Failed),
        Deed::Forbidden | Deed::Fatal => wrong(),
        _ if failed && !steady => ledger.ended(HOW, deed, Outcome::Failed),
        Deed::Climb if climbed != [1.0, 2.0, 3.0] => wrong(),
        _ if right && own => ledger.ended(HOW, deed, Outcome::Answered),
        _ => wrong(),
    }
}
