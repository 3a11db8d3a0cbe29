//! A conversation as a state machine: no socket, no thread, no clock.
//!
//! - [`speech`]: the machine behind `WS /v1/audio/speech/stream`. One input goes in with the
//!   time, then its commands and frames are drained until there are none.
//! - [`realtime`]: the machine behind `GET /v1/realtime`, a spoken conversation.
//! - [`Settings`], [`Catalog`] and [`text`]: what a client may ask of a voice, read the same way
//!   at every door (this crate's WebSocket machine and the server's HTTP routes).
//! - [`Fault`]: what was wrong with a request, in the words and codes of the wire.
//!
//! What always holds: time is an argument, a `Duration` since an origin that the driver chooses;
//! every queue in here has a bound; nothing here knows what an engine is.

pub mod catalog;
mod fault;
mod fields;
pub mod near;
pub mod realtime;
mod settings;
pub mod speech;
pub mod text;

pub use catalog::Catalog;
pub use fault::{Fault, Kind};
pub use fields::{Fields, wrong_type};
pub use settings::{Base, Settings};
