//! Which models, with which limits. Plain data, made by whoever starts the engine.

use std::{collections::BTreeMap, num::NonZero, thread::available_parallelism};

pub use models::ModelConfig;
pub use runtime::{Admission, Limits, Placement, Policy, Scheduling};

/// Everything that an engine is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The models to serve. Their ids must differ.
    pub models: Vec<ModelConfig>,
    /// What may be open, queued and fed at most.
    pub limits: Limits,
    /// Threads that the arithmetic of one step may use. Each worker has one thread of its own
    /// besides.
    pub threads: usize,
    /// Workers, each with a thread that runs steps one after the other. At least 1.
    pub workers: usize,
    /// Where the partitions of models live, by the models' ids; where nothing is said, as the
    /// models propose.
    pub placement: BTreeMap<String, Placement>,
    /// In which order ready work is done.
    pub scheduling: Scheduling,
    /// What the seeds of requests that name none are drawn from; none draws it from the clock.
    pub seed: Option<u64>,
}

impl Default for Config {
    /// The toy model on one worker.
    fn default() -> Self {
        Self {
            models: vec![ModelConfig::default()],
            limits: Limits::default(),
            threads: available_parallelism().map_or(1, NonZero::get),
            workers: 1,
            placement: BTreeMap::new(),
            scheduling: Scheduling::default(),
            seed: None,
        }
    }
}
