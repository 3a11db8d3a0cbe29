//! What a requester and the workers share of one request.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
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
    cancelled: AtomicBool,
    /// When it was cancelled, in nanoseconds; meaningful once `cancelled` is set.
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
            cancelled: AtomicBool::new(false),
            cancelled_at: AtomicU64::new(0),
        }
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
        self.cancelled_at
            .fetch_max(self.bell.now().nanos(), Ordering::Relaxed);
        if !self.cancelled.swap(true, Ordering::Release) && !self.outlet.ended() {
            self.bell.cancel(self.id);
        }
    }

    /// The request was never let in: its ends do nothing any more.
    pub(crate) fn refuse(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.close_lanes();
    }

    /// When the requester cancelled, if it did.
    pub(crate) fn cancelled(&self) -> Option<Time> {
        self.cancelled
            .load(Ordering::Acquire)
            .then(|| Time::from_nanos(self.cancelled_at.load(Ordering::Relaxed)))
    }
}
