//! Many listeners at once, and what they felt.
//!
//! A request leaves a [`trace`]: instants and counts by the client's own clock. [`measure`] turns
//! traces into figures.

pub mod arrivals;
pub mod measure;
pub mod texts;
pub mod trace;
pub mod wav;
