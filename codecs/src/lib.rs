//! Bytes to samples, and samples to bytes. No IO.
//!
//! | format | encode | rate on the wire | source |
//! | --- | --- | --- | --- |
//! | `pcm` | yes | 24 kHz | [`audio::pcm`] |
//! | `wav` | yes | 24 kHz | [`audio::wav`] |
//! | `mp3` | yes | 24 kHz | our own, on the tables of `oxideav-mp3` (MIT) |
//! | `flac` | yes | 24 kHz | `flacenc` (Apache-2.0) |
//! | `opus` | yes | 48 kHz | libopus (BSD-3-Clause), `ogg` (BSD-3-Clause) |
//! | `aac` | refused by name | | no encoder with a permissive licence is known |
//!
//! [`audio::decode`] reads files of these and more kinds, whatever they are called.
//!
//! Audio comes in as mono `f32` in `-1..=1` at any rate and goes out through
//! [`audio::Encoder`], which resamples; speech over a lossy network goes through [`packet`].
//! Nothing here reads a clock, a file or a socket.

pub mod audio;
mod error;
pub mod packet;
mod time;

pub use error::{Error, Kind, Result};
pub use time::{MediaTime, SampleRate, Samples};
