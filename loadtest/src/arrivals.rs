//! When requests arrive: open loops that ask nobody, closed loops of users who take turns.
//!
//! In an open loop the next request comes when it comes, however slow the server is; that is what
//! a public service sees. In a closed loop a fixed number of users each wait for their own stream
//! before they ask again, so a slow server also gets less to do. Both are needed: the first finds
//! the queue, the second the largest number of listeners.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The law of an open loop's arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Independent of each other: exponential gaps.
    Poisson,
    /// Equal gaps.
    Uniform,
    /// Several at the same instant, the instants by exponential gaps.
    Burst,
}

/// What a user of a closed loop does with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Listens to its end, as it plays at prebuffer 100 ms, before asking again: real time.
    Listen,
    /// Asks again as soon as the last byte is there.
    None,
}

/// A load, as far as its summary must name it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Users who take turns.
    Closed {
        /// How many.
        users: u32,
        /// What they do with a stream.
        pace: Pace,
    },
    /// Arrivals that wait for nothing.
    Open {
        /// Requests per second, on average.
        rate: f64,
        /// Their law.
        arrivals: Arrivals,
        /// Requests of one burst; 1 unless `arrivals` is a burst.
        burst: u32,
    },
}

impl Load {
    /// Users, in a closed loop.
    #[must_use]
    pub fn users(&self) -> Option<u32> {
        match self {
            Self::Closed { users, .. } => Some(*users),
            Self::Open { .. } => None,
        }
    }

    /// Requests per second, in an open loop.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { rate, .. } => Some(*rate),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { users, pace } => {
                let (s, pace) = match (users, pace) {
                    (1, Pace::Listen) => ("", "who listens"),
                    (_, Pace::Listen) => ("s", "who listen"),
                    (1, Pace::None) => ("", "back to back"),
                    (_, Pace::None) => ("s", "back to back"),
                };
                write!(f, "{users} user{s} {pace}")
            }
            Self::Open {
                rate,
                arrivals,
                burst,
            } => match arrivals {
                Arrivals::Poisson => write!(f, "{rate}/s Poisson"),
                Arrivals::Uniform => write!(f, "{rate}/s uniform"),
                Arrivals::Burst => write!(f, "{rate}/s in bursts of {burst}"),
            },
        }
    }
}

/// The instants of an open loop, without end, never descending, the same for the same seed.
#[derive(Clone, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    /// Mean gap between instants, in seconds.
    gap: f64,
    burst: u32,
    rng: fastrand::Rng,
    at: f64,
    left_in_burst: u32,
}

impl Schedule {
    /// `rate` requests per second on average (over 0), in bursts of `burst` (at least 1) where
    /// `arrivals` says so.
    #[must_use]
    pub fn new(arrivals: Arrivals, rate: f64, burst: u32, seed: u64) -> Self {
        let together = if arrivals == Arrivals::Burst {
            burst.max(1)
        } else {
            1
        };
        Self {
            arrivals,
            gap: f64::from(together) / rate,
            burst: together,
            rng: fastrand::Rng::with_seed(seed),
            at: 0.0,
            left_in_burst: 0,
        }
    }

    fn next_gap(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Uniform => self.gap,
            // 1 - f64() lies in (0, 1], so the logarithm is finite.
            Arrivals::Poisson | Arrivals::Burst => -(1.0 - self.rng.f64()).ln() * self.gap,
        }
    }
}

impl Iterator for Schedule {
    type Item = Duration;

    /// Since the start of the loop. Ends only beyond the range of [`Duration`].
    fn next(&mut self) -> Option<Duration> {
        if self.left_in_burst == 0 {
            self.at += self.next_gap();
            self.left_in_burst = self.burst;
        }
        self.left_in_burst -= 1;
        Duration::try_from_secs_f64(self.at).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(arrivals: Arrivals, rate: f64, burst: u32, seconds: u64) -> Vec<Duration> {
        let end = Duration::from_secs(seconds);
        Schedule::new(arrivals, rate, burst, 7)
            .take_while(|at| *at < end)
            .collect()
    }

    #[test]
    fn every_law_keeps_its_rate() {
        for (arrivals, burst) in [
            (Arrivals::Poisson, 1),
            (Arrivals::Uniform, 1),
            (Arrivals::Burst, 8),
        ] {
            let count = until(arrivals, 50.0, burst, 1000).len();
            // Five standard deviations of 50,000 arrivals in bursts of eight.
            assert!(count.abs_diff(50_000) < 3_200, "{arrivals:?}: {count}");
        }
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let at = until(Arrivals::Poisson, 100.0, 1, 1000);
        let gaps: Vec<f64> = at.windows(2).map(|p| (p[1] - p[0]).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.03,
            "an exponential's deviation is its mean"
        );
        let beyond = gaps.iter().filter(|g| **g > mean).count() as f64 / gaps.len() as f64;
        assert!(
            (beyond - 0.3679).abs() < 0.01,
            "1/e of the gaps are over the mean, not {beyond}"
        );
    }

    #[test]
    fn a_burst_arrives_at_one_instant() {
        let at = until(Arrivals::Burst, 40.0, 4, 100);
        for burst in at.chunks_exact(4) {
            assert!(burst.iter().all(|one| *one == burst[0]));
        }
    }

    #[test]
    fn the_seed_decides() {
        let list = |seed| {
            Schedule::new(Arrivals::Poisson, 5.0, 1, seed)
                .take(20)
                .collect::<Vec<_>>()
        };
        assert_eq!(list(1), list(1));
        assert_ne!(list(1), list(2));
    }
}
