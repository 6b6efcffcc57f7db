//! What each part of a gate costs, on a clock that the gate was given.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::{CheckId, checks};

/// A clock that only counts on.
pub trait Stopwatch: Send + Sync + Debug {
    /// Nanoseconds since a start of its own choosing; never fewer than before.
    fn nanos(&self) -> u64;
}

/// Adds up what each part of a gate takes. It outlives the gate that it measures,
/// so that a gate which restarts goes on where it was.
///
/// Whoever first needs the view of a message, or of a text in it, pays for it:
/// the shares of a gate say what it costs as it is, not what it would save to
/// switch one check off.
#[derive(Debug)]
pub struct Meter {
    clock: Box<dyn Stopwatch>,
    whole: AtomicU64,
    facts: AtomicU64,
    /// As the registry has them.
    checks: Vec<AtomicU64>,
}

/// What a gate has taken so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// For whole decisions, with what is counted nowhere below.
    pub whole: Duration,
    /// To take in what the checks look at.
    pub facts: Duration,
    /// For each check that was on.
    pub checks: BTreeMap<CheckId, Duration>,
}

/// A part of a decision.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// The facts of the session.
    Facts,
    /// The check at this place of the registry.
    Check(usize),
}

impl Meter {
    /// A meter on this clock.
    pub fn new(clock: impl Stopwatch + 'static) -> Self {
        let checks = checks::ALL.iter().map(|_| AtomicU64::default()).collect();
        Self { clock: Box::new(clock), whole: AtomicU64::default(), facts: AtomicU64::default(), checks }
    }

    /// What was taken so far.
    pub fn spent(&self) -> Spent {
        let read = |sum: &AtomicU64| Duration::from_nanos(sum.load(Ordering::Relaxed));
        let each = checks::ALL.iter().zip(&self.checks).map(|(check, sum)| (check.docs().id, read(sum)));
        Spent {
            whole: read(&self.whole),
            facts: read(&self.facts),
            checks: each.filter(|(_, took)| !took.is_zero()).collect(),
        }
    }

    fn add(&self, part: Part, since: u64) {
        let took = self.clock.nanos().saturating_sub(since);
        let sum = match part {
            Part::Whole => Some(&self.whole),
            Part::Facts => Some(&self.facts),
            Part::Check(index) => self.checks.get(index),
        };
        if let Some(sum) = sum {
            sum.fetch_add(took, Ordering::Relaxed);
        }
    }
}

/// Does `work`, and adds what it takes where somebody measures: without a meter,
/// no clock is read.
pub(super) fn timed<T>(meter: Option<&Meter>, part: Part, work: impl FnOnce() -> T) -> T {
    let Some(meter) = meter else { return work() };
    let since = meter.clock.nanos();
    let done = work();
    meter.add(part, since);
    done
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        super::{Event, Gate as _, Guarded, Layer, Opening, Reach, testing::rules},
        *,
    };
    use crate::protocol::ServerName;

    /// Goes on by one each time that it is read.
    #[derive(Debug, Default)]
    struct Ticks(AtomicU64);

    impl Stopwatch for Ticks {
        fn nanos(&self) -> u64 {
            self.0.fetch_add(1, Ordering::Relaxed)
        }
    }

    #[test]
    fn each_part_is_counted_once_and_a_restart_goes_on() {
        let rules = rules("");
        let on = rules.checks().iter().count();
        let meter = Arc::new(Meter::new(Ticks::default()));
        let opening =
            Opening { server: ServerName::from("s"), reach: Reach::Memory, env: BTreeMap::new(), layer: Layer::User };
        for times in 1u64..=2 {
            let mut gate = Guarded::new(rules.clone(), BTreeMap::new()).with_meter(Arc::clone(&meter));
            let ruling = gate.decide(&Event::Opening(&opening));
            let unmeasured = Guarded::new(rules.clone(), BTreeMap::new()).decide(&Event::Opening(&opening));
            assert_eq!(ruling, unmeasured);
            let spent = meter.spent();
            // One tick from the reading before a part to the one after it.
            assert_eq!(spent.facts, Duration::from_nanos(times));
            assert_eq!(spent.checks.len(), on);
            assert!(spent.checks.values().all(|took| *took == Duration::from_nanos(times)));
            // The whole reads the clock around the facts and every check.
            let inside = u64::try_from(2 * (on + 1)).unwrap();
            assert_eq!(spent.whole, Duration::from_nanos(times * (inside + 1)));
        }
    }
}
