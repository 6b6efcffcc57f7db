//! What a call costs in each arm, and which check takes how much of the gate's time.
//!
//! Measured where the client stands. Trials that share a thread wait for one
//! another, so that times mean something only where trials were played one at a
//! time (`runner::Schedule::at_once`); what an arm adds is read against an arm
//! that was played in the same way, with the same cases.

use std::{collections::BTreeMap, time::Duration};

use super::Record;
use crate::{gate::CheckId, plan::Arm, transport};

/// What a call cost in one arm on one transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The arm.
    pub arm: Arm,
    /// The transport.
    pub transport: transport::Kind,
    /// Calls of honest trials that were answered with a reply.
    pub calls: usize,
    /// Half of them took no longer.
    pub p50: Duration,
    /// 99 of 100 took no longer.
    pub p99: Duration,
    /// What it adds; `None` where there is nothing to hold it against.
    pub added: Option<Added>,
}

/// What an arm adds: the difference of the percentiles, which is not the
/// percentile of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// Over this arm on the same transport.
    pub over: Arm,
    /// At the middle, in nanoseconds; negative where the arm was faster.
    pub p50: i64,
    /// At the 99th percentile, likewise.
    pub p99: i64,
}

/// The cost of each arm and transport that was played, in the order of the plan;
/// ablation arms are left out. What is added is over `direct`, or over `naive`
/// where `direct` was not played.
pub fn costs(records: &[Record]) -> Vec<Cost> {
    let mut order = Vec::new();
    let mut times: BTreeMap<(Arm, transport::Kind), Vec<Duration>> = BTreeMap::new();
    for record in records.iter().filter(|record| !record.arm.is_ablation() && !record.calls.is_empty()) {
        let key = (record.arm, record.transport);
        if !order.contains(&key) {
            order.push(key);
        }
        times.entry(key).or_default().extend(&record.calls);
    }
    let at = |key: (Arm, transport::Kind)| -> Option<(usize, Duration, Duration)> {
        let mut times = times.get(&key)?.clone();
        times.sort_unstable();
        Some((times.len(), percentile(&times, 50)?, percentile(&times, 99)?))
    };
    order
        .into_iter()
        .filter_map(|(arm, transport)| {
            let (calls, p50, p99) = at((arm, transport))?;
            let bases = [Arm::Direct, Arm::Naive].into_iter().filter_map(|base| Some((base, at((base, transport))?)));
            // An open arm is held against `direct` alone, and nothing against itself.
            let added = bases.take(1).find(|(base, _)| *base != arm).map(|(over, (_, base50, base99))| Added {
                over,
                p50: nanos(p50) - nanos(base50),
                p99: nanos(p99) - nanos(base99),
            });
            Some(Cost { arm, transport, calls, p50, p99, added })
        })
        .collect()
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// The nearest-rank percentile of sorted times: the smallest one that at least
/// `percent` of 100 are not above. Always one that was measured, never a mean of
/// two; `None` of nothing.
pub fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// One part of the gate's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Which part.
    pub part: Part,
    /// What it took in all trials together.
    pub took: Duration,
    /// Of the whole, from 0 to 1.
    pub share: f64,
}

/// A part of what a gate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Taking in what the checks look at.
    Facts,
    /// One check.
    Check(CheckId),
    /// Putting together what is done.
    Rest,
}

impl Part {
    /// The word in reports: a check goes by its id.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Facts => "facts",
            Self::Check(id) => id.as_str(),
            Self::Rest => "rest",
        }
    }
}

/// The share of each part in the time of the reference gate as it is
/// (`guarded`), the largest first; nothing where no trial was measured.
pub fn shares(records: &[Record]) -> Vec<Share> {
    let mut whole = Duration::ZERO;
    let mut parts: BTreeMap<Part, Duration> = BTreeMap::new();
    let measured =
        records.iter().filter(|record| record.arm == Arm::Guarded).filter_map(|record| record.spent.as_ref());
    for spent in measured {
        whole += spent.whole;
        *parts.entry(Part::Facts).or_default() += spent.facts;
        for (id, took) in &spent.checks {
            *parts.entry(Part::Check(*id)).or_default() += *took;
        }
    }
    if whole.is_zero() {
        return Vec::new();
    }
    let counted: Duration = parts.values().sum();
    parts.insert(Part::Rest, whole.saturating_sub(counted));
    let share = |took: Duration| took.as_secs_f64() / whole.as_secs_f64();
    let mut shares: Vec<_> = parts.into_iter().map(|(part, took)| Share { part, took, share: share(took) }).collect();
    shares.sort_by(|a, b| b.took.cmp(&a.took).then(a.part.cmp(&b.part)));
    shares
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        gate::Spent,
        plan::{Suite, Trial},
        protocol::Revision,
        runner::Ended,
    };

    /// A record of this arm in which calls took so many microseconds.
    fn record(suite: &Suite, arm: Arm, micros: &[u64]) -> Record {
        let prepared = std::sync::Arc::clone(&suite.cases[0]);
        let trial = Trial { prepared, arm, transport: transport::Kind::Memory, revision: Revision::DEFAULT };
        let mut record = Record::new(&trial, Ended::NotPlayed("made up".to_owned()));
        record.calls = micros.iter().copied().map(Duration::from_micros).collect();
        record
    }

    fn suite() -> Suite {
        Suite::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/corpus")).unwrap()
    }

    #[test]
    fn what_is_added_is_over_the_most_open_arm() {
        let suite = suite();
        let without = Arm::SHADOW;
        let mut records = vec![
            record(&suite, Arm::Naive, &[20, 10]),
            record(&suite, Arm::Naive, &[30]),
            record(&suite, Arm::Guarded, &[70, 5]),
            record(&suite, without, &[1]),
        ];
        let rows = costs(&records);
        assert_eq!(
            rows.iter().map(|row| (row.arm, row.calls)).collect::<Vec<_>>(),
            [(Arm::Naive, 3), (Arm::Guarded, 2)]
        );
        assert_eq!((rows[0].p50, rows[0].p99), (Duration::from_micros(20), Duration::from_micros(30)));
        assert_eq!(rows[0].added, None);
        assert_eq!(rows[1].added, Some(Added { over: Arm::Naive, p50: -15_000, p99: 40_000 }));
        records.push(record(&suite, Arm::Direct, &[4]));
        let rows = costs(&records);
        assert_eq!(rows[0].added, Some(Added { over: Arm::Direct, p50: 16_000, p99: 26_000 }));
        assert_eq!(rows[1].added.map(|added| added.over), Some(Arm::Direct));
        assert_eq!(rows[2].added, None);
        assert_eq!(costs(&[]), []);
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        let suite = suite();
        let id = CheckId::parse("egress").unwrap();
        let mut measured = record(&suite, Arm::Guarded, &[]);
        measured.spent = Some(Spent {
            whole: Duration::from_nanos(100),
            facts: Duration::from_nanos(30),
            checks: BTreeMap::from([(id, Duration::from_nanos(60))]),
        });
        let mut other = record(&suite, Arm::SHADOW, &[]);
        other.spent.clone_from(&measured.spent);
        let found = shares(&[measured, other, record(&suite, Arm::Guarded, &[])]);
        let parts: Vec<_> = found.iter().map(|share| (share.part.as_str(), share.took.as_nanos())).collect();
        assert_eq!(parts, [("egress", 60), ("facts", 30), ("rest", 10)]);
        assert!((found.iter().map(|share| share.share).sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(shares(&[record(&suite, Arm::Guarded, &[])]), []);
    }

    proptest! {
        /// Against the definition, by counting: the smallest of the times that
        /// enough of them are not above.
        #[test]
        fn percentiles_are_the_nearest_rank(mut times in prop::collection::vec(0u64..50, 0..250), percent in 1usize..=100) {
            let by_counting = times.iter().copied().filter(|time| {
                times.iter().filter(|other| *other <= time).count() * 100 >= percent * times.len()
            }).min();
            times.sort_unstable();
            let times: Vec<_> = times.into_iter().map(Duration::from_nanos).collect();
            prop_assert_eq!(percentile(&times, percent), by_counting.map(Duration::from_nanos));
        }
    }
}
