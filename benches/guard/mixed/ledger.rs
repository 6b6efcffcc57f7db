//! What became of every request.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Deed;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// With its own answer.
    Answered,
    /// With a refusal, as it should.
    Refused,
    /// With an error in its name, because the server had died.
    Failed,
    /// Nobody waited for it any more.
    Dropped,
    /// Without an answer.
    Lost,
    /// With something wrong.
    Wrong,
}

const OUTCOMES: [Outcome; 6] =
    [Outcome::Answered, Outcome::Refused, Outcome::Failed, Outcome::Dropped, Outcome::Lost, Outcome::Wrong];

#[derive(Debug, Default)]
struct Books {
    ended: BTreeMap<(Deed, &'static str), BTreeMap<Outcome, u64>>,
    troubles: Vec<String>,
    memory: BTreeMap<&'static str, Vec<usize>>,
    deaths: BTreeMap<&'static str, u64>,
}

/// Where all clients write down what they saw.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Books>);

impl Ledger {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ended(&self, how: &'static str, deed: Deed, outcome: Outcome) {
        *self.books().ended.entry((deed, how)).or_default().entry(outcome).or_default() += 1;
    }

    /// Something that must not be, with what was seen.
    pub(crate) fn trouble(&self, how: &'static str, deed: Deed, outcome: Outcome, seen: &str) {
        self.ended(how, deed, outcome);
        let mut books = self.books();
        if books.troubles.len() < 20 {
            let seen: String = seen.chars().take(300).collect();
            books.troubles.push(format!("{how}, {deed:?}, {outcome:?}: {seen}"));
        }
    }

    pub(crate) fn memory(&self, of: &'static str, bytes: usize) {
        self.books().memory.entry(of).or_default().push(bytes);
    }

    pub(crate) fn died(&self, what: &'static str) {
        *self.books().deaths.entry(what).or_default() += 1;
    }

    /// Whether nothing was lost, doubled or crossed, and everything was tried.
    pub(crate) fn is_clean(&self) -> bool {
        let books = self.books();
        let count = |outcome| books.ended.values().filter_map(|ended| ended.get(&outcome)).sum::<u64>();
        books.troubles.is_empty()
            && count(Outcome::Lost) + count(Outcome::Wrong) == 0
            && [Outcome::Answered, Outcome::Refused, Outcome::Failed].iter().all(|outcome| count(*outcome) > 0)
    }

    pub(crate) fn print(&self) {
        let books = self.books();
        print!("\n{:<20}", "");
        for outcome in OUTCOMES {
            print!(" {:>10}", format!("{outcome:?}").to_lowercase());
        }
        println!();
        for ((deed, how), ended) in &books.ended {
            print!("{:<20}", format!("{how}: {deed:?}").to_lowercase());
            for outcome in OUTCOMES {
                print!(" {:>10}", ended.get(&outcome).copied().unwrap_or_default());
            }
            println!();
        }
        println!();
        for (what, times) in &books.deaths {
            println!("{what} died {times} times");
        }
        for (of, samples) in &books.memory {
            let tenth = samples.len() / 10;
            let mebibytes = |bytes: Option<&usize>| bytes.copied().unwrap_or_default() as f64 / f64::from(1 << 20);
            println!(
                "memory of the guard on {of}: {:.1} MiB after a tenth, {:.1} MiB at the end, {:.1} MiB at most",
                mebibytes(samples.get(tenth)),
                mebibytes(samples.last()),
                mebibytes(samples.iter().max())
            );
        }
        for trouble in &books.troubles {
            println!("{trouble}");
        }
    }
}
