//! Arithmetic that has to be fast, for CPUs.
//!
//! This is the one crate that may use `unsafe`, and only for instructions that a processor may
//! lack: what a machine has is asked once, and every kernel has a plain form that says the same
//! with ordinary arithmetic. Public functions are safe and check the sizes that they are given.
//!
//! Always holds: a result depends on the numbers that went in, not on where in a buffer they
//! stood, how long the buffer was or how the work was split between threads.

pub mod ops;

mod mapped;

pub use mapped::MappedFile;
pub use ops::conv1d::{Conv1d, Rows, RowsMut};
