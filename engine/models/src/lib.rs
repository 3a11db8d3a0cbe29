//! One folder a model: its declaration, submodules and weights.

pub mod dense;
pub mod onnx;
pub mod silero;
pub mod smart_turn;
pub mod text;
pub mod vits;
pub mod weights;
pub mod whisper;

pub mod toy;

mod error;
mod registry;

pub use error::{Error, Result};
pub use registry::{IDS, ModelConfig};
