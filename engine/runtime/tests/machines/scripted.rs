//! A model out of a graph and closures, for tests and benches.

use std::sync::Arc;

use graph::{Graph, GraphBuilder, NodeId, PartitionId};
use runtime::{
    Admitted, Cause, Member, Model, ModelInfo, Next, Options, Progress, RequestInfo, Result, State,
    Submodule,
};

/// Samples per second of its audio.
pub(crate) const RATE: u32 = 8_000;

type Step = Arc<dyn Fn(&str, &mut Member<'_>) + Send + Sync>;
type Choose = Box<dyn Fn(&Graph, PartitionId, &Progress<'_>) -> Next + Send + Sync>;

/// A model whose nodes do what a closure says.
pub(crate) struct Scripted {
    graph: Arc<Graph>,
    pub(crate) info: ModelInfo,
    step: Step,
    next: Choose,
    max_batch: usize,
}

impl Scripted {
    /// Every partition takes its only walk for each chunk of its streams, or once without them.
    pub(crate) fn new(
        graph: GraphBuilder,
        max_batch: usize,
        step: impl Fn(&str, &mut Member<'_>) + Send + Sync + 'static,
    ) -> Self {
        let next = |graph: &Graph, partition: PartitionId, progress: &Progress<'_>| {
            let Some(partition) = graph.partition(partition) else {
                return Next::Done;
            };
            match partition.initial() {
                Some(walk) if partition.incoming().is_empty() && progress.passes == 0 => {
                    Next::Walk {
                        walk,
                        inputs: Vec::new(),
                    }
                }
                Some(walk) if !progress.streams_over => Next::Stream { walk },
                _ => Next::Done,
            }
        };
        let graph = graph
            .build()
            .unwrap_or_else(|findings| panic!("{findings}"));
        let info = ModelInfo {
            id: graph.name().to_owned(),
            kind: "scripted".to_owned(),
            description: String::new(),
            converses: false,
            inputs: Vec::new(),
            outputs: Vec::new(),
            hears: None,
            hears_streams: false,
            sample_rate: Some(RATE),
            voices: Vec::new(),
            default_voice: None,
            licence: String::new(),
            weights: String::new(),
        };
        Self {
            graph: Arc::new(graph),
            info,
            step: Arc::new(step),
            next: Box::new(next),
            max_batch,
        }
    }

    /// With another choice of walks.
    pub(crate) fn choosing(
        mut self,
        next: impl Fn(&Graph, PartitionId, &Progress<'_>) -> Next + Send + Sync + 'static,
    ) -> Self {
        self.next = Box::new(next);
        self
    }
}

impl Model for Scripted {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, _options: &Options) -> Result<Admitted> {
        Ok(Arc::new(()))
    }

    fn next(&self, partition: PartitionId, progress: &Progress<'_>) -> Next {
        (self.next)(&self.graph, partition, progress)
    }

    fn submodule(&self, node: NodeId) -> Result<Box<dyn Submodule>> {
        let name = self
            .graph
            .node(node)
            .map_or_else(String::new, |spec| spec.name.clone());
        Ok(Box::new(Node {
            name,
            step: Arc::clone(&self.step),
            max_batch: self.max_batch,
        }))
    }
}

struct Node {
    name: String,
    step: Step,
    max_batch: usize,
}

impl Submodule for Node {
    fn max_batch(&self) -> usize {
        self.max_batch
    }

    /// How many steps the request has had here.
    fn open(&mut self, _request: &RequestInfo) -> std::result::Result<State, Cause> {
        Ok(Box::new(0_u64))
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        for member in batch {
            if let Ok(steps) = member.state::<u64>() {
                *steps += 1;
            }
            (self.step)(&self.name, member);
        }
    }
}
