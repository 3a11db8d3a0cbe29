//! The parts of a model that advance on their own, and the streaming edges between them.
//!
//! The requester is a partition, too: text that arrives bit by bit or a microphone enters through
//! a connection like any other.

use crate::id::{ConnectionId, InputId, NodeId, PartitionId, WalkId};
use crate::stream;

/// The declaration of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSpec {
    /// The name, unique in the graph.
    pub name: String,
    /// The walks that it runs. A walk belongs to one partition.
    pub walks: Vec<String>,
    /// The walk that a request starts with here, where that is fixed.
    pub initial: Option<String>,
}

impl PartitionSpec {
    /// A partition of these walks.
    #[must_use]
    pub fn new<S: Into<String>>(
        name: impl Into<String>,
        walks: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            name: name.into(),
            walks: walks.into_iter().map(Into::into).collect(),
            initial: None,
        }
    }

    /// Starts with this walk.
    #[must_use]
    pub fn initial(mut self, walk: impl Into<String>) -> Self {
        self.initial = Some(walk.into());
        self
    }
}

/// The declaration of a streaming edge between two partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionSpec {
    /// The producer's partition; `None` is the requester.
    pub from: Option<String>,
    /// The consumer's partition.
    pub to: String,
    /// The node that takes the chunks.
    pub node: String,
    /// The input through which it takes them.
    pub input: String,
    /// Policy, capacity, and what happens when it is full.
    pub stream: stream::Config,
}

impl ConnectionSpec {
    /// From one partition to an input in another.
    #[must_use]
    pub fn new(
        from: impl Into<String>,
        to: impl Into<String>,
        node: impl Into<String>,
        input: impl Into<String>,
        stream: stream::Config,
    ) -> Self {
        Self {
            from: Some(from.into()),
            to: to.into(),
            node: node.into(),
            input: input.into(),
            stream,
        }
    }

    /// From the requester to an input of a partition.
    #[must_use]
    pub fn from_requester(
        to: impl Into<String>,
        node: impl Into<String>,
        input: impl Into<String>,
        stream: stream::Config,
    ) -> Self {
        Self {
            from: None,
            to: to.into(),
            node: node.into(),
            input: input.into(),
            stream,
        }
    }
}

/// A partition of a built graph.
#[derive(Clone, Debug)]
pub struct Partition {
    pub(crate) id: PartitionId,
    pub(crate) name: String,
    pub(crate) walks: Vec<WalkId>,
    pub(crate) initial: Option<WalkId>,
    pub(crate) incoming: Vec<ConnectionId>,
    pub(crate) outgoing: Vec<ConnectionId>,
}

impl Partition {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> PartitionId {
        self.id
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The walks that it runs.
    #[must_use]
    pub fn walks(&self) -> &[WalkId] {
        &self.walks
    }

    /// The walk that a request starts with here: the declared one, or the only one.
    #[must_use]
    pub fn initial(&self) -> Option<WalkId> {
        match (self.initial, self.walks.as_slice()) {
            (Some(walk), _) | (None, &[walk]) => Some(walk),
            _ => None,
        }
    }

    /// The connections that it consumes.
    #[must_use]
    pub fn incoming(&self) -> &[ConnectionId] {
        &self.incoming
    }

    /// The connections that it produces into.
    #[must_use]
    pub fn outgoing(&self) -> &[ConnectionId] {
        &self.outgoing
    }

    /// Whether this is the requester, which runs no walks.
    #[must_use]
    pub fn is_requester(&self) -> bool {
        self.id == PartitionId::REQUESTER
    }
}

/// A streaming edge of a built graph. Each request has one buffer for each.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) from: PartitionId,
    pub(crate) to: PartitionId,
    pub(crate) node: NodeId,
    pub(crate) input: InputId,
    pub(crate) name: String,
    pub(crate) stream: stream::Config,
}

impl Connection {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> ConnectionId {
        self.id
    }

    /// The producer's partition.
    #[must_use]
    pub const fn from(&self) -> PartitionId {
        self.from
    }

    /// The consumer's partition.
    #[must_use]
    pub const fn to(&self) -> PartitionId {
        self.to
    }

    /// The node that takes the chunks.
    #[must_use]
    pub const fn node(&self) -> NodeId {
        self.node
    }

    /// The input through which it takes them.
    #[must_use]
    pub const fn input(&self) -> InputId {
        self.input
    }

    /// The input's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Policy, capacity, and what happens when it is full.
    #[must_use]
    pub const fn stream(&self) -> &stream::Config {
        &self.stream
    }
}
