//! From an output to a destination, and what the edge does there: pass, stream, emit, persist.
//!
//! Fan-out is several edges of one output. An edge may carry nothing; it still counts as taken.

use crate::port::Modality;

/// Where an edge ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// An input of a node of the same walk.
    Node {
        /// The node's name.
        node: String,
        /// The input's name.
        input: String,
    },
    /// An input of a node in another partition, over a connection.
    Stream {
        /// The node's name.
        node: String,
        /// The input's name.
        input: String,
    },
    /// The requester. Without a modality, the one that the port's kind implies.
    Emit(Option<Modality>),
    /// Nobody in this walk: for a payload that is only kept.
    Nowhere,
}

/// An edge of a walk's declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The output that feeds it.
    pub output: String,
    /// Where it ends.
    pub to: Destination,
    /// Keep the payload for a later walk of the request.
    pub persist: bool,
    /// Each payload counts toward the request's token budget.
    pub count: bool,
}

impl Edge {
    /// To an input of another node of the same walk.
    #[must_use]
    pub fn to(
        output: impl Into<String>,
        node: impl Into<String>,
        input: impl Into<String>,
    ) -> Self {
        let (node, input) = (node.into(), input.into());
        Self::new(output, Destination::Node { node, input })
    }

    /// To an input of a node in another partition.
    #[must_use]
    pub fn stream(
        output: impl Into<String>,
        node: impl Into<String>,
        input: impl Into<String>,
    ) -> Self {
        let (node, input) = (node.into(), input.into());
        Self::new(output, Destination::Stream { node, input })
    }

    /// To the requester.
    #[must_use]
    pub fn emit(output: impl Into<String>, modality: Modality) -> Self {
        Self::new(output, Destination::Emit(Some(modality)))
    }

    /// Kept for a later walk, and sent nowhere.
    #[must_use]
    pub fn keep(output: impl Into<String>) -> Self {
        Self::new(output, Destination::Nowhere).persist()
    }

    /// An edge without flags.
    #[must_use]
    pub fn new(output: impl Into<String>, to: Destination) -> Self {
        Self {
            output: output.into(),
            to,
            persist: false,
            count: false,
        }
    }

    /// Keeps the payload for a later walk, too.
    #[must_use]
    pub fn persist(mut self) -> Self {
        self.persist = true;
        self
    }

    /// Counts toward the request's token budget.
    #[must_use]
    pub fn counted(mut self) -> Self {
        self.count = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_start_clear_and_add_up() {
        let edge = Edge::emit("token", Modality::Text);
        assert!(!edge.persist && !edge.count);
        let edge = edge.persist().counted();
        assert!(edge.persist && edge.count);
        assert!(Edge::keep("state").persist);
    }
}
