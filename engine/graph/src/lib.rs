//! What runs in what order: nodes, walks, partitions and streaming edges.
//!
//! *A model is a graph, a request is a walk, and everything that flows in time crosses a
//! streaming edge with a chunk policy.* This crate holds these words and their rules. It is pure:
//! it knows no device, no model, no thread and no clock, and it never looks into a payload.
//!
//! | word | type | means |
//! | --- | --- | --- |
//! | node | [`NodeSpec`] | a unit of compute with typed ports |
//! | port | [`Port`], [`PortType`] | where a payload enters or leaves a node |
//! | edge | [`Edge`] | from an output to an input, to the requester, or into a stream |
//! | section | [`Section`] | sequence, parallel or loop: how a walk is put together |
//! | walk | [`Walk`] | a named path through the graph that runs to its end |
//! | partition | [`Partition`] | walks that advance on their own; the requester is one |
//! | connection | [`Connection`] | a streaming edge between two partitions |
//! | finding | [`Finding`] | something that makes a declaration unsound, with its place |
//! | run | [`WalkRun`] | one request's way through one walk |
//! | buffer | [`stream::StreamBuffer`] | what one request has waiting on one connection |
//!
//! # From a declaration to a run
//!
//! A [`GraphBuilder`] takes declarations, checks them all, and compiles each walk into tables of
//! indices. A [`WalkRun`] then says which nodes may run, given what has arrived: the driver takes
//! a node's inputs, runs it wherever it likes, and reports its outputs.
//!
//! ```
//! use graph::{Call, Edge, EngineKind, Graph, Kind, LoopSpec, Modality, NodeSpec, PortType, WalkRun};
//!
//! // A language model that reads its own tokens, until it stops or has run five times.
//! let tokens = PortType::of(Kind::Tokens);
//! let graph = Graph::builder("echo")
//!     .node(
//!         NodeSpec::new("lm", EngineKind::Kv)
//!             .input("tokens", tokens.clone())
//!             .output("next", tokens.clone()),
//!     )
//!     .walk(
//!         "decode",
//!         LoopSpec::new("until_stop", 5, Call::new("lm").to("next", "lm", "tokens"))
//!             .accumulate(Edge::emit("next", Modality::Text))
//!             .dynamic(),
//!     )
//!     .build()?;
//!
//! let walk = graph.walk_named("decode").ok_or("no such walk")?;
//! let until_stop = walk.loop_named("until_stop").ok_or("no such loop")?;
//! let lm = graph.node_named("lm").ok_or("no such node")?;
//! let (tokens, next) = (graph::InputId::new(0), graph::OutputId::new(0));
//!
//! let mut run = WalkRun::new(walk.clone());
//! run.deliver(lm, tokens, 7)?;
//! while let Some(node) = run.next_ready() {
//!     let mut inputs = Vec::new();
//!     run.take_inputs(node, &mut inputs)?;
//!     let token = inputs[0].1.as_slice()[0] + 1; // the model
//!     let stops = if token == 10 { vec![until_stop] } else { vec![] };
//!     run.complete(node, [(next, token.into())], &stops)?;
//! }
//! assert!(run.is_done());
//! let emitted = run.next_departure().ok_or("nothing left the walk")?;
//! assert_eq!(emitted.payloads.as_slice(), [8, 9, 10]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A declaration that is not sound is refused as a whole, and says everything that is wrong:
//!
//! ```
//! use graph::{Call, EngineKind, Graph, NodeSpec, PortType};
//!
//! let findings = Graph::builder("typo")
//!     .node(NodeSpec::new("encoder", EngineKind::Stateless).output("latents", PortType::any()))
//!     .node(NodeSpec::new("decoder", EngineKind::Stateless).input("latents", PortType::any()))
//!     .walk("speak", graph::Section::sequence([
//!         Call::new("encoder").to("latents", "decoder", "latnets"),
//!         Call::new("decoder"),
//!     ]))
//!     .build()
//!     .unwrap_err();
//! assert_eq!(
//!     findings.to_string(),
//!     "walk `speak`: `decoder.latnets`: an edge from `encoder.latents` ends here, \
//!      but the node does not take this input (did you mean `latents`?)",
//! );
//! ```
//!
//! # What always holds
//!
//! - Names are compared at load only; a hop compares indices and allocates nothing.
//! - No order in which ready nodes complete, and no split in which items arrive, changes what a
//!   node or a consumer sees.
//! - Within an iteration nothing waits for itself: a graph that was built, and whose entries are
//!   delivered, runs to its end.
//! - Every wait is bounded: loops by their bound, edges by their capacity.

pub mod stream;

mod builder;
mod check;
mod compile;
mod dot;
mod drawing;
mod edge;
mod error;
mod graph;
mod id;
mod mermaid;
mod node;
mod partition;
mod payload;
mod port;
mod readiness;
mod section;
mod walk;

pub use self::builder::GraphBuilder;
pub use self::check::{Finding, Findings, Problem};
pub use self::dot::dot;
pub use self::edge::{Destination, Edge};
pub use self::error::{Error, Result};
pub use self::graph::Graph;
pub use self::id::{ConnectionId, InputId, LoopId, NodeId, OutputId, PartitionId, WalkId};
pub use self::mermaid::mermaid;
pub use self::node::{EngineKind, NodeSpec};
pub use self::partition::{Connection, ConnectionSpec, Partition, PartitionSpec};
pub use self::payload::{Element, IntoIter, Kind, Payloads, Ratio, Shape};
pub use self::port::{Disagreement, Modality, Port, PortType};
pub use self::readiness::{Delivered, Departure, WalkRun, Wanting};
pub use self::section::{Call, LoopSpec, Section};
pub use self::walk::{Exit, Leaving, Source, Taken, Walk};
