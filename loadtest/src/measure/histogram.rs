//! Reads one histogram out of a Prometheus page, so that the server's own clock can be asked.
//!
//! A bucket counts what was at or below its bound. The counters only grow, so the difference of
//! two readings is the histogram of what happened between them. A percentile can be known only
//! between two bounds; both are given, with the usual straight line between them as the estimate.

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

/// Why a histogram could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The page has no such metric.
    #[error("the page has no histogram `{0}`")]
    Absent(String),
    /// The metric has quantiles instead of buckets; those of two readings cannot be subtracted.
    #[error("`{0}` is a summary, not a histogram: its quantiles cannot be taken between two times")]
    Summary(String),
    /// A line of it cannot be read.
    #[error("cannot read the line `{0}`")]
    Line(String),
    /// The later reading counts less than the earlier one: the server restarted.
    #[error("`{0}` went backwards between the two readings: was the server restarted?")]
    Backwards(String),
}

/// Counts by upper bound, not cumulative. All labels but `le` are summed over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    name: String,
    /// (upper bound in the metric's unit, values in this bucket), ascending; the last is +Inf.
    buckets: Vec<(f64, u64)>,
}

/// A percentile between two bounds, in the metric's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantile {
    /// Above this.
    pub above: f64,
    /// At most this; infinite in the last bucket.
    pub at_most: f64,
    /// On the straight line between the two; the lower one in the last bucket.
    pub estimate: f64,
}

impl Histogram {
    /// Reads the histogram `name` from a page in the Prometheus text format.
    ///
    /// # Errors
    /// When it is not there, has no buckets, or cannot be read.
    pub fn parse(page: &str, name: &str) -> Result<Self, Error> {
        let prefix = format!("{name}_bucket{{");
        let mut cumulative: BTreeMap<u64, (f64, u64)> = BTreeMap::new();
        for line in page.lines().filter(|line| line.starts_with(&prefix)) {
            let (bound, count) = bucket(line).ok_or_else(|| Error::Line(line.to_owned()))?;
            // Bounds are not negative, so their bits sort as they do.
            let entry = cumulative.entry(bound.to_bits()).or_insert((bound, 0));
            entry.1 += count;
        }
        if cumulative.is_empty() {
            let quantiles = format!("{name}{{");
            return Err(if page.lines().any(|line| line.starts_with(&quantiles)) {
                Error::Summary(name.to_owned())
            } else {
                Error::Absent(name.to_owned())
            });
        }
        let mut below = 0;
        let buckets = cumulative.into_values().map(|(bound, total)| {
            let inside = total.saturating_sub(below);
            below = total;
            (bound, inside)
        });
        Ok(Self {
            name: name.to_owned(),
            buckets: buckets.collect(),
        })
    }

    /// What was counted after `earlier` was read.
    ///
    /// # Errors
    /// When `earlier` counts more than this one.
    pub fn since(&self, earlier: &Self) -> Result<Self, Error> {
        let before: BTreeMap<u64, u64> = earlier
            .buckets
            .iter()
            .map(|(bound, n)| (bound.to_bits(), *n))
            .collect();
        let mut buckets = Vec::with_capacity(self.buckets.len());
        for (bound, count) in &self.buckets {
            let had = before.get(&bound.to_bits()).copied().unwrap_or(0);
            let more = count
                .checked_sub(had)
                .ok_or_else(|| Error::Backwards(self.name.clone()))?;
            buckets.push((*bound, more));
        }
        Ok(Self {
            name: self.name.clone(),
            buckets,
        })
    }

    /// How many values were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// Where the value of nearest rank `percent` lies; `None` without values.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> Option<Quantile> {
        let rank = (self.count() * percent).div_ceil(100).max(1);
        let (mut below, mut above) = (0, 0.0);
        for (bound, count) in &self.buckets {
            if below + count >= rank {
                let part = (rank - below) as f64 / *count as f64;
                let line = above + (bound - above) * part;
                return Some(Quantile {
                    above,
                    at_most: *bound,
                    estimate: if bound.is_finite() { line } else { above },
                });
            }
            below += count;
            above = *bound;
        }
        None
    }
}

/// The bound and the count of a bucket's line.
fn bucket(line: &str) -> Option<(f64, u64)> {
    let (labels, value) = line.split_once('{')?.1.rsplit_once('}')?;
    let le = labels.split("le=\"").nth(1)?.split('"').next()?;
    let bound: f64 = le.replace("+Inf", "inf").parse().ok()?;
    let count = value.split_whitespace().next()?.parse().ok()?;
    (bound >= 0.0).then_some((bound, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(door: &str, counts: [u64; 4]) -> String {
        let [a, b, c, d] = counts;
        format!(
            "# TYPE wait histogram\n\
             wait_bucket{{door=\"{door}\",le=\"0.001\"}} {a}\n\
             wait_bucket{{door=\"{door}\",le=\"0.002\"}} {b}\n\
             wait_bucket{{door=\"{door}\",le=\"0.01\"}} {c}\n\
             wait_bucket{{door=\"{door}\",le=\"+Inf\"}} {d}\n\
             wait_sum{{door=\"{door}\"}} 1.5\nwait_count{{door=\"{door}\"}} {d}\n"
        )
    }

    #[test]
    fn what_happened_between_two_readings() {
        let before = Histogram::parse(&page("http", [10, 10, 10, 10]), "wait").unwrap();
        let after = page("http", [60, 100, 109, 110]) + &page("ws", [0, 0, 0, 0]);
        let between = Histogram::parse(&after, "wait")
            .unwrap()
            .since(&before)
            .unwrap();
        assert_eq!(between.count(), 100);
        let p50 = between.quantile(50).unwrap();
        assert_eq!((p50.above, p50.at_most, p50.estimate), (0.0, 0.001, 0.001));
        let p90 = between.quantile(90).unwrap();
        assert_eq!(
            (p90.above, p90.at_most, p90.estimate),
            (0.001, 0.002, 0.002)
        );
        let p95 = between.quantile(95).unwrap();
        assert_eq!((p95.above, p95.at_most), (0.002, 0.01));
        assert!((p95.estimate - (0.002 + 0.008 * 5.0 / 9.0)).abs() < 1e-12);
        let p100 = between.quantile(100).unwrap();
        assert_eq!(
            (p100.above, p100.at_most, p100.estimate),
            (0.01, f64::INFINITY, 0.01)
        );
    }

    #[test]
    fn labels_are_summed_over() {
        let both = page("http", [1, 1, 1, 1]) + &page("ws", [0, 2, 2, 2]);
        let both = Histogram::parse(&both, "wait").unwrap();
        assert_eq!(
            both.buckets,
            [(0.001, 1), (0.002, 2), (0.01, 0), (f64::INFINITY, 0)]
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let absent = Histogram::parse("other 1\n", "wait").unwrap_err();
        assert_eq!(absent, Error::Absent("wait".into()));
        let summary = Histogram::parse("wait{quantile=\"0.5\"} 1\n", "wait").unwrap_err();
        assert_eq!(summary, Error::Summary("wait".into()));
        let odd = Histogram::parse("wait_bucket{le=\"x\"} 1\n", "wait").unwrap_err();
        assert!(matches!(odd, Error::Line(_)));
        let high = Histogram::parse(&page("a", [5, 5, 5, 5]), "wait").unwrap();
        let low = Histogram::parse(&page("a", [1, 1, 1, 1]), "wait").unwrap();
        assert_eq!(low.since(&high), Err(Error::Backwards("wait".into())));
        assert_eq!(low.since(&low).unwrap().quantile(50), None);
    }
}
