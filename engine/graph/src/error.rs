//! What can go wrong while a walk runs.

/// A call that a running walk refuses. Each is a fault of whoever drives the walk; the walk is
/// as it was before the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The walk does not run this node.
    #[error("walk `{walk}` does not run {node}")]
    NotInWalk {
        /// The walk's name.
        walk: String,
        /// The node's name, or its id where the graph has no such node.
        node: String,
    },
    /// The node does not take this input in this walk.
    #[error("`{node}` takes no such input in walk `{walk}`")]
    NotTaken {
        /// The walk's name.
        walk: String,
        /// The node's name.
        node: String,
    },
    /// The input holds a payload, and one for the next round is waiting.
    #[error("`{node}.{input}` is full: it holds a payload for this round and one for the next")]
    InputFull {
        /// The node's name.
        node: String,
        /// The input's name.
        input: String,
    },
    /// A payload came from outside for an input that another node of the walk feeds.
    #[error("`{node}.{input}` gets its payload inside the walk")]
    FedInside {
        /// The node's name.
        node: String,
        /// The input's name.
        input: String,
    },
    /// A chunk came for an input whose node does not wait for one: plain inputs are missing, or
    /// it has a chunk, or it has run in this iteration.
    #[error("`{node}.{input}` does not wait for a chunk now")]
    ChunkNotWanted {
        /// The node's name.
        node: String,
        /// The input's name.
        input: String,
    },
    /// A payload came for an input that takes a stream, or a chunk for one that does not.
    #[error("`{node}.{input}` takes its payloads {} a stream", if *.streamed { "from" } else { "without" })]
    WrongWay {
        /// The node's name.
        node: String,
        /// The input's name.
        input: String,
        /// Whether the input takes a stream.
        streamed: bool,
    },
    /// The node's inputs were asked for before it was ready, or twice.
    #[error("`{node}` is not ready")]
    NotReady {
        /// The node's name.
        node: String,
    },
    /// A completion for a node that was not running.
    #[error("`{node}` is not running")]
    NotRunning {
        /// The node's name.
        node: String,
    },
    /// A stop for a loop that does not surround the node.
    #[error("`{node}` is not inside the loop that it would stop")]
    StopFromOutside {
        /// The node's name.
        node: String,
    },
    /// A stop for a loop that runs a fixed number of times.
    #[error("loop `{name}` runs a fixed number of times and cannot be stopped")]
    NotStoppable {
        /// The loop's name.
        name: String,
    },
}

/// The result of a call on a running walk.
pub type Result<T, E = Error> = std::result::Result<T, E>;
