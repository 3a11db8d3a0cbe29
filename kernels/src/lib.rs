//! Arithmetic that has to be fast, for CPUs.
//!
//! | | |
//! | --- | --- |
//! | [`matmul`] | activations times the [`Matrix`] of a linear layer, in six formats |
//! | [`paged`] | attention over keys and values in pages |
//! | [`ops`] | norms, rotary positions, gates, softmax, convolution |
//! | [`Pool`] | the threads that all of them share |
//!
//! This is the one crate that may use `unsafe`, for instructions that a processor may lack and for
//! what threads share: what a machine has is asked once, and every kernel has a plain form that
//! says the same with ordinary arithmetic. Public functions are safe and check the sizes that they
//! are given.
//!
//! Always holds: a result depends on the numbers that went in, not on where in a buffer they
//! stood, how long the buffer was or how the work was split between threads.

mod cells;
mod cpu;
pub mod half;
mod mapped;
pub mod matrix;
pub mod ops;
pub mod paged;
pub mod pool;
mod slab;

pub use mapped::MappedFile;
pub use matrix::{Format, Matrix, matmul};
pub use ops::conv1d::{Conv1d, Rows, RowsMut};
pub use pool::Pool;
