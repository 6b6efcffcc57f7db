//! Sessions on standard streams.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{Deed, Ledger, Outcome, PATIENCE, Random};
use crate::{process, words};

const HOW: &str = "stdio";
/// Requests that are under way at once.
const WINDOW: u64 = 16;
/// After how many windows a server dies.
const LIFE: u64 = 100;
/// So that others get to work on the machine, too.
const PAUSE: Duration = Duration::from_millis(10);

struct Session {
    process: Child,
    to_server: ChildStdin,
    heard: Receiver<String>,
    last: u64,
    /// Requests that need no answer, and may have one late.
    cancelled: BTreeSet<u64>,
    /// Lines that were no JSON and have not been objected to.
    malformed: usize,
    _folder: TempDir,
}

/// Uses servers one after another; that of the first session never dies.
pub(crate) fn session(number: usize, until: Instant, ledger: &Ledger) {
    let mut random = Random::new(number + 1);
    while Instant::now() < until {
        let mut session = Session::open();
        for window in 1.. {
            if Instant::now() >= until {
                break;
            }
            let fatal = number > 0 && window % LIFE == 0;
            session.window(number, &mut random, fatal, ledger);
            if fatal {
                ledger.died("a server on standard streams");
                break;
            }
            if number == 0 && window % 50 == 0 {
                ledger.memory(HOW, process::resident(&session.process));
            }
            thread::sleep(PAUSE);
        }
        process::end(&mut session.process);
    }
}

/// What a window waits for.
#[derive(Default)]
struct Waiting {
    /// Requests by id, with the word that only their answer holds.
    open: BTreeMap<u64, (Deed, String)>,
    /// How far each has come.
    progress: BTreeMap<u64, f64>,
    cancelled: BTreeSet<u64>,
    malformed: usize,
}

impl Session {
    fn open() -> Self {
        let (mut command, folder) = process::guard(false);
        command.arg("--").arg(std::env::current_exe().expect("this program")).args(["serve", "noisy-stdio"]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the guard starts");
        let to_server = process.stdin.take().expect("its input");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        let (say, heard) = mpsc::channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| say.send(line)));
        let mut session =
            Self { process, to_server, heard, last: 1, cancelled: BTreeSet::new(), malformed: 0, _folder: folder };
        session.say(words::OPEN);
        session.heard.recv_timeout(PATIENCE).expect("the session opens");
        session.say(words::READY);
        session
    }

    fn say(&mut self, message: &str) {
        // That nobody reads shows in that nobody answers.
        let _ = self.to_server.write_all(format!("{message}\n").as_bytes());
    }

    fn window(&mut self, number: usize, random: &mut Random, fatal: bool, ledger: &Ledger) {
        let cancelled = std::mem::take(&mut self.cancelled);
        let mut waiting = Waiting { cancelled, malformed: self.malformed, ..Waiting::default() };
        // What is sent after a server died may find nobody who reads it.
        let mut unread = BTreeSet::new();
        for nth in 0..WINDOW {
            self.last += 1;
            let id = self.last;
            let deed = match random.deed() {
                _ if fatal && nth == WINDOW / 2 => Deed::Fatal,
                // Nobody leaves a session on standard streams and stays in it.
                Deed::Left => Deed::Echo,
                deed => deed,
            };
            let word = format!("word-{number}-{id}-{:x}", random.next());
            self.say(&deed.message(id, &word));
            match deed {
                Deed::Malformed => waiting.malformed += 1,
                Deed::Cancelled => {
                    self.say(&format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                    ));
                    waiting.cancelled.insert(id);
                    ledger.ended(HOW, deed, Outcome::Dropped);
                }
                _ => {
                    waiting.open.insert(id, (deed, word));
                }
            }
            if fatal && nth > WINDOW / 2 {
                unread.insert(id);
            }
        }
        let until = Instant::now() + PATIENCE;
        // Of a session that ends everything is read.
        while !waiting.open.is_empty() || fatal {
            match self.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => waiting.hears(&line, fatal, ledger),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        for (id, (deed, _)) in waiting.open {
            if unread.contains(&id) {
                ledger.ended(HOW, deed, Outcome::Dropped);
                continue;
            }
            ledger.trouble(HOW, deed, Outcome::Lost, &format!("no answer to {id}"));
        }
        self.cancelled = waiting.cancelled;
        self.malformed = waiting.malformed;
    }
}

impl Waiting {
    fn hears(&mut self, line: &str, fatal: bool, ledger: &Ledger) {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return ledger.trouble(HOW, Deed::Malformed, Outcome::Wrong, line);
        };
        if message["method"] == "notifications/progress" {
            let (Some(id), Some(now)) =
                (message["params"]["progressToken"].as_u64(), message["params"]["progress"].as_f64())
            else {
                return ledger.trouble(HOW, Deed::Climb, Outcome::Wrong, line);
            };
            let rises = self.progress.insert(id, now).is_none_or(|before| before < now);
            if !rises || self.open.get(&id).is_none_or(|(deed, _)| *deed != Deed::Climb) {
                ledger.trouble(HOW, Deed::Climb, Outcome::Wrong, line);
            }
            return;
        }
        if message["method"] == "notifications/message" {
            return;
        }
        let Some(id) = message["id"].as_u64() else {
            // What was no JSON is answered without an id, if at all.
            if self.malformed > 0 && message["error"]["code"] == -32700 {
                self.malformed -= 1;
                return ledger.ended(HOW, Deed::Malformed, Outcome::Refused);
            }
            return ledger.trouble(HOW, Deed::Malformed, Outcome::Wrong, line);
        };
        if self.cancelled.remove(&id) {
            return;
        }
        let Some((deed, word)) = self.open.remove(&id) else {
            return ledger.trouble(HOW, Deed::Echo, Outcome::Wrong, &format!("not asked, or answered before: {line}"));
        };
        let failed = message["error"].is_object();
        let text = message["result"]["content"][0]["text"].as_str().unwrap_or_default();
        let right = text.contains(&word) && !text.split(' ').any(|part| !part.is_empty() && part != word);
        let climbed = deed != Deed::Climb || self.progress.get(&id) == Some(&3.0);
        match deed {
            Deed::Forbidden if failed && !line.contains("leaked") => ledger.ended(HOW, deed, Outcome::Refused),
            Deed::Forbidden => ledger.trouble(HOW, deed, Outcome::Wrong, line),
            _ if failed && fatal => ledger.ended(HOW, deed, Outcome::Failed),
            _ if right && climbed => ledger.ended(HOW, deed, Outcome::Answered),
            _ => ledger.trouble(HOW, deed, Outcome::Wrong, line),
        }
    }
}
