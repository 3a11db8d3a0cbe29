//! One folder a model: its declaration, submodules and weights.

pub mod text;

mod error;

pub use error::{Error, Result};
