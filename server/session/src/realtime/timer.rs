//! Every deadline of a realtime session.

use std::time::Duration;

/// What a session may be waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// The user speaks and no audio comes: it counts as silence by the clock.
    Silence,
    /// The user speaks over a response: is it an interruption?
    Overlap,
    /// Nobody has said anything since the last response (`idle_timeout_ms`).
    Unanswered,
    /// Nothing at all has happened.
    Idle,
    /// The connection is lost, and may come back.
    Detached,
    /// The session will end soon, and its client is to know.
    Warning,
    /// A session ends at this age, whatever it does.
    Lifetime,
}

impl Timer {
    const ALL: [Self; 7] = [
        Self::Silence,
        Self::Overlap,
        Self::Unanswered,
        Self::Idle,
        Self::Detached,
        Self::Warning,
        Self::Lifetime,
    ];
}

/// When each [`Timer`] goes off, if it is set.
#[derive(Debug, Default)]
pub(super) struct Timers([Option<Duration>; Timer::ALL.len()]);

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, at: Option<Duration>) {
        self.0[timer as usize] = at;
    }

    pub(super) fn clear(&mut self) {
        self.0 = [None; Timer::ALL.len()];
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
