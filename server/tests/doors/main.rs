//! The doors over real sockets on loopback, with the toy model behind them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]
#![allow(clippy::large_futures, reason = "the stack of a test has room")]

mod caller;
mod calls;
mod chat;
mod drain;
mod harness;
mod hostile;
mod http;
mod realtime;
mod rtc;
mod transcriptions;
mod ws;
