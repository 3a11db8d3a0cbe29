//! One folder a model: its declaration, submodules and weights.

pub mod text;
