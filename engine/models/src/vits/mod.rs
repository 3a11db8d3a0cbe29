//! VITS voices, as Piper trains and exports them: text in, speech out.
//!
//! ```text
//! requester ─text: characters, cut at sentences─▶ [synthesize: frontend ─▶ latents] ─frames, Ramp─▶ [vocode: vocoder] ─▶ audio
//!                                                                            └─▶ words
//! ```
//!
//! * **frontend** makes phonemes of a sentence ([`crate::text`]);
//! * **latents** draws how long each phoneme lasts and a latent frame for every 256 samples or so;
//! * **vocoder** is what works along time alone, flow and decoder, and runs in chunks.
//!
//! A voice is two files, `<name>.onnx` and `<name>.onnx.json`. Its graph is cut in memory at load
//! and the cuts are found by structure, so any size of the family fits: low, medium, high, one
//! speaker or several. What does not fit is refused with what was looked for.
//!
//! # Frames on the edge
//!
//! An item is one latent frame `[channels]`, before the flow. The flow needs no more than a few
//! frames to each side, so it is part of the streamed half and the first chunk of a long sentence
//! waits for it no longer than that of a short one. The last frame of an utterance ends its
//! chunk: the vocoder finishes the utterance as if it had been given whole, and nothing is held
//! back for the next one. An item `[1]` is a pause before an utterance, in samples.
//!
//! # What always holds
//!
//! * The streamed wave is the whole one, whatever the chunks; the stages' module says how.
//! * The same text, options and seed give the same samples, alone or beside others, in any chunks,
//!   on any number of threads.
//! * A text with nothing to say in it gives no audio and no error.
//! * An utterance is bounded; a longer one is spoken in pieces cut between words.

mod anatomy;
mod config;
mod error;
mod model;
mod native;
mod noise;
mod options;
mod part;
mod reach;
mod stage;
mod submodules;
mod voice;

#[cfg(test)]
mod tests;

pub use error::{Error, Result};
pub use model::{Config, DEFAULT_ID, Vits};
