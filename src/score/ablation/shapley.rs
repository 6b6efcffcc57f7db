//! Sharing the credit for one denial among the checks that can make it.

use crate::gate::{CheckId, CheckSet};

/// The most checks among which a share is worked out by trying every set of them.
pub(super) const PLAYERS: usize = 6;

/// The Shapley value of each player (L. S. Shapley, 1953): the mean, over every
/// order in which the checks might be switched on one after another, of what
/// switching it on adds. `value` says what a set of them is worth.
///
/// `None` where some set's worth is not known. The shares add up to what all of
/// them are worth, less what none of them is.
pub(super) fn shares(players: CheckSet, value: impl Fn(CheckSet) -> Option<f64>) -> Option<Vec<(CheckId, f64)>> {
    let n = players.len();
    let share = |player: CheckId| {
        let others = players.with(player, false);
        others.subsets().into_iter().try_fold(0.0, |sum, set| {
            let adds = value(set.with(player, true))? - value(set)?;
            Some(sum + weight(set.len(), n) * adds)
        })
    };
    players.iter().map(|player| Some((player, share(player)?))).collect()
}

/// In which part of all orders of `n` a given player comes right after a given
/// set of `before`: `before! (n − before − 1)! / n!`.
fn weight(before: usize, n: usize) -> f64 {
    // 1 / (n · C(n − 1, before)), which needs no factorial.
    let mut binomial = 1.0;
    for k in 0..before {
        binomial *= ratio(n - 1 - k, k + 1);
    }
    1.0 / (binomial * ratio(n, 1))
}

#[expect(clippy::cast_precision_loss, reason = "there are few checks")]
fn ratio(a: usize, b: usize) -> f64 {
    a as f64 / b as f64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::gate::checks;

    fn first(n: usize) -> CheckSet {
        checks::ALL.iter().take(n).map(|check| check.docs().id).collect()
    }

    /// The definition itself: every order of the players, one after another.
    fn by_orders(players: CheckSet, value: &dyn Fn(CheckSet) -> f64) -> BTreeMap<CheckId, f64> {
        fn orders(left: &[CheckId]) -> Vec<Vec<CheckId>> {
            if left.is_empty() {
                return vec![Vec::new()];
            }
            let mut all = Vec::new();
            for (index, id) in left.iter().enumerate() {
                let mut rest = left.to_vec();
                rest.remove(index);
                all.extend(orders(&rest).into_iter().map(|order| [vec![*id], order].concat()));
            }
            all
        }
        let all = orders(&players.iter().collect::<Vec<_>>());
        let mut sums = BTreeMap::new();
        for order in &all {
            let mut set = CheckSet::none();
            for id in order {
                let before = value(set);
                set = set.with(*id, true);
                *sums.entry(*id).or_insert(0.0) += value(set) - before;
            }
        }
        let count = f64::from(u32::try_from(all.len()).unwrap());
        sums.into_iter().map(|(id, sum)| (id, sum / count)).collect()
    }

    proptest! {
        #[test]
        fn agrees_with_every_order_of_any_game(n in 1usize..=5, worths in prop::collection::vec(0u8..2, 32)) {
            let players = first(n);
            let place: BTreeMap<CheckSet, usize> =
                players.subsets().into_iter().enumerate().map(|(index, set)| (set, index)).collect();
            let value = |set: CheckSet| f64::from(worths[place[&set]]);
            let shared = shares(players, |set| Some(value(set))).unwrap();
            let brute = by_orders(players, &value);
            for (id, share) in &shared {
                prop_assert!((share - brute[id]).abs() < 1e-12, "{id}: {share} {}", brute[id]);
            }
            let sum: f64 = shared.iter().map(|(_, share)| share).sum();
            prop_assert!((sum - (value(players) - value(CheckSet::none()))).abs() < 1e-12);
        }
    }

    #[test]
    fn whoever_of_k_is_enough_gets_one_kth() {
        let players = first(5);
        let enough = first(3);
        let value = |set: CheckSet| Some(if set.and(enough).is_empty() { 0.0 } else { 1.0 });
        for (id, share) in shares(players, value).unwrap() {
            let expected = if enough.contains(id) { 1.0 / 3.0 } else { 0.0 };
            assert!((share - expected).abs() < 1e-12, "{id}: {share}");
        }
    }

    #[test]
    fn an_unknown_worth_shares_nothing() {
        assert_eq!(shares(first(2), |set| (set.len() != 1).then_some(0.0)), None);
        assert_eq!(shares(CheckSet::none(), |_| None), Some(Vec::new()));
    }
}
