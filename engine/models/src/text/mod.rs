//! The English text front end of the VITS voices: text of a sentence into numbered phonemes.
//!
//! ```text
//! text ── normalize ──► words ── pronounce ──► misaki phonemes ── phonemes ──► IPA ──► ids
//!         figures,               lexicon, endings,                as espeak-ng        the voice's
//!         signs, names           homographs, network              writes it           own map
//! ```
//!
//! Pure and deterministic: nothing here knows a clock, a thread or a random number, and the only
//! IO is loading the data files. All of it is our own code; the data are two lexicons, a small
//! letter-to-sound network and a list of homographs, all under Apache-2.0.
//!
//! Always holds: no text panics or fails, the work is linear in the text's length, every word
//! says which characters of the input it came from, and each id stands in the voice's map.

mod arpabet;
mod error;
mod frontend;
mod g2p;
mod homographs;
mod lexicon;
mod normalize;
mod npz;
mod phoneme_map;
mod phonemes;
mod pronounce;
mod stems;
mod utterance;

pub use self::{
    error::{Error, File, Result},
    frontend::{Frontend, Paths, Sources},
    phoneme_map::PhonemeMap,
    utterance::{Pause, Utterance, Word},
};
