//! Mono samples in, the bytes of a stream out, for every [`Format`].
//!
//! Pushes may be of any size; what they are cut into does not change the audio. Each appends
//! whatever its samples complete, so the caller sends after every push. What is held back
//! between pushes is bounded: a codec's frame and the resampler's look-ahead.
//!
//! | format | held back, at most | decoded length |
//! | --- | --- | --- |
//! | `pcm`, `wav` | nothing | exact |
//! | `flac` | a block, 20 ms | exact |
//! | `mp3` | a frame, 24 ms, heard 44 ms late | plus 44 ms and up to a frame |
//! | `opus` | a packet, 20 ms, and 6.5 ms of look-ahead | exact |
//!
//! When the source's rate is not the format's, 64 samples of the lower rate come on top: 2.9 ms
//! at 22.05 kHz. "Exact" is `ceil(samples · to / from)` of the format's rate.

use super::flac::Flac;
use super::mp3::Mp3;
use super::ogg_opus::OggOpus;
use super::{Format, Resampler, pcm, wav};
use crate::{Result, SampleRate};

/// Source samples taken at a time; bounds what a long push needs in memory.
const BLOCK: usize = 4096;

/// One stream being encoded. See the [module](self).
///
/// ```
/// use codecs::{SampleRate, audio::{Encoder, Format}};
///
/// let mut encoder = Encoder::new(Format::Wav, SampleRate::HZ_22050)?;
/// let mut bytes = Vec::new();
/// encoder.push(&[0.0; 2205], &mut bytes)?;
/// encoder.finish(&mut bytes)?;
/// assert_eq!(bytes.len(), 44 + 2 * 2400);
/// # Ok::<(), codecs::Error>(())
/// ```
#[derive(Debug)]
pub struct Encoder {
    format: Format,
    resampler: Resampler,
    /// Samples at the format's rate; kept for its capacity.
    resampled: Vec<f32>,
    body: Body,
}

/// What a format does with samples at its own rate.
#[derive(Debug)]
enum Body {
    Pcm,
    Wav { header_sent: bool },
    Opus(Box<OggOpus>),
    Flac(Box<Flac>),
    Mp3(Box<Mp3>),
}

impl Encoder {
    /// An encoder for samples at the rate `source`.
    ///
    /// # Errors
    /// [`Error::Codec`](crate::Error::Codec) when the codec's library does not start.
    pub fn new(format: Format, source: SampleRate) -> Result<Self> {
        let body = match format {
            Format::Pcm => Body::Pcm,
            Format::Wav => Body::Wav { header_sent: false },
            Format::Mp3 => Body::Mp3(Box::new(Mp3::new()?)),
            Format::Opus => Body::Opus(Box::new(OggOpus::new()?)),
            Format::Flac => Body::Flac(Box::new(Flac::new(format.sample_rate())?)),
        };
        Ok(Self {
            format,
            resampler: Resampler::new(source, format.sample_rate()),
            resampled: Vec::new(),
            body,
        })
    }

    /// The format of the stream.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Takes mono samples in `-1..=1` (beyond, they clip; what is not finite is silent) and
    /// appends to `out` the bytes that they complete. The first push, even an empty one, begins
    /// with the format's header.
    ///
    /// # Errors
    /// [`Error::TooLong`](crate::Error::TooLong) past what the container can count, and
    /// [`Error::Codec`](crate::Error::Codec) when the codec's library fails. The stream is over
    /// then.
    pub fn push(&mut self, samples: &[f32], out: &mut Vec<u8>) -> Result<()> {
        self.begin(out)?;
        for block in samples.chunks(BLOCK) {
            self.resampled.clear();
            self.resampler.push(block, &mut self.resampled);
            self.encode(out)?;
        }
        match &mut self.body {
            Body::Opus(opus) => opus.end_page(out),
            Body::Pcm | Body::Wav { .. } | Body::Flac(_) | Body::Mp3(_) => Ok(()),
        }
    }

    /// Ends the stream: appends what is still inside and the format's ending.
    ///
    /// # Errors
    /// As [`Encoder::push`].
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<()> {
        self.begin(out)?;
        self.resampled.clear();
        self.resampler.finish(&mut self.resampled);
        self.encode(out)?;
        match &mut self.body {
            Body::Pcm | Body::Wav { .. } => Ok(()),
            Body::Opus(opus) => opus.finish(out),
            Body::Flac(flac) => flac.finish(out),
            Body::Mp3(mp3) => mp3.finish(out),
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match &mut self.body {
            Body::Pcm | Body::Mp3(_) | Body::Wav { header_sent: true } => {}
            Body::Wav { header_sent } => {
                *header_sent = true;
                out.extend_from_slice(&wav::stream_header(self.format.sample_rate()));
            }
            Body::Opus(opus) => opus.begin(out)?,
            Body::Flac(flac) => flac.begin(out),
        }
        Ok(())
    }

    fn encode(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match &mut self.body {
            Body::Pcm | Body::Wav { .. } => pcm::s16le_from_f32(&self.resampled, out),
            Body::Opus(opus) => opus.push(&self.resampled, out)?,
            Body::Flac(flac) => flac.push(&self.resampled, out)?,
            Body::Mp3(mp3) => mp3.push(&self.resampled, out)?,
        }
        Ok(())
    }
}
