//! What two checks are worth together, beyond what each is.

use serde::Serialize;

use super::{Games, ways};
use crate::gate::{CheckSet, checks};

/// Two checks, and what leaving both out does beyond leaving each out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The two, in the order of the registry.
    pub checks: [&'static str; 2],
    /// Attacks fewer that are stopped without both.
    pub change: usize,
    /// Of these: attacks that are stopped without either alone. Each of the two
    /// covers for the other.
    pub covered: Vec<String>,
    /// Attacks that are stopped without both and not without one of them: the
    /// other stood in the way.
    pub restored: Vec<String>,
}

/// Every pair that is more or less than its two parts.
pub(super) fn pairs(games: &Games<'_>) -> Vec<Pair> {
    let all: CheckSet = checks::ALL.iter().map(|check| check.docs().id).collect();
    let pair = |(a, b)| {
        let mut pair = Pair {
            checks: [a, b].map(crate::gate::CheckId::as_str),
            change: 0,
            covered: Vec::new(),
            restored: Vec::new(),
        };
        for game in games.attacks() {
            let stopped = |out: &[_]| {
                let left_out: CheckSet = out.iter().copied().collect();
                game.stopped(game.on.less(left_out))
            };
            let (Some(true), Some(both)) = (game.stopped(game.on), stopped(&[a, b])) else { continue };
            let (first, second) = (stopped(&[a]), stopped(&[b]));
            pair.change += usize::from(!both);
            if !both && first == Some(true) && second == Some(true) {
                pair.covered.push(game.name());
            }
            if both && (first == Some(false) || second == Some(false)) {
                pair.restored.push(game.name());
            }
        }
        pair
    };
    let told = |pair: &Pair| !pair.covered.is_empty() || !pair.restored.is_empty();
    ways(all).map(pair).filter(told).collect()
}
