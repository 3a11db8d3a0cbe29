//! Dense language models: text in, text out, one token after the other.

mod checkpoint;
mod config;
mod detokenize;
mod error;
mod template;
mod tokenizer;
mod weights;

pub use error::{Error, Result};
