//! The doors over real sockets on loopback, with the toy model behind them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod chat;
mod drain;
mod harness;
mod hostile;
mod http;
mod realtime;
mod transcriptions;
mod ws;
