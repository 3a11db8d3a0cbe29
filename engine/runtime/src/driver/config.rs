//! What a driver is started with. Plain data.

use std::{collections::BTreeMap, time::Duration};

use crate::{Placement, Policy};

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

/// Whom to let in, so that those who are in keep their deadlines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// How much of a worker's time its listeners may take together, as a share of it.
    pub load: f64,
    /// How long a newcomer may have to wait for its first audio. One who would wait longer is
    /// refused.
    pub first_output: Duration,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            // What is left is for first chunks, and for steps that take longer than planned.
            load: 0.8,
            first_output: Duration::from_millis(500),
        }
    }
}

/// In which order ready work is done, and whom to let in. The times matter by deadline only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduling {
    /// The rule.
    pub policy: Policy,
    /// How long after a request came its first audio is due.
    pub first_output: Duration,
    /// How long after it became ready a step is due that nobody hears, where its node does not
    /// say.
    pub text: Duration,
    /// The same for requests that nobody waits for.
    pub background: Duration,
    /// Whom to let in; none lets in everyone up to [`Limits::requests`].
    pub admission: Option<Admission>,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            // What feels like at once.
            first_output: Duration::from_millis(100),
            text: Duration::from_millis(100),
            background: Duration::from_secs(1),
            admission: None,
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
    /// In which order ready work is done.
    pub scheduling: Scheduling,
    /// What the seeds of requests that name none are drawn from.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            workers: 1,
            placement: BTreeMap::new(),
            scheduling: Scheduling::default(),
            seed: 0,
        }
    }
}
