//! What the runtime counts, as plain data: labels are models and nodes, so their number is known
//! when the models are.

use std::{sync::Arc, time::Duration};

use crate::kv;

/// Upper bounds in microseconds of the buckets of a [`Histogram`] of times: 10 us to 10 s, three
/// to a decade, because a chunk is late by a factor and not by a difference.
pub const TIME_BOUNDS_US: [u64; 19] = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000,
    500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

/// Upper bounds of the buckets of a [`Histogram`] of batch sizes.
pub const BATCH_BOUNDS: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// How many values fell below each of some fixed bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One more than there are bounds: the last one counts what lies above all of them.
    counts: Vec<u64>,
    sum: u64,
}

impl Histogram {
    /// An empty histogram of times in microseconds.
    #[must_use]
    pub fn of_times() -> Self {
        Self::with_bounds(&TIME_BOUNDS_US)
    }

    /// An empty histogram of batch sizes.
    #[must_use]
    pub fn of_batches() -> Self {
        Self::with_bounds(&BATCH_BOUNDS)
    }

    fn with_bounds(bounds: &'static [u64]) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len() + 1],
            sum: 0,
        }
    }

    pub(crate) fn record(&mut self, value: u64) {
        let bucket = self.bounds.partition_point(|&bound| bound < value);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(value);
    }

    fn add(&mut self, other: &Self) {
        self.counts
            .iter_mut()
            .zip(&other.counts)
            .for_each(|(count, more)| *count += more);
        self.sum = self.sum.saturating_add(other.sum);
    }

    pub(crate) fn record_time(&mut self, time: Duration) {
        self.record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// Each bound with the number of values at or below it and above the one before; the last
    /// bucket has no bound.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(self.counts.iter().copied())
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of the values, in the unit of the bounds.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }
}

/// What one node of one model has done, on all workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStats {
    /// The model's id.
    pub model: Arc<str>,
    /// The node's name.
    pub node: Arc<str>,
    /// Steps executed.
    pub steps: u64,
    /// Members over all steps.
    pub members: u64,
    /// Members that failed, by whatever cause.
    pub failures: u64,
    /// Time spent in steps.
    pub busy: Duration,
    /// Microseconds that a step took.
    pub step_us: Histogram,
    /// Members of a step.
    pub batch: Histogram,
    /// Microseconds that a member was ready before its step started.
    pub wait_us: Histogram,
    /// Microseconds by which emitted audio came before its listener ran dry.
    pub slack_us: Histogram,
    /// Pieces of audio that came after that. The first one of a request is never late.
    pub stalls: u64,
    /// Pages of tokens, where the node has them.
    pub pages: Option<kv::Stats>,
}

impl NodeStats {
    pub(crate) fn new(model: Arc<str>, node: Arc<str>) -> Self {
        Self {
            model,
            node,
            steps: 0,
            members: 0,
            failures: 0,
            busy: Duration::ZERO,
            step_us: Histogram::of_times(),
            batch: Histogram::of_batches(),
            wait_us: Histogram::of_times(),
            slack_us: Histogram::of_times(),
            stalls: 0,
            pages: None,
        }
    }

    /// Adds what the same node has done on another worker.
    pub(crate) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.members += other.members;
        self.failures += other.failures;
        self.busy += other.busy;
        self.step_us.add(&other.step_us);
        self.batch.add(&other.batch);
        self.wait_us.add(&other.wait_us);
        self.slack_us.add(&other.slack_us);
        self.stalls += other.stalls;
        self.pages = match (self.pages, other.pages) {
            (Some(pages), Some(more)) => Some(pages.and(more)),
            (pages, more) => pages.or(more),
        };
    }
}

/// What one worker holds right now. All are zero at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerGauges {
    /// Requests that have anything on it.
    pub requests: usize,
    /// States of nodes.
    pub states: usize,
    /// Items in the buffers of streaming edges.
    pub buffered: usize,
    /// Members that are ready and wait for their step.
    pub ready: usize,
    /// Passes of walks that have begun and not ended.
    pub runs: usize,
    /// Payloads kept for later walks.
    pub kept: usize,
}

impl WorkerGauges {
    /// Whether nothing is left of any request.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        *self == Self::default()
    }
}

/// How requests have ended so far, and how many are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Open ones.
    pub open: usize,
    /// Ended as they should.
    pub done: u64,
    /// Cancelled by their requester.
    pub cancelled: u64,
    /// Ended by an error.
    pub failed: u64,
    /// Refused for lack of room.
    pub refused: u64,
}

/// Everything that the runtime counts, at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Requests, open and by their end.
    pub requests: RequestCounts,
    /// By model and node.
    pub nodes: Vec<NodeStats>,
    /// By worker.
    pub workers: Vec<WorkerGauges>,
    /// Members whose step started after their request was cancelled.
    pub steps_after_cancel: u64,
    /// The longest that any link between threads ever was, in messages.
    pub longest_link: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_a_bound_belongs_below_it() {
        let mut histogram = Histogram::of_batches();
        for value in [1, 2, 3, 4, 129] {
            histogram.record(value);
        }
        let buckets: Vec<_> = histogram
            .buckets()
            .filter(|&(_, count)| count > 0)
            .collect();
        assert_eq!(
            buckets,
            [(Some(1), 1), (Some(2), 1), (Some(4), 2), (None, 1)]
        );
        assert_eq!((histogram.count(), histogram.sum()), (5, 139));
    }
}
