//! The conductor and the workers on a clock of their own: what is decided, in which order, and
//! that nothing is left behind.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests may fail loudly"
)]

mod chances;
mod deadlines;
mod declared;
mod scripted;
mod walks;
