//! A model whose nodes do nothing but say when they ran.

use std::{sync::Arc, time::Instant};

use graph::{Graph, GraphBuilder, NodeId, PartitionId, WalkId};
use parking_lot::Mutex;
use runtime::{
    Admitted, Input, Member, Model, ModelInfo, Next, Options, Payload, Progress, Source, Submodule,
};

/// When a node's step began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) node: usize,
    pub(super) at: Instant,
    pub(super) members: usize,
    /// One past the last item of the chunk that it took; 0 where it takes none.
    pub(super) items: u64,
}

/// All steps, in order.
pub(super) type Stamps = Arc<Mutex<Vec<Stamp>>>;

/// What a partition without streams does: so many passes of these walks, in turns.
#[derive(Clone, Debug)]
pub(super) struct Passes {
    pub(super) walks: Vec<&'static str>,
    pub(super) count: u64,
}

/// Nodes that pass a signal on.
pub(super) struct Idle {
    graph: Arc<Graph>,
    info: ModelInfo,
    passes: Passes,
    max_batch: usize,
    stamps: Stamps,
}

impl Idle {
    /// # Errors
    /// Where the graph is none.
    pub(super) fn new(
        graph: GraphBuilder,
        passes: Passes,
        max_batch: usize,
    ) -> Result<Self, graph::Findings> {
        let info = ModelInfo {
            id: "idle".into(),
            ..ModelInfo::default()
        };
        Ok(Self {
            graph: Arc::new(graph.build()?),
            info,
            passes,
            max_batch,
            stamps: Arc::new(Mutex::new(Vec::with_capacity(1 << 18))),
        })
    }

    pub(super) fn stamps(&self) -> Stamps {
        Arc::clone(&self.stamps)
    }

    /// Each input from outside gets a signal.
    fn entries(&self, walk: WalkId) -> Vec<Input> {
        let entries = self.graph.walk(walk).into_iter();
        let entries = entries.flat_map(|walk| walk.entries());
        let signal = |entry: graph::Taken| Input {
            node: entry.node,
            input: entry.input,
            source: Source::Given(Vec::new()),
        };
        entries.map(signal).collect()
    }
}

impl Model for Idle {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, _options: &Options) -> runtime::Result<Admitted> {
        Ok(Arc::new(()))
    }

    fn next(&self, partition: PartitionId, progress: &Progress<'_>) -> Next {
        let here = self.graph.partition(partition);
        if let Some(here) = here.filter(|here| !here.incoming().is_empty()) {
            return match here.initial() {
                Some(walk) if !progress.streams_over => Next::Stream { walk },
                _ => Next::Done,
            };
        }
        if progress.passes >= self.passes.count {
            return Next::Done;
        }
        let mut turns = self.passes.walks.iter().cycle();
        let turn = progress.passes % self.passes.walks.len().max(1) as u64;
        let name = turns.nth(usize::try_from(turn).unwrap_or(0));
        match name.and_then(|name| self.graph.walk_named(name)) {
            Some(walk) => Next::Walk {
                walk: walk.id(),
                inputs: self.entries(walk.id()),
            },
            None => Next::Done,
        }
    }

    fn submodule(&self, node: NodeId) -> runtime::Result<Box<dyn Submodule>> {
        let spec = self.graph.node(node);
        let ports = |ports: &[graph::Port]| ports.iter().map(|port| port.name.clone()).collect();
        Ok(Box::new(Node {
            node: node.index(),
            inputs: spec.map_or_else(Vec::new, |spec| ports(&spec.inputs)),
            outputs: spec.map_or_else(Vec::new, |spec| ports(&spec.outputs)),
            max_batch: self.max_batch,
            stamps: self.stamps(),
        }))
    }
}

struct Node {
    node: usize,
    inputs: Vec<String>,
    outputs: Vec<String>,
    max_batch: usize,
    stamps: Stamps,
}

impl Submodule for Node {
    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        #[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
        let at = Instant::now();
        let first = batch.first();
        let chunk = first.and_then(|member| {
            let mut inputs = self.inputs.iter();
            inputs.find_map(|input| member.chunk(input))
        });
        let items = chunk.map_or(0, |chunk| chunk.start + chunk.items.len() as u64);
        let stamp = Stamp {
            node: self.node,
            at,
            members: batch.len(),
            items,
        };
        self.stamps.lock().push(stamp);
        for member in batch {
            for output in &self.outputs {
                member.put(output, Payload::Signal);
            }
        }
    }
}
