//! Stopping in order: no more guests, then until the last one has left, then the lights.

use std::sync::Arc;

use tokio::sync::watch;

/// How far a server is in its life. It only moves down this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Lets requests in.
    Serving,
    /// Lets none in; those inside finish.
    Draining,
    /// Whatever is inside ends now.
    Stopping,
}

/// The phase, and how many tasks are inside that no connection holds.
#[derive(Debug, Clone)]
pub(crate) struct Drain {
    phase: Arc<watch::Sender<Phase>>,
    inside: Arc<watch::Sender<usize>>,
}

/// A task that is inside; dropping it leaves.
#[derive(Debug)]
pub(crate) struct Inside(Arc<watch::Sender<usize>>);

impl Drain {
    pub(crate) fn new() -> Self {
        Self {
            phase: Arc::new(watch::Sender::new(Phase::Serving)),
            inside: Arc::new(watch::Sender::new(0)),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_if_modified(|current| {
            let later = phase > *current;
            if later {
                *current = phase;
            }
            later
        });
    }

    /// Returns when the phase is `phase` or a later one.
    pub(crate) async fn reached(&self, phase: Phase) {
        let mut watched = self.phase.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = watched.wait_for(|current| *current >= phase).await;
    }

    /// Returns the phase after `phase` when it is reached; never where there is none.
    pub(crate) async fn after(&self, phase: Phase) -> Phase {
        let next = match phase {
            Phase::Serving => Phase::Draining,
            Phase::Draining => Phase::Stopping,
            Phase::Stopping => return std::future::pending().await,
        };
        self.reached(next).await;
        next
    }

    pub(crate) fn inside(&self) -> Inside {
        self.inside.send_modify(|count| *count += 1);
        Inside(Arc::clone(&self.inside))
    }

    /// Returns when nothing is inside.
    pub(crate) async fn empty(&self) {
        let mut watched = self.inside.subscribe();
        let _ = watched.wait_for(|count| *count == 0).await;
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_phase_is_never_taken_back_and_the_last_one_out_is_noticed() {
        let drain = Drain::new();
        let guest = drain.inside();
        drain.enter(Phase::Stopping);
        drain.enter(Phase::Draining);
        assert_eq!(drain.phase(), Phase::Stopping);
        drain.reached(Phase::Draining).await;
        drop(guest);
        drain.empty().await;
    }
}
