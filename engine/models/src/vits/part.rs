//! A part of the voice's graph, made ready to run.

use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView};

use super::error::{Error, Result};

/// The threads that one step of a voice may use.
///
/// One pool serves all parts of a voice. Its threads sleep between steps.
#[derive(Clone)]
pub(super) struct Threads {
    pool: Arc<ThreadPool>,
    count: usize,
}

impl Threads {
    /// A pool of `count` threads, at least one.
    pub(super) fn new(count: usize) -> Self {
        let count = count.max(1);
        Self {
            pool: Arc::new(ThreadPool::with_num_threads(count)),
            count,
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Runs something on them.
    pub(super) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.run(work)
    }
}

/// A cut-out graph with its weights.
pub(super) struct Part {
    name: String,
    model: Model,
    threads: Threads,
}

impl Part {
    /// Reads a graph that [`Onnx::extract`](crate::onnx::Onnx::extract) wrote.
    pub(super) fn load(name: impl Into<String>, graph: Vec<u8>, threads: &Threads) -> Result<Self> {
        let name = name.into();
        // Packed weights cost memory once and save the packing in each of many short runs.
        let loaded = ModelOptions::with_all_ops()
            .prepack_weights(true)
            .load(graph);
        match loaded {
            Ok(model) => Ok(Self {
                name,
                model,
                threads: threads.clone(),
            }),
            Err(error) => Err(Error::Load {
                part: name,
                problem: error.to_string(),
            }),
        }
    }

    /// The handle of a value by its name.
    pub(super) fn value(&self, name: &str) -> Result<NodeId> {
        self.model.node_id(name).map_err(|error| Error::Load {
            part: self.name.clone(),
            problem: format!("the value `{name}`: {error}"),
        })
    }

    /// The handle of a value by its name, where the part has it.
    pub(super) fn find(&self, name: &str) -> Option<NodeId> {
        self.model.find_node(name)
    }

    /// Computes all outputs.
    pub(super) fn run(&self, inputs: Vec<(NodeId, ValueOrView<'_>)>) -> Result<Vec<Value>> {
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.threads.pool)));
        let ran = self
            .model
            .run(inputs, self.model.output_ids(), Some(options));
        ran.map_err(|error| self.failed(&error))
    }

    /// An error that names this part.
    pub(super) fn failed(&self, problem: &dyn std::fmt::Display) -> Error {
        Error::Run {
            part: self.name.clone(),
            problem: problem.to_string(),
        }
    }
}
