//! The engine on real threads, as the server uses it: with the toys, and with a real language
//! model.

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
mod hearing;
mod language;
mod limits;
mod streaming;
