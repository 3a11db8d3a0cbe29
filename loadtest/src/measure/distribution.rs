//! How a figure is spread: a count, a mean and nearest-rank percentiles, never a mean alone.

use serde::Serialize;

/// Below this many values a percentile is an anecdote, and is flagged as one.
pub const ENOUGH: usize = 100;

/// The spread of one figure, in the figure's own unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// How many values.
    pub n: usize,
    /// True when `n` is below [`ENOUGH`], so that the percentiles say little.
    pub few: bool,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest value.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest value.
    pub max: f64,
}

impl Distribution {
    /// The spread of `values`; `None` when there are none. Values must be finite.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (n, min, max) = (sorted.len(), *sorted.first()?, *sorted.last()?);
        Some(Self {
            n,
            few: n < ENOUGH,
            mean: sorted.iter().sum::<f64>() / n as f64,
            min,
            p50: nearest_rank(&sorted, 50),
            p90: nearest_rank(&sorted, 90),
            p95: nearest_rank(&sorted, 95),
            p99: nearest_rank(&sorted, 99),
            max,
        })
    }
}

/// The smallest value with at least `percent` of all values at or below it. `sorted` ascends and
/// is not empty.
fn nearest_rank(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted[rank - 1]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_by_hand() {
        let hundred = Distribution::of((1..=100).rev().map(f64::from)).unwrap();
        assert_eq!((hundred.n, hundred.few), (100, false));
        assert_eq!(
            (hundred.p50, hundred.p90, hundred.p95, hundred.p99),
            (50.0, 90.0, 95.0, 99.0)
        );
        assert_eq!((hundred.min, hundred.mean, hundred.max), (1.0, 50.5, 100.0));
        let five = Distribution::of([3.0, 1.0, 5.0, 2.0, 4.0]).unwrap();
        assert_eq!(
            (five.p50, five.p90, five.p99, five.few),
            (3.0, 5.0, 5.0, true)
        );
        let one = Distribution::of([7.0]).unwrap();
        assert_eq!((one.p50, one.p99), (7.0, 7.0));
        assert_eq!(Distribution::of([]), None);
    }

    proptest! {
        #[test]
        fn enough_values_lie_at_or_below_each_percentile(
            values in prop::collection::vec(-1e6f64..1e6, 1..300),
        ) {
            let spread = Distribution::of(values.iter().copied()).unwrap();
            let ranks = [(50, spread.p50), (90, spread.p90), (95, spread.p95), (99, spread.p99)];
            for (percent, value) in ranks {
                let below = values.iter().filter(|v| **v <= value).count();
                prop_assert!(below * 100 >= values.len() * percent);
                let under = values.iter().filter(|v| **v < value).count();
                prop_assert!(under * 100 < values.len() * percent);
            }
        }
    }
}
