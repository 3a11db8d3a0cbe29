//! Dense language models: a conversation in, its continuation out, one token after the other.
//!
//! ```text
//! messages ─▶ template ─▶ tokens ─▶ [prefill: llm] ─▶ token ─▶ [detokenize] ─▶ text
//!   (when the request is let in)        │ tokens, kept
//!                                       ▼
//!                [decode, a loop: llm] ─▶ token ─▶ [detokenize] ─▶ text
//!                        ▲          │
//!                        └─ tokens ◀┘
//! ```
//!
//! * A model is a GGUF file or a folder as Hugging Face lays it out; its shape, tokenizer and
//!   template are read, not assumed. Families: Llama 2 and 3 and what has their blocks, such as
//!   `SmolLM2`; Qwen3.
//! * `llm` is a node of the runtime's KV engine, which has the pages, the batches and the sampling
//!   ([`runtime::kv`]); here is the arithmetic. All tokens of a step go through each matrix
//!   together, and each attends to its own request's pages.
//!
//! # What always holds
//!
//! * The same conversation, sampling and seed give the same text, alone or beside others, with a
//!   prompt read at once or in chunks: the kernels round no row differently for its company.
//! * Text comes in whole characters, and no part of a stop text is given out.
//! * A conversation that is too long, or that the template does not take, is refused before any
//!   work, with the number or in the template's words.

mod admit;
mod causal;
mod checkpoint;
mod config;
pub(crate) mod detokenize;
mod error;
mod forward;
mod language;
mod network;
mod submodules;
mod template;
pub(crate) mod tokenizer;
pub(crate) mod weights;

#[cfg(test)]
mod goldens;

pub use error::{Error, Result};
pub use language::{Config, Language};

/// The id of the installed model, which is also the name of its folder.
pub const DEFAULT_ID: &str = "smollm2-135m-instruct";

/// The loop that writes the answer.
const DECODE_LOOP: &str = runtime::kv::Engine::<causal::Dense>::LOOP;
