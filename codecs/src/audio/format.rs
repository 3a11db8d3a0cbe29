//! The audio formats that a client can ask for, by the names that the wire uses.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result, SampleRate};

/// Longest part of an unknown name that an error repeats.
const ECHOED_CHARS: usize = 32;

const AAC_REASON: &str = "no AAC encoder with a permissive licence is known";

/// What a stream of speech is encoded as. All are mono.
///
/// `OpenAI`'s `pcm` is 24 kHz, and the other formats follow it where they can, so that a client
/// hears the same audio whichever it asks for. Opus knows no 24 kHz container; it is 48 kHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// 16-bit little-endian samples with nothing around them.
    Pcm,
    /// [`Format::Pcm`] behind a header that says so.
    Wav,
    /// MPEG-2 layer III, 64 kbit/s.
    Mp3,
    /// Opus in Ogg, 48 kbit/s.
    Opus,
    /// Lossless, 16 bits.
    Flac,
}

impl Format {
    /// Every format that this build encodes.
    pub const ALL: &[Self] = &[Self::Mp3, Self::Opus, Self::Flac, Self::Wav, Self::Pcm];

    /// The format of a wire name: lower case, as in `response_format`.
    ///
    /// # Errors
    /// [`Error::RefusedFormat`] for a known format that is not offered, with the reason, and
    /// [`Error::UnknownFormat`] for anything else. Both list what is accepted.
    pub fn from_name(name: &str) -> Result<Self> {
        if let Some(format) = Self::ALL.iter().find(|format| format.name() == name) {
            return Ok(*format);
        }
        if name == "aac" {
            return Err(Error::RefusedFormat {
                name: "aac",
                reason: AAC_REASON,
                accepted: accepted(),
            });
        }
        Err(Error::UnknownFormat {
            name: name.chars().take(ECHOED_CHARS).collect(),
            accepted: accepted(),
        })
    }

    /// The wire name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pcm => "pcm",
            Self::Wav => "wav",
            Self::Mp3 => "mp3",
            Self::Opus => "opus",
            Self::Flac => "flac",
        }
    }

    /// The value of an HTTP `Content-Type`.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Pcm => "audio/pcm",
            Self::Wav => "audio/wav",
            Self::Mp3 => "audio/mpeg",
            Self::Opus => "audio/ogg",
            Self::Flac => "audio/flac",
        }
    }

    /// The rate of what is encoded, whatever the source's.
    #[must_use]
    pub const fn sample_rate(self) -> SampleRate {
        match self {
            Self::Pcm | Self::Wav | Self::Flac | Self::Mp3 => SampleRate::HZ_24000,
            Self::Opus => SampleRate::HZ_48000,
        }
    }
}

fn accepted() -> String {
    let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
    names.join(", ")
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::from_name(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_format() {
        for &format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            assert!(format.content_type().starts_with("audio/"));
        }
    }

    #[test]
    fn a_wrong_name_is_named_with_what_is_accepted() {
        for name in ["ogg", "PCM", "", " pcm"] {
            let error = Format::from_name(name).unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}`")), "{error}");
            assert!(error.contains("mp3, opus, flac, wav, pcm"), "{error}");
        }
        let long = Format::from_name(&"ü".repeat(10_000))
            .unwrap_err()
            .to_string();
        assert!(long.len() < 300, "{long}");
    }

    #[test]
    fn aac_is_refused_with_its_reason() {
        let error = Format::from_name("aac").unwrap_err();
        assert_eq!(error.kind(), crate::Kind::Unsupported);
        assert!(error.to_string().contains(AAC_REASON), "{error}");
    }
}
