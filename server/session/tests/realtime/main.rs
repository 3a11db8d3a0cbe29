//! Stories of a spoken conversation in virtual time: no sleeping, no engine, no socket.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test may fail loudly, and reads better without borrows"
)]

mod chaos;
mod client;
mod echo;
mod overlap;
mod stage;
mod turns;
