//! Audio: formats by their wire names, the encoder for each, and conversion of rates.

mod decode;
mod encoder;
mod filter;
mod flac;
mod format;
pub mod g711;
mod mp3;
mod ogg_opus;
pub mod pcm;
mod resample;
pub mod wav;

pub use decode::decode;
pub use encoder::Encoder;
pub use format::Format;
pub use resample::Resampler;
