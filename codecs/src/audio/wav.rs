//! The header in front of 16-bit PCM that makes it a WAV file.
//!
//! A WAV header states the length before the first sample, which a stream does not know. For a
//! stream both sizes are `0xFFFF_FFFF`: what ffmpeg writes into a pipe and reads as "until the
//! end". sox, browsers and Python's `wave` read it to the end too. Zero would be read as an
//! empty file by most of them, and `0x7FFF_FFFF` as a truncated one by some.

use crate::{Error, Result, SampleRate, Samples};

/// Bytes in front of the first sample.
pub const HEADER_BYTES: usize = 44;

/// Bytes that the RIFF size counts beside the samples: the header less its first eight.
const RIFF_OVERHEAD: u32 = 36;
const UNKNOWN: u32 = u32::MAX;
const BYTES_PER_SAMPLE: u16 = 2;

/// The header of a mono s16le stream whose length is not known.
#[must_use]
pub fn stream_header(rate: SampleRate) -> [u8; HEADER_BYTES] {
    header(rate, UNKNOWN, UNKNOWN)
}

/// The header of a mono s16le file of exactly `length` samples.
///
/// # Errors
/// [`Error::TooLong`] when the bytes do not fit a WAV file's 32-bit size: past 2³¹ − 19 samples.
pub fn file_header(rate: SampleRate, length: Samples) -> Result<[u8; HEADER_BYTES]> {
    let limit = u64::from((UNKNOWN - 1 - RIFF_OVERHEAD) / u32::from(BYTES_PER_SAMPLE));
    let too_long = Error::TooLong {
        format: "wav",
        limit,
    };
    if length.0 > limit {
        return Err(too_long);
    }
    let data = u32::try_from(length.0 * u64::from(BYTES_PER_SAMPLE)).map_err(|_| too_long)?;
    Ok(header(rate, data + RIFF_OVERHEAD, data))
}

/// RIFF/WAVE with a 16-byte `fmt ` chunk, integer PCM (format 1), one channel.
fn header(rate: SampleRate, riff: u32, data: u32) -> [u8; HEADER_BYTES] {
    let bytes_per_second = rate.hz() * u32::from(BYTES_PER_SAMPLE);
    let mut header = [0; HEADER_BYTES];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        header[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(b"RIFF");
    put(&riff.to_le_bytes());
    put(b"WAVEfmt ");
    put(&16_u32.to_le_bytes());
    put(&1_u16.to_le_bytes());
    put(&1_u16.to_le_bytes());
    put(&rate.hz().to_le_bytes());
    put(&bytes_per_second.to_le_bytes());
    put(&BYTES_PER_SAMPLE.to_le_bytes());
    put(&16_u16.to_le_bytes());
    put(b"data");
    put(&data.to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_length_is_stated_exactly() {
        let header = file_header(SampleRate::HZ_24000, Samples(3)).unwrap();
        assert_eq!(&header[..4], b"RIFF");
        assert_eq!(header[4..8], 42_u32.to_le_bytes());
        assert_eq!(header[24..28], 24_000_u32.to_le_bytes());
        assert_eq!(header[28..32], 48_000_u32.to_le_bytes());
        assert_eq!(&header[36..40], b"data");
        assert_eq!(header[40..], 6_u32.to_le_bytes());
    }

    #[test]
    fn an_unknown_length_is_all_ones() {
        let header = stream_header(SampleRate::HZ_24000);
        assert_eq!(header[4..8], [0xFF; 4]);
        assert_eq!(header[40..], [0xFF; 4]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let limit = (1_u64 << 31) - 19;
        assert!(file_header(SampleRate::HZ_24000, Samples(limit)).is_ok());
        let error = file_header(SampleRate::HZ_24000, Samples(limit + 1)).unwrap_err();
        assert_eq!(
            error,
            Error::TooLong {
                format: "wav",
                limit
            }
        );
    }
}
