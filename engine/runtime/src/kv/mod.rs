//! The KV engine: what a language model remembers, in pages, and how its tokens come about.
//!
//! ```text
//!   prompt ─▶ ┌────────────────────────── Engine ──────────────────────────┐ ─▶ token
//!   token  ─▶ │ budget: answers first, then pieces of prompts              │
//!             │ Sequence (pages, in order) ─▶ Causal::forward ─▶ Sampler   │
//!             └──── Pool: free, held, kept for whoever begins alike ───────┘
//! ```
//!
//! - [`Pool`] and [`Sequence`] say which page holds which tokens. They hold no keys or values: a
//!   model has memory for [`Config::pages`] pages and writes where it is told.
//! - [`Causal`] is the arithmetic of a model: rows of tokens in, logits out.
//! - [`Engine`] makes a [`Submodule`](crate::Submodule) of it: the node of a language model.
//!
//! # The node
//!
//! Input `tokens`: in a walk with the loop [`Engine::LOOP`], the token chosen last; in any other
//! walk, more tokens to read (a prompt, or a part of one). Each is a tensor of `i64`, `[n]`.
//! Outputs: the token that follows, as a tensor `[1]`, on `token` (for whoever turns it into text
//! or sound) and on `tokens` (for the node itself). The token that ends the answer is
//! [`Payload::Last`](crate::Payload::Last); with it the engine stops the loop, where the walk has
//! it, and says why. An answer that ends with its first token has one step in the loop all the same,
//! in which nothing is computed.
//!
//! # What always holds
//!
//! - Pages are given back when a request ends, for whatever reason, and a page that two requests
//!   share is copied before one of them writes.
//! - With the same seed a request has the same tokens alone and in any batch, as far as the
//!   model's rows do not depend on each other.
//! - A prompt is read in pieces of the token budget, beside the answers of others, so no answer
//!   waits for more than one step.
//! - A request whose next page is not there gives its own pages back and waits until others have
//!   ended; what it had is often still kept. One that is alone and does not fit fails.

mod engine;
mod pool;
mod sequence;
#[cfg(test)]
mod tests;

pub use engine::{Causal, Engine, Generation, Rows, Step};
pub use pool::{OutOfPages, PageId, Pool, Stats};
pub use sequence::{Append, GONE, Sequence};

/// How a model's memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Pages that there are.
    pub pages: usize,
    /// Tokens of one page, at least 1.
    pub page_tokens: usize,
    /// Tokens of all requests that one step may work on, at least 1. Answers go first.
    pub token_budget: usize,
    /// The most requests in one step.
    pub max_batch: usize,
    /// Whether pages are kept for requests that begin alike.
    pub reuse: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            pages: 1024,
            page_tokens: 16,
            token_budget: 512,
            max_batch: 64,
            reuse: true,
        }
    }
}
