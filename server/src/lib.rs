//! Sockets, tasks and time: HTTP and WebSocket doors, and the command line.
//!
//! How a byte comes in and a byte goes out:
//!
//! ```text
//! accept ─ connection ─ router ─┬ http::speech ── bridge ── engine::submit
//!  (app)   (net: limits  (http) │   body: polled by the connection, encodes as it is polled
//!           on time,            ├ ws: one task a socket drives session::speech::Session
//!           size, stalls)       ├ realtime: one task a conversation drives
//!                               │           session::realtime::Session
//!                               └ voices, models, health, metrics, pages
//! ```
//!
//! - No task stands between the engine's output queue and the connection: an HTTP body *is* the
//!   queue, seen through an encoder. What a client does not read, the engine does not make.
//! - Dropping a body or a socket's task drops the engine's [`Outputs`](engine::Outputs), which
//!   cancels the request. There is no other clean-up to forget.
//! - Encoding runs where the body is polled, half a second of audio at a time, and lets other
//!   tasks run in between: a hand-over to another thread would cost more than it saves.
//!
//! `docs/protocol.md` describes what clients see.

pub mod admission;
pub mod app;
mod auth;
mod bridge;
pub mod config;
mod drain;
mod http;
mod metrics;
mod net;
mod origin;
mod realtime;
pub mod rtc;
mod socket;
pub mod walk;
mod ws;

pub use app::{Error, Server, engine_config};
pub use config::Config;
