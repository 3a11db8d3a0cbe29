//! Many listeners at once, and what they felt.
//!
//! ```text
//! arrivals ──> user ──> door ──> trace ──> measure ──> report
//!  when         who     http|ws   what      figures     table, JSON, HTML
//!                                 came
//! ```
//!
//! [`load`] drives [`user`]s through a [`door`] when [`arrivals`] says so, saying what [`texts`]
//! deals out. Each request leaves a [`trace`]: instants and counts by the client's own [`clock`].
//! [`measure`] turns traces into figures without any clock, and [`report`] shows them, never
//! without the reasons why they might not count.
//!
//! [`tts`] is the load test, [`capacity`] its search for the largest number of listeners,
//! [`overhead`] the measurement of the server's own share, [`chat`] a conversation by voice. The figures are defined in the
//! `README.md` beside this crate.

pub mod arrivals;
pub mod capacity;
pub mod chat;
pub mod cli;
pub mod clock;
pub mod door;
pub mod load;
pub mod measure;
pub mod overhead;
pub mod report;
pub mod scenario;
pub mod target;
pub mod texts;
pub mod trace;
pub mod tts;
pub mod user;
pub mod wav;
