//! The parts of a worker that a request's share of it works with.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use graph::{ConnectionId, NodeId, Wanting, stream::Time};

use super::{Outbound, Seat, groups::Groups, scheduler::Scheduler, streams::Incoming};
use crate::WorkerId;

/// The parts of a worker that a request's share of it works with.
pub(super) struct Desk<'a> {
    pub(super) worker: WorkerId,
    pub(super) slot: usize,
    pub(super) now: Time,
    pub(super) groups: &'a Groups,
    pub(super) scheduler: &'a mut Scheduler<Seat>,
    pub(super) outbox: &'a mut VecDeque<Outbound>,
    pub(super) timers: &'a mut BTreeSet<(Time, usize, ConnectionId)>,
    pub(super) wanting: &'a mut Vec<Wanting>,
    pub(super) ready: &'a mut Vec<NodeId>,
}

/// The soonest that a stream is looked at again when nothing arrives.
const SOONEST: Duration = Duration::from_millis(1);

impl Desk<'_> {
    /// Has the stream looked at when its policy wants it, if that is sooner than planned.
    pub(super) fn set_timer(&mut self, incoming: &mut Incoming) {
        let Some(deadline) = incoming.buffer.next_deadline() else {
            return self.clear_timer(incoming);
        };
        let deadline = deadline.max(self.now.after(SOONEST));
        if incoming.timer.is_none_or(|timer| deadline < timer) {
            self.clear_timer(incoming);
            incoming.timer = Some(deadline);
            self.timers
                .insert((deadline, self.slot, incoming.connection));
        }
    }

    pub(super) fn clear_timer(&mut self, incoming: &mut Incoming) {
        if let Some(timer) = incoming.timer.take() {
            self.timers.remove(&(timer, self.slot, incoming.connection));
        }
    }
}
