//! The client's clock: the only place in this crate that asks what time it is.
//!
//! Every instant of a run is a [`Duration`] since the run's zero. Figures never mix in a clock of
//! the server's. The timer under [`Clock::sleep_until`] has a grain of one millisecond and wakes
//! after the instant, never before it.

use std::time::Duration;

use tokio::time::Instant;

/// Counts from the moment at which it was made. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: Instant,
}

impl Clock {
    /// A clock that reads zero now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            zero: Instant::now(),
        }
    }

    /// Time since the clock was made.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.zero.elapsed()
    }

    /// Waits until the clock reads `at`; returns at once when that has passed.
    pub async fn sleep_until(&self, at: Duration) {
        tokio::time::sleep_until(self.zero + at).await;
    }
}

/// The date of a report: seconds since 1970, UTC. Nothing is measured by it.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "a report carries its date; no figure uses it"
)]
pub fn unix_seconds() -> u64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map(|time| time.as_secs()).unwrap_or_default()
}
