//! What a driver is started with. Plain data.

use std::collections::BTreeMap;

use crate::Placement;

/// What may be open, queued and fed at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests open at once. One more is refused before any work.
    pub requests: usize,
    /// Items that one request may feed in over its life, on each input.
    pub input_items: u64,
    /// Outputs of one request that wait for its requester. With more, its nodes do not run.
    pub outputs: usize,
    /// Steps of one request on one worker; then it ends as if the model had stopped.
    pub steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 256,
            // Over two hours of reading aloud.
            input_items: 100_000,
            // A chunk of speech is 0.1 to 1 s, and a listener wants it at once.
            outputs: 64,
            // A step for each 10 ms of two hours.
            steps: 1_000_000,
        }
    }
}

/// Everything that a driver is started with, beside the models.
#[derive(Clone, Debug)]
pub struct Config {
    /// What may be open, queued and fed at most.
    pub limits: Limits,
    /// Workers, at least 1 and at most [`MAX_WORKERS`](crate::MAX_WORKERS).
    pub workers: usize,
    /// Where the partitions of models live, by the models' ids.
    pub placement: BTreeMap<String, Placement>,
    /// What the seeds of requests that name none are drawn from.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            workers: 1,
            placement: BTreeMap::new(),
            seed: 0,
        }
    }
}
