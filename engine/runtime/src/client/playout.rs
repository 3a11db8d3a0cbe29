//! The listener's clock: until when what a request has given will last.
//!
//! Audio plays at the pace of time, so what was handed over says when the listener runs dry. The
//! clock starts when the requester takes the first piece: a door takes the next piece only once
//! its socket has taken the one before, so what is still queued is not playing yet. A listener
//! who ran dry goes on with the next piece; the clock does not make up for the silence.

use std::time::Duration;

use graph::stream::Time;

/// How much audio a request has given, and until when it lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Playout {
    /// When the listener has heard everything that was taken.
    until: Time,
    /// Given, but not taken yet.
    queued: Duration,
    /// Given so far.
    given: Duration,
}

impl Playout {
    /// The model gives some audio. Returns by how much it came before the listener ran dry, in
    /// nanoseconds, negative where it came after; none for the first.
    pub(crate) fn give(&mut self, now: Time, audio: Duration) -> Option<i64> {
        let slack = self.dry_at(now).map(|dry| signed(dry) - signed(now));
        self.given += audio;
        self.queued += audio;
        slack
    }

    /// The requester takes some audio.
    pub(crate) fn take(&mut self, now: Time, audio: Duration) {
        self.queued = self.queued.saturating_sub(audio);
        self.until = self.until.max(now).after(audio);
    }

    /// When the listener runs dry, or ran; none before the first audio.
    pub(crate) fn dry_at(&self, now: Time) -> Option<Time> {
        let playing = if self.queued.is_zero() {
            self.until
        } else {
            self.until.max(now)
        };
        (!self.given.is_zero()).then(|| playing.after(self.queued))
    }

    /// All audio that was given.
    pub(crate) fn given(&self) -> Duration {
        self.given
    }
}

/// Nanoseconds since the start, to be subtracted.
fn signed(time: Time) -> i64 {
    i64::try_from(time.nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(millis))
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_clock_starts_when_the_first_piece_is_taken() {
        let mut playout = Playout::default();
        assert_eq!(playout.dry_at(at(5)), None);
        assert_eq!(playout.give(at(100), SECOND), None);
        assert_eq!(playout.dry_at(at(400)), Some(at(1_400)), "not taken yet");
        playout.take(at(500), SECOND);
        assert_eq!(playout.dry_at(at(700)), Some(at(1_500)));
    }

    #[test]
    fn what_comes_in_time_adds_up_and_what_comes_late_starts_anew() {
        let mut playout = Playout::default();
        playout.give(at(0), SECOND);
        playout.take(at(0), SECOND);
        assert_eq!(playout.give(at(400), SECOND), Some(600_000_000));
        playout.take(at(400), SECOND);
        assert_eq!(playout.dry_at(at(400)), Some(at(2_000)));
        assert_eq!(playout.give(at(2_500), SECOND), Some(-500_000_000));
        playout.take(at(2_600), SECOND);
        assert_eq!(playout.dry_at(at(2_600)), Some(at(3_600)));
    }
}
