//! The formats of audio inside of events, and their bytes.

use codecs::SampleRate;
use codecs::audio::{Resampler, g711, pcm};
use serde_json::{Value, json};

use crate::{Fault, Fields};

/// The rate at which a session counts.
pub(super) const RATE: SampleRate = SampleRate::HZ_24000;
const RATE_8000: u32 = 8_000;

/// How audio is written inside of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Format {
    /// 16-bit little-endian, 24 kHz.
    #[default]
    Pcm,
    /// G.711 µ-law, 8 kHz.
    Pcmu,
    /// G.711 A-law, 8 kHz.
    Pcma,
}

impl Format {
    const NAMES: [&'static str; 3] = ["audio/pcm", "audio/pcmu", "audio/pcma"];

    /// Reads `format` out of an `audio.input` or `audio.output`.
    pub(super) fn read(fields: &mut Fields) -> Result<Option<Self>, Fault> {
        if fields.clears("format") {
            return Ok(Some(Self::default()));
        }
        let Some(mut format) = fields.object("format")? else {
            return Ok(None);
        };
        let kind = format.one_of("type", &Self::NAMES)?;
        let kind = kind.ok_or_else(|| format.missing("type"))?;
        let rate = format.integer_within("rate", 0, u64::MAX)?;
        format.finish(&["type", "rate"])?;
        let (found, own) = match kind {
            "audio/pcm" => (Self::Pcm, 24_000),
            "audio/pcmu" => (Self::Pcmu, u64::from(RATE_8000)),
            _ => (Self::Pcma, u64::from(RATE_8000)),
        };
        match rate {
            Some(rate) if rate != own => Err(Fault::field(
                format.at("rate"),
                "invalid_value",
                format!(
                    "Invalid value for '{}': {rate}. The rate of {kind} is {own}.",
                    format.at("rate")
                ),
            )),
            _ => Ok(Some(found)),
        }
    }

    pub(super) fn value(self) -> Value {
        match self {
            Self::Pcm => json!({"type": "audio/pcm", "rate": 24_000}),
            Self::Pcmu => json!({"type": "audio/pcmu"}),
            Self::Pcma => json!({"type": "audio/pcma"}),
        }
    }

    fn rate(self) -> SampleRate {
        match self {
            Self::Pcm => RATE,
            Self::Pcmu | Self::Pcma => SampleRate::HZ_8000,
        }
    }
}

/// Bytes that come in, to samples at 24 kHz.
#[derive(Debug)]
pub(super) struct Decoder {
    format: Format,
    /// The first byte of a sample whose second has not come.
    odd: Option<u8>,
    resampler: Resampler,
}

impl Decoder {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            odd: None,
            resampler: Resampler::new(format.rate(), RATE),
        }
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// The samples in `bytes`, however samples were split between calls.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<f32> {
        let mut samples = Vec::with_capacity(bytes.len());
        match self.format {
            Format::Pcm => {
                if let (Some(low), Some((&high, rest))) = (self.odd, bytes.split_first()) {
                    self.odd = None;
                    samples.push(pcm::f32_from_s16(i16::from_le_bytes([low, high])));
                    bytes = rest;
                }
                let left = pcm::f32_from_s16le(bytes, &mut samples).copied();
                self.odd = left.or(self.odd);
            }
            Format::Pcmu => samples.extend(bytes.iter().map(|&b| float(g711::s16_from_ulaw(b)))),
            Format::Pcma => samples.extend(bytes.iter().map(|&b| float(g711::s16_from_alaw(b)))),
        }
        let mut out = Vec::with_capacity(samples.len());
        self.resampler.push(&samples, &mut out);
        out
    }
}

/// Samples at 24 kHz, to bytes that go out. Always whole samples.
#[derive(Debug)]
pub(super) struct Encoder {
    format: Format,
    resampler: Resampler,
}

impl Encoder {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            resampler: Resampler::new(RATE, format.rate()),
        }
    }

    pub(super) fn push(&mut self, samples: &[f32]) -> Vec<u8> {
        let mut out = Vec::with_capacity(samples.len());
        self.resampler.push(samples, &mut out);
        self.bytes(&out)
    }

    /// The tail, as if silence followed.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.resampler.finish(&mut out);
        self.bytes(&out)
    }

    fn bytes(&self, samples: &[f32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.format {
            Format::Pcm => pcm::s16le_from_f32(samples, &mut bytes),
            Format::Pcmu => bytes.extend(samples.iter().map(|&s| g711::ulaw_from_s16(whole(s)))),
            Format::Pcma => bytes.extend(samples.iter().map(|&s| g711::alaw_from_s16(whole(s)))),
        }
        bytes
    }
}

fn float(sample: i16) -> f32 {
    f32::from(sample) / 32_768.0
}

fn whole(sample: f32) -> i16 {
    pcm::s16_from_f32(sample)
}
