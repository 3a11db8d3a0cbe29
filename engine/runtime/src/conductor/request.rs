//! One request as the conductor sees it.

use std::sync::Arc;

use graph::{Graph, PartitionId, WalkId, stream::Time};

use crate::{
    Error, Next, Progress, RequestInfo, Result,
    client::{Finish, Shared, Usage},
};

/// What a request is doing.
pub(super) enum State {
    /// Its partitions take walks.
    Running,
    /// Workers drop what they have of it; those of `waiting` have not said so yet.
    Closing {
        waiting: u64,
        finish: Finish,
        error: Option<Error>,
    },
}

/// A request, from its submission until its requester is told the end.
pub(super) struct Request {
    pub(super) model: usize,
    pub(super) info: Arc<RequestInfo>,
    pub(super) shared: Arc<Shared>,
    pub(super) workers: u64,
    pub(super) state: State,
    pub(super) usage: Usage,
    /// When it was let in.
    pub(super) since: Time,
    partitions: Vec<Partition>,
}

#[derive(Clone, Copy, Default)]
struct Partition {
    passes: u64,
    last: Option<WalkId>,
    streams_over: bool,
    done: bool,
}

impl Request {
    pub(super) fn new(
        model: usize,
        info: Arc<RequestInfo>,
        shared: Arc<Shared>,
        partition_count: usize,
        workers: u64,
        since: Time,
    ) -> Self {
        let mut partitions = vec![Partition::default(); partition_count];
        if let Some(requester) = partitions.first_mut() {
            requester.done = true;
        }
        Self {
            model,
            info,
            shared,
            workers,
            state: State::Running,
            usage: Usage::default(),
            since,
            partitions,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running)
    }

    pub(super) fn progress(&self, partition: PartitionId) -> Progress<'_> {
        let known = self
            .partitions
            .get(partition.index())
            .copied()
            .unwrap_or_default();
        Progress {
            request: &self.info,
            passes: known.passes,
            last: known.last,
            streams_over: known.streams_over,
        }
    }

    /// Refuses a walk that is not the partition's.
    pub(super) fn check(&self, graph: &Graph, partition: PartitionId, next: Next) -> Result<Next> {
        let (Next::Walk { walk, .. } | Next::Stream { walk }) = &next else {
            return Ok(next);
        };
        let Some(known) = graph.partitions().get(partition.index()) else {
            return Ok(Next::Done);
        };
        if known.walks().contains(walk) {
            return Ok(next);
        }
        Err(Error::Model {
            model: Arc::clone(&self.info.model),
            problem: format!(
                "partition `{}` was given {walk:?}, which it does not have",
                known.name()
            ),
        })
    }

    /// A pass of this walk begins.
    pub(super) fn walks(&mut self, partition: PartitionId, walk: WalkId) {
        if let Some(partition) = self.partitions.get_mut(partition.index()) {
            partition.last = Some(walk);
        }
    }

    pub(super) fn pass_ended(&mut self, partition: PartitionId, passes: u64, streams_over: bool) {
        if let Some(partition) = self.partitions.get_mut(partition.index()) {
            partition.passes += passes;
            partition.streams_over = streams_over;
        }
    }

    /// The partition is done. Returns whether all of them are.
    pub(super) fn done(&mut self, partition: PartitionId) -> bool {
        if let Some(partition) = self.partitions.get_mut(partition.index()) {
            partition.done = true;
        }
        self.partitions.iter().all(|partition| partition.done)
    }
}
