//! A whole model: its nodes, walks, partitions and connections, checked.

use std::sync::Arc;

use crate::builder::GraphBuilder;
use crate::id::{ConnectionId, LoopId, NodeId, PartitionId, WalkId};
use crate::node::NodeSpec;
use crate::partition::{Connection, Partition};
use crate::walk::Walk;

/// A whole model, checked. Everything in it is found by a small index.
#[derive(Debug)]
pub struct Graph {
    pub(crate) name: String,
    pub(crate) nodes: Vec<NodeSpec>,
    pub(crate) walks: Vec<Arc<Walk>>,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) connections: Vec<Connection>,
    /// The walk of each loop.
    pub(crate) loops: Vec<WalkId>,
}

impl Graph {
    /// A graph to be declared.
    #[must_use]
    pub fn builder(name: impl Into<String>) -> GraphBuilder {
        GraphBuilder::new(name.into())
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All nodes, by id.
    #[must_use]
    pub fn nodes(&self) -> &[NodeSpec] {
        &self.nodes
    }

    /// All walks, by id.
    #[must_use]
    pub fn walks(&self) -> &[Arc<Walk>] {
        &self.walks
    }

    /// All partitions, by id. The first is the requester.
    #[must_use]
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// All connections, by id.
    #[must_use]
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// The connections that the requester feeds: what a client may stream in.
    pub fn client_streams(&self) -> impl Iterator<Item = &Connection> + '_ {
        let from_requester = |connection: &&Connection| connection.from == PartitionId::REQUESTER;
        self.connections.iter().filter(from_requester)
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&NodeSpec> {
        self.nodes.get(id.index())
    }

    /// A walk.
    #[must_use]
    pub fn walk(&self, id: WalkId) -> Option<&Arc<Walk>> {
        self.walks.get(id.index())
    }

    /// A partition.
    #[must_use]
    pub fn partition(&self, id: PartitionId) -> Option<&Partition> {
        self.partitions.get(id.index())
    }

    /// A connection.
    #[must_use]
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(id.index())
    }

    /// The walk that a loop belongs to.
    #[must_use]
    pub fn walk_of_loop(&self, id: LoopId) -> Option<WalkId> {
        self.loops.get(id.index()).copied()
    }

    /// The node of a name.
    #[must_use]
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        let position = self.nodes.iter().position(|node| node.name == name);
        position.map(NodeId::new)
    }

    /// The walk of a name.
    #[must_use]
    pub fn walk_named(&self, name: &str) -> Option<&Arc<Walk>> {
        self.walks.iter().find(|walk| walk.name == name)
    }

    /// The partition of a name.
    #[must_use]
    pub fn partition_named(&self, name: &str) -> Option<&Partition> {
        self.partitions
            .iter()
            .find(|partition| partition.name == name)
    }

    /// The connection into an input.
    #[must_use]
    pub fn connection_into(&self, node: &str, input: &str) -> Option<&Connection> {
        let node = self.node_named(node)?;
        let ends_there =
            |connection: &&Connection| connection.node == node && connection.name == input;
        self.connections.iter().find(ends_there)
    }
}
