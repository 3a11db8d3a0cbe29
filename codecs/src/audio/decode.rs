//! Files to samples: whatever container and codec the bytes turn out to be.
//!
//! Names and media types are not looked at, only contents. Read by `symphonia` (MPL-2.0), with
//! libopus for Opus: WAV, AIFF, MP3, FLAC, Ogg with Vorbis, Opus or FLAC, MP4 and ADTS with AAC,
//! Matroska and `WebM`.

use std::io::{Cursor, ErrorKind};

use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::codecs::registry::CodecRegistry;
use symphonia::core::errors::Error as Cause;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::{MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::meta::MetadataOptions;

use super::Resampler;
use crate::{Error, Result, SampleRate, Samples};

/// What is accepted, for errors.
const ACCEPTED: &str = "wav, aiff, mp3, flac, ogg (vorbis, opus, flac), m4a and aac, webm and mkv";

/// Damaged packets in a row after which the rest is not worth trying.
const MOST_DAMAGED: usize = 100;

/// Decodes a file into mono samples of `rate`; channels are averaged.
///
/// # Errors
/// [`Error::Undecodable`] where the bytes are no audio that is known, are damaged, or hold none;
/// [`Error::Overlong`] where there are more than `longest` samples.
pub fn decode(bytes: Vec<u8>, rate: SampleRate, longest: Samples) -> Result<Vec<f32>> {
    if bytes.is_empty() {
        return Err(undecodable("it is empty"));
    }
    let source: Box<Cursor<Vec<u8>>> = Box::new(Cursor::new(bytes));
    let source = MediaSourceStream::new(source, MediaSourceStreamOptions::default());
    let (formats, metadata) = (FormatOptions::default(), MetadataOptions::default());
    let mut reader = symphonia::default::get_probe()
        .probe(&Hint::new(), source, formats, metadata)
        .map_err(|error| undecodable(&error.to_string()))?;
    let mut track = Track::open(reader.as_ref())?;
    let mut samples = Vec::new();
    let mut damaged = 0;
    while let Some(packet) = next_packet(reader.as_mut(), &mut track)? {
        if packet.track_id != track.id {
            continue;
        }
        match track.decode(&packet, rate, &mut samples) {
            Ok(()) => damaged = 0,
            Err(Cause::DecodeError(_)) if damaged < MOST_DAMAGED => damaged += 1,
            Err(error) => return Err(undecodable(&error.to_string())),
        }
        if Samples::of(&samples) > longest {
            return Err(Error::Overlong {
                seconds: longest.at(rate).duration_floor().as_secs(),
            });
        }
    }
    track.finish(&mut samples);
    if samples.is_empty() {
        return Err(undecodable("it holds no audio"));
    }
    Ok(samples)
}

/// The track being decoded.
struct Track {
    id: u32,
    decoder: Box<dyn AudioDecoder>,
    resampler: Option<Resampler>,
    /// The rate that the resampler takes.
    rate: u32,
    interleaved: Vec<f32>,
}

impl Track {
    fn open(reader: &dyn FormatReader) -> Result<Self> {
        let track = reader
            .default_track(TrackType::Audio)
            .ok_or_else(|| undecodable("it has no audio track"))?;
        let parameters = track
            .codec_params
            .as_ref()
            .and_then(|params| params.audio());
        let parameters = parameters.ok_or_else(|| undecodable("its audio is of no known kind"))?;
        let decoder = CODECS
            .make_audio_decoder(parameters, &AudioDecoderOptions::default())
            .map_err(|error| undecodable(&error.to_string()))?;
        Ok(Self {
            id: track.id,
            decoder,
            resampler: None,
            rate: 0,
            interleaved: Vec::new(),
        })
    }

    fn decode(
        &mut self,
        packet: &symphonia::core::packet::Packet,
        rate: SampleRate,
        samples: &mut Vec<f32>,
    ) -> Result<(), Cause> {
        let decoded = self.decoder.decode(packet)?;
        let (from, channels) = (decoded.spec().rate(), decoded.spec().channels().count());
        self.interleaved.clear();
        decoded.copy_to_vec_interleaved(&mut self.interleaved);
        if self.resampler.is_none() || self.rate != from {
            let from_rate = SampleRate::new(from).map_err(|_| Cause::Unsupported("sample rate"))?;
            if let Some(mut before) = self.resampler.replace(Resampler::new(from_rate, rate)) {
                before.finish(samples);
            }
            self.rate = from;
        }
        let mono = match channels {
            0 | 1 => std::mem::take(&mut self.interleaved),
            #[expect(clippy::cast_precision_loss, reason = "a few channels")]
            _ => self
                .interleaved
                .chunks_exact(channels)
                .map(|frame| frame.iter().sum::<f32>() / channels as f32)
                .collect(),
        };
        if let Some(resampler) = &mut self.resampler {
            resampler.push(&mono, samples);
        }
        Ok(())
    }

    fn finish(&mut self, samples: &mut Vec<f32>) {
        if let Some(mut resampler) = self.resampler.take() {
            resampler.finish(samples);
        }
    }
}

/// Every decoder there is: symphonia's, and libopus.
static CODECS: std::sync::LazyLock<CodecRegistry> = std::sync::LazyLock::new(|| {
    let mut codecs = CodecRegistry::new();
    symphonia::default::register_enabled_codecs(&mut codecs);
    codecs.register_audio_decoder::<symphonia_adapter_libopus::OpusDecoder>();
    codecs
});

/// The next packet; none at the end. A file that is cut off, or says no length, ends there.
fn next_packet(
    reader: &mut dyn FormatReader,
    track: &mut Track,
) -> Result<Option<symphonia::core::packet::Packet>> {
    loop {
        return match reader.next_packet() {
            Ok(packet) => Ok(packet),
            Err(Cause::IoError(error)) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            // Another stream is chained behind the first one.
            Err(Cause::ResetRequired) => {
                let mut next = Track::open(reader)?;
                next.resampler = track.resampler.take();
                next.rate = track.rate;
                *track = next;
                continue;
            }
            Err(error) => Err(undecodable(&error.to_string())),
        };
    }
}

fn undecodable(problem: &str) -> Error {
    Error::Undecodable {
        problem: problem.to_owned(),
        accepted: ACCEPTED,
    }
}
