//! Who runs what, where and when: conductor, workers, batches.

mod client;
mod conductor;
mod driver;
mod error;
mod info;
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
mod submodule;
mod worker;

pub use client::{
    Accepted, Arrival, Bell, Emitted, End, Event, Feed, FeedError, Finish, Outputs, Usage,
};
pub use driver::{Config, Costs, Driver, Limits, Simulation};
pub use error::{Cause, Error, Kind, Result, Suggestion, nearest};
pub use graph::stream::{Chunk, Time};
pub use info::{ModelInfo, VoiceInfo};
pub use member::Member;
pub use metrics::{
    BATCH_BOUNDS, Histogram, NodeStats, RequestCounts, Snapshot, TIME_BOUNDS_US, WorkerGauges,
};
pub use model::{Input, Model, Next, Progress, Source};
pub use options::{Options, Value};
pub use payload::{Payload, WordMark};
pub use placement::{MAX_WORKERS, Placement, WorkerId};
pub use request::{Admitted, RequestId, RequestInfo};
pub use submodule::{State, Submodule};
pub use worker::StepInfo;
