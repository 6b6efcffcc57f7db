//! How likely a difference is by chance, over clusters and over many checks.

use statrs::distribution::{Binomial, DiscreteCDF as _};

/// The two-sided exact McNemar test (Q. McNemar, 1947, with the binomial in the
/// place of the normal): of the clusters that came out differently, `lost` one
/// way and `gained` the other, how likely is a split at least as uneven if both
/// were equally likely? 1 where nothing differs.
pub fn mcnemar(lost: u64, gained: u64) -> f64 {
    let total = lost + gained;
    match Binomial::new(0.5, total) {
        Ok(fair) if total > 0 => (2.0 * fair.cdf(lost.min(gained))).min(1.0),
        _ => 1.0,
    }
}

/// Holm's adjustment (S. Holm, 1979): with all of these tests made, how likely is
/// it that chance alone brings one of them this far? In the order given.
#[expect(clippy::cast_precision_loss, reason = "there are few tests")]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut highest: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        highest = highest.max((p[index] * (p.len() - rank) as f64).min(1.0));
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_tables_by_hand() {
        // Both tails of a fair coin: 1 of 1, 5 of 5, 1 of 7.
        for (lost, gained, expected) in
            [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 2.0 / 32.0), (0, 5, 2.0 / 32.0), (6, 1, 2.0 * 8.0 / 128.0), (3, 3, 1.0)]
        {
            assert!((mcnemar(lost, gained) - expected).abs() < 1e-12, "{lost} {gained}: {}", mcnemar(lost, gained));
        }
    }

    #[test]
    fn holm_by_hand() {
        // Sorted: 0.01·4, 0.02·3, 0.03·2 (no less than before), 0.04·1.
        let adjusted = holm(&[0.04, 0.01, 0.03, 0.02]);
        for (a, b) in adjusted.iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((a - b).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }

    proptest! {
        /// The closed testing principle, of which Holm is the short form for
        /// Bonferroni: the largest, over every set of tests with this one in it, of
        /// the smallest p there times the size of the set.
        #[test]
        fn holm_is_closed_bonferroni(p in prop::collection::vec(0.0f64..1.0, 1..7)) {
            let adjusted = holm(&p);
            for (index, seen) in adjusted.iter().enumerate() {
                let mut closed: f64 = 0.0;
                for set in 1u32..1 << p.len() {
                    if set >> index & 1 == 0 {
                        continue;
                    }
                    let inside = || p.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, p)| *p);
                    let smallest = inside().fold(1.0, f64::min);
                    closed = closed.max((smallest * f64::from(u32::try_from(inside().count()).unwrap())).min(1.0));
                }
                prop_assert!((seen - closed).abs() < 1e-12, "{seen} {closed}");
            }
        }
    }
}
