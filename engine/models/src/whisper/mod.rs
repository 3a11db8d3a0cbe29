//! Speech recognition by Whisper: a recording in, its words out as they are recognised.
//!
//! ```text
//! recording ─▶ windows of up to 30 s, cut where it is quiet
//!   (when the request is let in)
//!
//! for each window:
//!   [hear: encoder ─▶ states ─▶ decoder] ─▶ text
//!                                  │ last, kept
//!                                  ▼
//!   [write, a loop: decoder] ─▶ text, segments
//! ```
//!
//! * A model is a folder as Hugging Face lays it out, of any size and language, or the installed
//!   package of [`DEFAULT_ID`]; shapes are read, not assumed.
//! * A window shorter than the model's 30 s is not filled up to them: the encoder sees a second of
//!   silence behind the words, and 8 s at least. Below that the model begins to repeat itself; with
//!   it, an utterance of some seconds costs a quarter. Positions are the model's own.
//! * Tokens are chosen greedily, under the model's own rules: suppressed tokens, time stamps in
//!   pairs where they are asked for. An answer that repeats itself is ended.
//!
//! # What always holds
//!
//! * The same recording and options give the same text, alone or beside others.
//! * Text comes in whole characters.
//!
//! Source: Radford et al. 2022, "Robust Speech Recognition via Large-Scale Weak Supervision";
//! shapes and names as Hugging Face's `WhisperForConditionalGeneration` has them.

mod admit;
mod attention;
mod ct2;
mod decoder;
pub(crate) mod encoder;
pub(crate) mod mel;
mod model;
pub(crate) mod network;
mod rules;
mod submodules;
mod vocabulary;

#[cfg(test)]
mod goldens;

pub use model::{Config, Whisper};

/// The id of the installed model, which is also the name of its folder.
pub const DEFAULT_ID: &str = "whisper-tiny-en";

/// Samples per second of what is heard.
pub const RATE: u32 = 16_000;

/// The loop that writes a window's words.
const WRITE_LOOP: &str = "write_loop";
