//! From requests to outputs: the only door to the models that the server uses.

#![forbid(unsafe_code)]

mod error;
#[allow(dead_code, reason = "the engine that makes them follows")]
mod handle;

pub use error::{Error, Kind, Result};
pub use handle::{
    Accepted, Feed, FeedError, Finish, Handle, Job, Options, Output, Outputs, RequestId, Time,
    Usage, Value, WordMark,
};
pub use runtime::{ModelInfo, VoiceInfo};
