//! What the conductor and the workers say to each other.
//!
//! Each message belongs to a request, and how many of each kind may be under way is bounded: see
//! [`link`](crate::link).

use std::sync::Arc;

use graph::{ConnectionId, PartitionId, WalkId};

use crate::{
    Error, Payload, RequestId, RequestInfo,
    client::{Shared, Usage},
    model::Input,
};

/// To a worker, from the conductor, a requester's bell or another worker.
pub(crate) enum Command {
    /// A request that will have something on this worker. First of all its messages.
    Open(Box<Opening>),
    /// A partition takes a walk.
    Start {
        request: RequestId,
        partition: PartitionId,
        pass: Pass,
    },
    /// A partition is done: the streams that leave it end.
    Finish {
        request: RequestId,
        partition: PartitionId,
    },
    /// Everything of the request goes, and the worker says so. Last of the conductor's messages.
    Close { request: RequestId },
    /// The requester fed something in, or has made room for outputs.
    Ring { request: RequestId },
    /// Items for a stream that a partition on this worker consumes.
    Items {
        request: RequestId,
        connection: ConnectionId,
        items: Vec<Payload>,
    },
    /// The stream has no more of them.
    EndStream {
        request: RequestId,
        connection: ConnectionId,
    },
    /// Room for so many more items on a stream that a partition on this worker produces.
    Credit {
        request: RequestId,
        connection: ConnectionId,
        count: usize,
    },
}

impl Command {
    /// The request that it belongs to.
    pub(crate) fn request(&self) -> RequestId {
        match self {
            Self::Open(opening) => opening.info.id,
            Self::Start { request, .. }
            | Self::Finish { request, .. }
            | Self::Close { request }
            | Self::Ring { request }
            | Self::Items { request, .. }
            | Self::EndStream { request, .. }
            | Self::Credit { request, .. } => *request,
        }
    }
}

/// What a worker has to know of a request.
pub(crate) struct Opening {
    pub(crate) model: usize,
    pub(crate) info: Arc<RequestInfo>,
    pub(crate) shared: Arc<Shared>,
}

/// The walk that a partition takes.
#[derive(Debug)]
pub(crate) enum Pass {
    /// Once, with these inputs.
    Once { walk: WalkId, inputs: Vec<Input> },
    /// For every chunk of its streams.
    Stream { walk: WalkId },
}

impl Pass {
    pub(crate) fn walk(&self) -> WalkId {
        match *self {
            Self::Once { walk, .. } | Self::Stream { walk } => walk,
        }
    }
}

/// From a worker to the conductor.
#[derive(Debug)]
pub(crate) enum Report {
    /// What a `Start` began has ended.
    Ended {
        request: RequestId,
        partition: PartitionId,
        passes: u64,
        streams_over: bool,
    },
    /// The request cannot go on.
    Failed { request: RequestId, error: Error },
    /// The request has had as many steps as a request may have.
    Exhausted { request: RequestId },
    /// Nothing of the request is left on this worker.
    Closed { request: RequestId, usage: Usage },
}
