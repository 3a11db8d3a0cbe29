//! Every deadline of a speech session.

use std::time::Duration;

/// What a session may be waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// The client connected and must send `session.config`.
    Config,
    /// Nothing is being spoken to its end, and the client must say or do something.
    Idle,
    /// A session ends at this age, whatever it does.
    Lifetime,
}

impl Timer {
    const ALL: [Self; 3] = [Self::Config, Self::Idle, Self::Lifetime];
}

/// When each [`Timer`] goes off, if it is set.
#[derive(Debug, Default)]
pub(super) struct Timers([Option<Duration>; Timer::ALL.len()]);

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, at: Option<Duration>) {
        self.0[timer as usize] = at;
    }

    /// The earliest deadline.
    pub(super) fn next(&self) -> Option<Duration> {
        self.0.iter().flatten().min().copied()
    }

    /// A timer that is due at `now`; it is unset then.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<Timer> {
        let due = |timer: &Timer| self.0[*timer as usize].is_some_and(|at| at <= now);
        let timer = Timer::ALL.into_iter().find(due)?;
        self.set(timer, None);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_earliest_deadline_is_next_and_goes_off_once() {
        let mut timers = Timers::default();
        assert_eq!(timers.next(), None);
        timers.set(Timer::Idle, Some(3 * SECOND));
        timers.set(Timer::Config, Some(2 * SECOND));
        assert_eq!(timers.next(), Some(2 * SECOND));
        assert_eq!(timers.take_due(SECOND), None);
        assert_eq!(timers.take_due(2 * SECOND), Some(Timer::Config));
        assert_eq!(timers.take_due(2 * SECOND), None);
        assert_eq!(timers.next(), Some(3 * SECOND));
    }
}
