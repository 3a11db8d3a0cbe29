//! One file an operation.

pub mod conv1d;
