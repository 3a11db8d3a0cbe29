//! How nodes are put together: sequence, parallel, loop.
//!
//! Sequence and parallel say what belongs together, derive a walk's signature and serve
//! placement. At run time only edges order execution. A loop is different: it repeats its body
//! behind a barrier, and that is the only way to write a cycle.

use crate::edge::{Destination, Edge};
use crate::port::Modality;

/// A part of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    /// One run of a node.
    Node(Call),
    /// Parts that follow each other.
    Sequence(Vec<Self>),
    /// Parts that do not wait for each other.
    Parallel(Vec<Self>),
    /// A body repeated exactly `max` times.
    Loop(LoopSpec),
    /// A body repeated at most `max` times; a node inside may end it.
    DynamicLoop(LoopSpec),
}

impl Section {
    /// Parts that follow each other.
    #[must_use]
    pub fn sequence<S: Into<Self>>(parts: impl IntoIterator<Item = S>) -> Self {
        Self::Sequence(parts.into_iter().map(Into::into).collect())
    }

    /// Parts that do not wait for each other.
    #[must_use]
    pub fn parallel<S: Into<Self>>(parts: impl IntoIterator<Item = S>) -> Self {
        Self::Parallel(parts.into_iter().map(Into::into).collect())
    }
}

impl From<Call> for Section {
    fn from(call: Call) -> Self {
        Self::Node(call)
    }
}

/// One use of a node in a walk: what it waits for, and where its outputs go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The node's name.
    pub node: String,
    /// The inputs that it waits for in this walk; `None` is all that the node declares.
    pub takes: Option<Vec<String>>,
    /// Where its outputs go.
    pub edges: Vec<Edge>,
}

impl Call {
    /// A run of a node that waits for all its inputs.
    #[must_use]
    pub fn new(node: impl Into<String>) -> Self {
        Self {
            node: node.into(),
            takes: None,
            edges: Vec::new(),
        }
    }

    /// Waits for these inputs only.
    #[must_use]
    pub fn takes<S: Into<String>>(mut self, inputs: impl IntoIterator<Item = S>) -> Self {
        self.takes = Some(inputs.into_iter().map(Into::into).collect());
        self
    }

    /// With one more edge.
    #[must_use]
    pub fn edge(mut self, edge: Edge) -> Self {
        self.edges.push(edge);
        self
    }

    /// Passes an output to an input of a node of this walk.
    #[must_use]
    pub fn to(
        self,
        output: impl Into<String>,
        node: impl Into<String>,
        input: impl Into<String>,
    ) -> Self {
        self.edge(Edge::to(output, node, input))
    }

    /// Streams an output to an input of a node in another partition.
    #[must_use]
    pub fn stream(
        self,
        output: impl Into<String>,
        node: impl Into<String>,
        input: impl Into<String>,
    ) -> Self {
        self.edge(Edge::stream(output, node, input))
    }

    /// Sends an output to the requester.
    #[must_use]
    pub fn emit(self, output: impl Into<String>, modality: Modality) -> Self {
        self.edge(Edge::emit(output, modality))
    }

    /// Keeps an output for a later walk.
    #[must_use]
    pub fn keep(self, output: impl Into<String>) -> Self {
        self.edge(Edge::keep(output))
    }

    /// Gives an output to the loop around it, and to nobody else.
    #[must_use]
    pub fn gives(self, output: impl Into<String>) -> Self {
        self.edge(Edge::new(output, Destination::Nowhere))
    }
}

/// A repeated body, and what leaves it.
///
/// An iteration ends when every entity directly in the body has run once. Outputs leave when the
/// loop is done, with the last iteration's payloads; accumulated outputs leave once, with those
/// of all iterations in order. Inputs from outside that the body does not feed itself are
/// presented again in each iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopSpec {
    /// The name, unique in the walk. Stops name it.
    pub name: String,
    /// The most iterations, at least 1.
    pub max: u32,
    /// What is repeated.
    pub body: Box<Section>,
    /// Edges that the last iteration's payloads take.
    pub outputs: Vec<Edge>,
    /// Edges that all iterations' payloads take, in order.
    pub accumulated: Vec<Edge>,
}

impl LoopSpec {
    /// A body repeated up to `max` times, with nothing leaving it.
    #[must_use]
    pub fn new(name: impl Into<String>, max: u32, body: impl Into<Section>) -> Self {
        Self {
            name: name.into(),
            max,
            body: Box::new(body.into()),
            outputs: Vec::new(),
            accumulated: Vec::new(),
        }
    }

    /// With an output that leaves with the last iteration's payloads.
    #[must_use]
    pub fn output(mut self, edge: Edge) -> Self {
        self.outputs.push(edge);
        self
    }

    /// With an output that leaves with all iterations' payloads.
    #[must_use]
    pub fn accumulate(mut self, edge: Edge) -> Self {
        self.accumulated.push(edge);
        self
    }

    /// Repeated exactly `max` times.
    #[must_use]
    pub fn bounded(self) -> Section {
        Section::Loop(self)
    }

    /// Repeated at most `max` times; a node inside may end it.
    #[must_use]
    pub fn dynamic(self) -> Section {
        Section::DynamicLoop(self)
    }
}
