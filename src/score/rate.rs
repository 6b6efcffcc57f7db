//! A proportion, with the interval that its sample size allows.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, Normal};

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// The numerator.
    pub hits: usize,
    /// The denominator.
    pub total: usize,
}

impl Rate {
    /// Counts one more, and whether it is a hit.
    pub fn count(&mut self, hit: bool) {
        self.total += 1;
        self.hits += usize::from(hit);
    }

    /// Of an iterator of hits and misses.
    pub fn of(hits: impl IntoIterator<Item = bool>) -> Self {
        let mut rate = Self::default();
        hits.into_iter().for_each(|hit| rate.count(hit));
        rate
    }

    /// The proportion; `None` where there is nothing to divide by.
    #[expect(clippy::cast_precision_loss, reason = "counts of cases are far below 2^52")]
    pub fn share(self) -> Option<f64> {
        (self.total > 0).then(|| self.hits as f64 / self.total as f64)
    }

    /// Wilson's score interval at 95 % (E. B. Wilson, 1927), without continuity
    /// correction; `None` where there is nothing to divide by.
    #[expect(clippy::cast_precision_loss, reason = "counts of cases are far below 2^52")]
    pub fn wilson95(self) -> Option<(f64, f64)> {
        let p = self.share()?;
        let n = self.total as f64;
        let z = Normal::standard().inverse_cdf(0.975);
        let middle = p + z * z / (2.0 * n);
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + z * z / n;
        Some((((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0)))
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.hits, self.total)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_no_rate() {
        assert_eq!(Rate::default().share(), None);
        assert_eq!(Rate::default().wilson95(), None);
    }

    #[test]
    fn published_intervals() {
        // Newcombe (1998), Statistics in Medicine 17, table I, method 3.
        for (hits, total, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0000, 0.1611), (1, 29, 0.0061, 0.1718)]
        {
            let (a, b) = Rate { hits, total }.wilson95().unwrap();
            assert!((a - low).abs() < 5e-5 && (b - high).abs() < 5e-5, "{hits}/{total}: {a} {b}");
        }
    }

    proptest! {
        /// The interval's ends are where the score test just rejects: an
        /// independent definition, solved here by bisection.
        #[test]
        fn ends_solve_the_score_test((total, hits) in (1u32..400).prop_flat_map(|total| (Just(total), 0..=total))) {
            let (low, high) = Rate { hits: hits as usize, total: total as usize }.wilson95().unwrap();
            let p = f64::from(hits) / f64::from(total);
            let z = |q: f64| (p - q).abs() / (q * (1.0 - q) / f64::from(total)).sqrt();
            let solve = |mut inside: f64, mut outside: f64| {
                for _ in 0..200 {
                    let middle = f64::midpoint(inside, outside);
                    if z(middle) <= 1.959_963_984_540_054 { inside = middle } else { outside = middle }
                }
                inside
            };
            if hits > 0 { prop_assert!((solve(p, 0.0) - low).abs() < 1e-6); } else { prop_assert!(low.abs() < 1e-12); }
            if hits < total { prop_assert!((solve(p, 1.0) - high).abs() < 1e-6); } else { prop_assert!((high - 1.0).abs() < 1e-12); }
        }
    }
}
