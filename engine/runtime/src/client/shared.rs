//! What a requester and the workers share of one request.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{lane::Lane, outlet::Outlet};
use graph::stream::Time;

use crate::{RequestId, WorkerId};

/// How a requester reaches the workers. The driver is one; a test has its own.
pub(crate) trait Bell: Send + Sync {
    /// Something changed at the requester's end: the worker looks at it before its next step.
    fn ring(&self, worker: WorkerId, request: RequestId);
    /// The requester wants no more of it.
    fn cancel(&self, request: RequestId);
    /// What the clock says now.
    fn now(&self) -> Time;
}

/// One request as seen from both sides.
pub(crate) struct Shared {
    pub(crate) id: RequestId,
    pub(crate) lanes: Box<[Lane]>,
    pub(crate) outlet: Outlet,
    bell: Arc<dyn Bell>,
    /// One bit for each worker whose bell was rung and that has not answered yet.
    rung: AtomicU64,
    /// When it was cancelled, in nanoseconds; [`OPEN`] before that, [`CANCELLING`] in between.
    cancelled_at: AtomicU64,
}

impl Shared {
    pub(crate) fn new(
        id: RequestId,
        lanes: Box<[Lane]>,
        outlet: Outlet,
        bell: Arc<dyn Bell>,
    ) -> Self {
        Self {
            id,
            lanes,
            outlet,
            bell,
            rung: AtomicU64::new(0),
            cancelled_at: AtomicU64::new(OPEN),
        }
    }

    /// What the clock says now.
    pub(crate) fn now(&self) -> Time {
        self.bell.now()
    }

    /// Rings a worker unless its bell is ringing already.
    pub(crate) fn ring(&self, worker: WorkerId) {
        let bit = worker.bit();
        if self.rung.fetch_or(bit, Ordering::AcqRel) & bit == 0 {
            self.bell.ring(worker, self.id);
        }
    }

    /// Rings every worker whose bit is set.
    pub(crate) fn ring_all(&self, mut workers: u64) {
        while workers != 0 {
            self.ring(WorkerId::from_bit(workers));
            workers &= workers - 1;
        }
    }

    /// The worker answers: what happens from here on rings it again.
    pub(crate) fn answered(&self, worker: WorkerId) {
        self.rung.fetch_and(!worker.bit(), Ordering::AcqRel);
    }

    /// Nothing is taken in any more.
    pub(crate) fn close_lanes(&self) {
        self.lanes.iter().for_each(Lane::close);
    }

    /// Ends the request from the requester's side; the workers see it at their next step even
    /// before the conductor's word reaches them. Does nothing the second time, or after the end.
    pub(crate) fn cancel(&self) {
        if self.mark_cancelled() && !self.outlet.ended() {
            self.bell.cancel(self.id);
        }
    }

    /// The workers see the mark before its time is taken, so that a step which began after that
    /// time had a chance to see it. Returns whether it is news.
    fn mark_cancelled(&self) -> bool {
        let marked = self.cancelled_at.compare_exchange(
            OPEN,
            CANCELLING,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if marked.is_ok() {
            let now = self.bell.now().nanos().clamp(OPEN + 1, CANCELLING - 1);
            self.cancelled_at.store(now, Ordering::Release);
        }
        marked.is_ok()
    }

    /// The request was never let in: its ends do nothing any more.
    pub(crate) fn refuse(&self) {
        self.mark_cancelled();
        self.close_lanes();
    }

    /// When the requester cancelled, if it did; the end of time while that is not settled.
    pub(crate) fn cancelled(&self) -> Option<Time> {
        let at = self.cancelled_at.load(Ordering::Acquire);
        (at != OPEN).then(|| Time::from_nanos(at))
    }
}

/// Not cancelled.
const OPEN: u64 = 0;
/// Cancelled, at a time that is being read from the clock.
const CANCELLING: u64 = u64::MAX;
