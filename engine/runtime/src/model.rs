//! The trait [`Model`]: with [`Submodule`], all that the runtime knows of a model.
//!
//! A model declares a graph, checks a request's options, and says which walk a partition takes
//! next.

use std::sync::Arc;

use graph::{Graph, InputId, NodeId, PartitionId, WalkId};

use crate::{Admitted, ModelInfo, Options, Payload, Placement, RequestInfo, Result, Submodule};

/// A model as the runtime sees it.
///
/// All methods are called from several threads and none may block.
pub trait Model: Send + Sync + 'static {
    /// Its nodes, walks, partitions and connections.
    fn graph(&self) -> &Arc<Graph>;

    /// What it says about itself.
    fn info(&self) -> &ModelInfo;

    /// Checks a request's options before any work is done for it.
    ///
    /// # Errors
    /// An error of the kind invalid or not found, which names the option and what is accepted.
    fn admit(&self, options: &Options) -> Result<Admitted>;

    /// On which of several workers each partition lives best, where the configuration does not
    /// say: partitions of different numbers work side by side. Taken modulo the number of workers;
    /// [`Placement::LAST`] is the last one.
    fn placement(&self) -> Placement {
        Placement::default()
    }

    /// What a partition does next. Pure: it depends on nothing but its arguments.
    ///
    /// It is asked when a request begins, and again whenever the walk that it chose has ended. A
    /// partition that is driven by a stream returns [`Next::Stream`] once, and is asked again
    /// when the stream's final chunk has gone through.
    fn next(&self, partition: PartitionId, progress: &Progress<'_>) -> Next;

    /// The submodule behind a node, made once on the worker that the node is placed on.
    ///
    /// # Errors
    /// Whatever keeps the model from being served, such as weights that are not there.
    fn submodule(&self, node: NodeId) -> Result<Box<dyn Submodule>>;
}

/// What a partition has done so far.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The request.
    pub request: &'a RequestInfo,
    /// Passes of walks that have ended, over all walks of the partition.
    pub passes: u64,
    /// The walk that ended last; none at the beginning.
    pub last: Option<WalkId>,
    /// Whether every stream into the partition has handed over its final chunk. True, too, for a
    /// partition without streams that has made a pass.
    pub streams_over: bool,
}

/// What a partition does next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Next {
    /// One pass of a walk.
    Walk {
        /// The walk.
        walk: WalkId,
        /// What it starts with: the walk's external inputs. What is not given here must come by
        /// a stream.
        inputs: Vec<Input>,
    },
    /// A pass of a walk without inputs for every chunk of its streams, up to the final one.
    Stream {
        /// The walk.
        walk: WalkId,
    },
    /// Nothing any more; the streams that leave the partition end.
    Done,
}

/// One external input of a walk.
#[derive(Clone, Debug)]
pub struct Input {
    /// The node that takes it.
    pub node: NodeId,
    /// The input of the node.
    pub input: InputId,
    /// Where it comes from.
    pub source: Source,
}

/// Where an external input comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// From the model itself; empty for a mere signal.
    Given(Vec<Payload>),
    /// From an earlier walk that ran on the same worker and kept it under this output's name.
    Kept(Arc<str>),
}
