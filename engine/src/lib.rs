//! From requests to outputs: the only door to the models that the server uses.
//!
//! An [`Engine`] holds models. A [`Job`] asks one of them for something; the [`Handle`] that comes
//! back has two ends, a [`Feed`] for what goes in bit by bit and [`Outputs`] for what comes out as
//! soon as it is there. Both are bounded: a feed takes as much as there is room for, and a request
//! whose outputs are not read is not worked on any further. Dropping the outputs cancels.
//!
//! ```
//! use std::time::Duration;
//!
//! use engine::{Config, Engine, Job, Output};
//!
//! let engine = Engine::start(Config::default())?;
//! let mut request = engine.submit(Job { model: "toy".into(), ..Job::default() })?;
//! request.feed.text("Hello there.")?;
//! request.feed.end();
//! let mut sample_count = 0;
//! while let Some(output) = request.outputs.recv_blocking(Duration::from_secs(10)) {
//!     if let Output::Audio { samples, .. } = output {
//!         sample_count += samples.len();
//!     }
//! }
//! assert_eq!(sample_count, 12 * 1_440);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bench;
mod config;
mod engine;
mod error;
mod handle;

pub use config::{Admission, Config, Limits, ModelConfig, Placement, Policy, Scheduling};
pub use engine::Engine;
pub use error::{Error, Kind, Result};
/// What runs in what order; for drawing a model's graph.
pub use graph;
pub use graph::Graph;
pub use handle::{
    Accepted, Feed, FeedError, Finish, Handle, Job, Options, Output, Outputs, RequestId, Sound,
    Time, Timing, Tokens, Usage, Value, WordMark,
};
pub use models::{dense, silero, smart_turn, toy, vits, weights, whisper};
/// Why a request was refused or ended early, for who has to tell the fields apart.
pub use runtime::Error as RequestError;
/// Pages of keys and values.
pub use runtime::kv::Stats as PageStats;
pub use runtime::{
    Cause, Histogram, Message, ModelInfo, NodeStats, Part, RequestCounts, Sampling, Snapshot, Tool,
    ToolCall, VoiceInfo, WorkerGauges,
};
