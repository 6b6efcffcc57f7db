//! What was measured. It differs from run to run, so the published reports leave
//! it out.

use serde::Serialize;

use crate::{
    score::{Cost, Record, costs, shares},
    transport,
};

/// The times of a run, in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Timing {
    /// What a call cost, for each arm on each transport.
    pub calls: Vec<CallLine>,
    /// What each part of the reference gate took, the largest first, where that
    /// was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartLine>,
}

/// What a call cost in one arm on one transport.
#[derive(Clone, Debug, Serialize)]
pub struct CallLine {
    /// The arm.
    pub arm: String,
    /// The transport.
    pub transport: transport::Kind,
    /// Calls of honest trials that were answered with a reply.
    pub calls: usize,
    /// Nearest-rank percentiles.
    pub p50: f64,
    /// The 99th.
    pub p99: f64,
    /// What the arm adds, where there is an arm to hold it against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<AddedLine>,
}

/// What an arm adds: differences of percentiles.
#[derive(Clone, Debug, Serialize)]
pub struct AddedLine {
    /// Over this arm on the same transport.
    pub over: String,
    /// At the middle.
    pub p50: f64,
    /// At the 99th percentile.
    pub p99: f64,
}

/// What one part of the reference gate took.
#[derive(Clone, Debug, Serialize)]
pub struct PartLine {
    /// A check, or `facts`, or `rest`.
    pub part: &'static str,
    /// In all trials together.
    pub took: f64,
    /// Of the whole, from 0 to 1, rounded to four places.
    pub share: f64,
}

impl Timing {
    /// The times of these trials; `None` where nothing was measured.
    pub fn of(records: &[Record]) -> Option<Self> {
        let parts: Vec<_> = shares(records)
            .into_iter()
            .map(|share| PartLine {
                part: share.part.as_str(),
                took: share.took.as_secs_f64() * 1e6,
                share: (share.share * 1e4).round() / 1e4,
            })
            .collect();
        let calls: Vec<_> = costs(records).iter().map(line).collect();
        (!calls.is_empty() || !parts.is_empty()).then_some(Self { calls, parts })
    }
}

fn line(cost: &Cost) -> CallLine {
    CallLine {
        arm: cost.arm.to_string(),
        transport: cost.transport,
        calls: cost.calls,
        p50: cost.p50.as_secs_f64() * 1e6,
        p99: cost.p99.as_secs_f64() * 1e6,
        added: cost.added.map(|added| AddedLine {
            over: added.over.to_string(),
            p50: micros(added.p50),
            p99: micros(added.p99),
        }),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a trial is over long before 2^52 nanoseconds")]
fn micros(nanos: i64) -> f64 {
    nanos as f64 / 1e3
}
