//! Who runs what, where and when: conductor, workers, batches.
//!
//! The runtime is handed models ([`Model`]) and lets requests walk through their graphs. It knows
//! no model of its own, no network, and no clock but its driver's.
//!
//! ```text
//!  requester            driver (the only threads, the only clock)
//! ┌─────────┐ submit  ┌────────────────────────────────────────────────────────────┐
//! │         ├────────▶│ conductor: a request's partitions, one walk after another  │
//! │         │         │    │ Open, Start, Finish, Close      ▲ Ended, Failed,      │
//! │         │         │    ▼                                 │ Closed              │
//! │         │  lanes  │ ┌──────────────────────┐ Items, End ┌──────────────────┐   │
//! │ Feed    ├────────▶│ │ worker 0             ├───────────▶│ worker 1         │   │
//! │         │  bells  │ │ streams, walks,      │◀───────────┤                  │   │
//! │         │         │ │ scheduler, submodules│   Credit   │                  │   │
//! │         │         │ └──────────┬───────────┘            └────────┬─────────┘   │
//! │ Outputs │◀────────┼────────────┴── outlet ──────────────────────┘             │
//! └─────────┘         └────────────────────────────────────────────────────────────┘
//! ```
//!
//! - The **conductor** decides which walk each partition of a request takes next, and when the
//!   request is over. It never sees a payload.
//! - A **worker** owns one device. It runs the walks of the partitions that are placed on it
//!   without asking anybody: a hop from node to node is a function call, steps are batched by
//!   (node, walk), and members join and leave at step boundaries.
//! - A **driver** turns these machines: [`Driver`] on threads and real time, [`Simulation`] on one
//!   thread and a clock of its own, the same each time for one seed.
//!
//! # What always holds
//!
//! - *Bounded*: requests, what each may feed, what waits on each edge, what waits for its
//!   requester, and what is under way on each link between threads. A node whose outputs have no
//!   room is not scheduled, so a requester that does not read pauses its own request, back to its
//!   feed, and no other. The bounds are soft by what one step puts.
//! - *No deadlock*: no send ever waits. Each message on a link was granted beforehand, so the link
//!   has room; a thread waits on its own empty link alone. `link.rs` has the argument in full.
//! - *Fair*: the (node, walk) group that has not run for the longest time goes first, and so does
//!   the member that has waited the longest. New requests cannot starve running streams, nor the
//!   other way round.
//! - *Cancel*: a requester that cancels, or drops its [`Outputs`], is in no step that begins
//!   afterwards. It is told the end when no worker holds anything of the request any more.
//! - *Failure*: a node that fails, panics or gives a number that is not finite ends the requests
//!   that it did so for, with an error that names model, node and cause; members of the same batch
//!   go on as if they had been alone. Where a panic left a member's state half changed, that
//!   member fails, too.
//! - *Same seed, same outputs*: what a request emits depends on what was fed and on its seed, not
//!   on batches, placement or timing, as long as its submodules keep to that.
//!
//! # A model that shouts
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use graph::{Call, ConnectionSpec, EngineKind, Graph, Kind, Modality, NodeId, NodeSpec};
//! use graph::{PartitionId, PartitionSpec, PortType, stream::{ChunkPolicy, Config as Stream}};
//! use runtime::{Admitted, Config, Driver, Event, Member, Model, ModelInfo, Next, Options};
//! use runtime::{Payload, Progress, Result, Submodule};
//!
//! struct Shout(Arc<Graph>, ModelInfo);
//!
//! impl Model for Shout {
//!     fn graph(&self) -> &Arc<Graph> {
//!         &self.0
//!     }
//!     fn info(&self) -> &ModelInfo {
//!         &self.1
//!     }
//!     fn admit(&self, options: &Options) -> Result<Admitted> {
//!         options.only(&[])?;
//!         Ok(Arc::new(()))
//!     }
//!     fn next(&self, partition: PartitionId, progress: &Progress<'_>) -> Next {
//!         let walk = self.0.partition(partition).and_then(|partition| partition.initial());
//!         match walk {
//!             Some(walk) if !progress.streams_over => Next::Stream { walk },
//!             _ => Next::Done,
//!         }
//!     }
//!     fn submodule(&self, _node: NodeId) -> Result<Box<dyn Submodule>> {
//!         Ok(Box::new(Upper))
//!     }
//! }
//!
//! struct Upper;
//!
//! impl Submodule for Upper {
//!     fn step(&mut self, batch: &mut [Member<'_>]) {
//!         for member in batch {
//!             let text: String = member.input("text").iter().filter_map(Payload::as_char).collect();
//!             member.put("loud", text.to_uppercase().as_str());
//!         }
//!     }
//! }
//!
//! let node = NodeSpec::new("upper", EngineKind::Stateless)
//!     .input("text", PortType::of(Kind::Text))
//!     .output("loud", PortType::of(Kind::Text));
//! let by_four = Stream::new(ChunkPolicy::Fixed { chunk: 4 });
//! let graph = Graph::builder("shout")
//!     .node(node)
//!     .walk("shout", Call::new("upper").emit("loud", Modality::Text))
//!     .partition(PartitionSpec::new("text", ["shout"]))
//!     .connection(ConnectionSpec::from_requester("text", "upper", "text", by_four))
//!     .build()?;
//! let info = ModelInfo { id: "shout".into(), ..ModelInfo::default() };
//!
//! let driver = Driver::start(vec![Arc::new(Shout(Arc::new(graph), info))], Config::default())?;
//! let (feed, mut outputs) = driver.submit(0, Options::default())?;
//! feed.put(0, &mut "quietly".chars().map(Payload::Char))?;
//! feed.end();
//! let mut heard = Vec::new();
//! while let Some(Event::Emitted(emitted)) = outputs.next_within(Duration::from_secs(10)) {
//!     heard.extend(emitted.payload.as_text().map(ToString::to_string));
//! }
//! assert_eq!(heard, ["QUIE", "TLY"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chat;
mod client;
mod conductor;
mod cost;
mod driver;
mod error;
mod info;
pub mod kv;
mod link;
mod member;
mod message;
mod metrics;
mod model;
mod options;
mod panics;
mod payload;
mod placement;
mod request;
mod route;
mod sampling;
mod submodule;
mod tokens;
mod worker;

pub use chat::{Message, Part, Tool, ToolCall};
pub use client::{Accepted, Emitted, End, Event, Feed, FeedError, Finish, Outputs, Usage};
pub use driver::{Admission, Config, Costs, Driver, Limits, Scheduling, Simulation};
pub use error::{Cause, Error, Kind, Result, Suggestion, nearest};
pub use graph::stream::{Chunk, Time};
pub use info::{ModelInfo, VoiceInfo};
pub use member::Member;
pub use metrics::{
    BATCH_BOUNDS, Histogram, NodeStats, RequestCounts, Snapshot, TIME_BOUNDS_US, WorkerGauges,
};
pub use model::{Input, Model, Next, Progress, Source};
pub use options::{Options, Sound, Timing, Value};
pub use payload::{Payload, WordMark};
pub use placement::{MAX_WORKERS, Placement, WorkerId};
pub use request::{Admitted, RequestId, RequestInfo};
pub use sampling::{Sampler, Sampling};
pub use submodule::{State, Submodule};
pub use tokens::Tokens;
pub use worker::{Policy, StepInfo};
