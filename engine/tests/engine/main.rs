//! The engine with the toy model on real threads, as the server uses it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests may fail loudly"
)]

mod support;

mod cancel;
mod conversing;
mod failures;
mod limits;
mod streaming;
