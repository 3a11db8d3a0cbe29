//! Reads the head of a WAV stream as its bytes arrive, so that header bytes are never taken for
//! audio.
//!
//! A streamed file cannot know its length, so a server writes a length of 0 or of nearly 2^32
//! there; a length that could be meant is kept and held against what arrives. Chunks before
//! `data` are skipped. Only integer PCM of 16 bits is accepted: the silence level of
//! [`crate::trace`] is defined on it.

use thiserror::Error;

/// The longest head that is read before giving up, in bytes. The usual one has 44; a `LIST` chunk
/// of tags in front of the audio stays far below this.
const LONGEST_HEAD: usize = 64 * 1024;

/// Lengths from here on mean "not known": writers of streams put 2^32-1, or that less the head,
/// or 2^31-1 for readers that use signed numbers.
const UNKNOWN_LENGTH: u32 = 0x7FFF_0000;

/// What the audio after the head is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Samples per second of each channel.
    pub rate: u32,
    /// Interleaved channels.
    pub channels: u16,
    /// Bytes of audio that the head promises, where it promises any.
    pub length: Option<u32>,
}

/// What is wrong with the head of a file; the server's doing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The first bytes are not `RIFF....WAVE`.
    #[error("not a WAV file: it begins with {0:02x?}")]
    NotWav(Vec<u8>),
    /// The audio starts before its format was told, or the format chunk is too short.
    #[error("WAV head without a whole `fmt ` chunk before `data`")]
    NoFormat,
    /// Something other than 16-bit integer PCM at a sensible rate.
    #[error(
        "WAV of format tag {tag}, {bits} bits, {channels} channels, {rate} Hz; \
         only PCM (tag 1) of 16 bits at 1 Hz or more is understood"
    )]
    Unsupported {
        /// The format tag; 1 is integer PCM.
        tag: u16,
        /// Bits of a sample.
        bits: u16,
        /// Interleaved channels.
        channels: u16,
        /// Samples per second.
        rate: u32,
    },
    /// No `data` chunk within [`LONGEST_HEAD`] bytes.
    #[error("no `data` chunk within the first {LONGEST_HEAD} bytes")]
    TooLong,
}

/// Collects the head of one file.
#[derive(Debug, Default)]
pub struct HeadReader {
    bytes: Vec<u8>,
}

impl HeadReader {
    /// Takes the next bytes of the file. Gives the format and how many of *these* bytes belonged
    /// to the head once it is whole, or `None` while it is not.
    ///
    /// # Errors
    /// When the head cannot be that of a WAV file we understand.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<(Format, usize)>, Error> {
        let before = self.bytes.len();
        let room = LONGEST_HEAD.saturating_sub(before);
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        match parse(&self.bytes)? {
            Some((format, head)) => Ok(Some((format, head.saturating_sub(before)))),
            None if self.bytes.len() >= LONGEST_HEAD => Err(Error::TooLong),
            None => Ok(None),
        }
    }
}

/// The format and the length of the head, or `None` when more bytes are needed.
fn parse(bytes: &[u8]) -> Result<Option<(Format, usize)>, Error> {
    let magic = |at: usize, word: &[u8; 4]| {
        let have = bytes.get(at..).unwrap_or(&[]);
        let known = have.len().min(4);
        have[..known] == word[..known]
    };
    if !(magic(0, b"RIFF") && magic(8, b"WAVE")) {
        return Err(Error::NotWav(bytes[..bytes.len().min(12)].to_vec()));
    }
    let mut at = 12;
    let mut format = None;
    while let (Some(name), Some(length)) = (bytes.get(at..at + 4), u32_at(bytes, at + 4)) {
        let body = at + 8;
        if name == b"data" {
            let (rate, channels) = format.ok_or(Error::NoFormat)?;
            let length = (length > 0 && length < UNKNOWN_LENGTH).then_some(length);
            let format = Format {
                rate,
                channels,
                length,
            };
            return Ok(Some((format, body)));
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if name == b"fmt " {
            if length < 16 {
                return Err(Error::NoFormat);
            }
            match bytes.get(body..body + 16) {
                Some(fields) => format = Some(checked_format(fields)?),
                None => return Ok(None),
            }
        }
        // Chunks start at even offsets.
        at = body.saturating_add(length).saturating_add(length % 2);
        if at > LONGEST_HEAD {
            return Err(Error::TooLong);
        }
    }
    Ok(None)
}

/// Rate and channels out of the first 16 bytes of a `fmt ` chunk.
fn checked_format(fields: &[u8]) -> Result<(u32, u16), Error> {
    let word = |at: usize| u16::from_le_bytes([fields[at], fields[at + 1]]);
    let (tag, channels, bits) = (word(0), word(2), word(14));
    let rate = u32_at(fields, 4).unwrap_or(0);
    if tag == 1 && bits == 16 && channels > 0 && rate > 0 {
        return Ok((rate, channels));
    }
    Err(Error::Unsupported {
        tag,
        bits,
        channels,
        rate,
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(length: u32, extra: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(b"RIFF\xff\xff\xff\xffWAVEfmt ");
        bytes.extend(16u32.to_le_bytes());
        bytes.extend(1u16.to_le_bytes());
        bytes.extend(1u16.to_le_bytes());
        bytes.extend(22_050u32.to_le_bytes());
        bytes.extend(44_100u32.to_le_bytes());
        bytes.extend(2u16.to_le_bytes());
        bytes.extend(16u16.to_le_bytes());
        bytes.extend(extra);
        bytes.extend(b"data");
        bytes.extend(length.to_le_bytes());
        bytes
    }

    #[test]
    fn head_of_a_stream_has_44_bytes_and_no_length() {
        let mut bytes = head(u32::MAX, b"");
        bytes.extend([1, 2, 3]);
        let (format, used) = HeadReader::default().push(&bytes).unwrap().unwrap();
        assert_eq!(used, 44);
        assert_eq!(
            (format.rate, format.channels, format.length),
            (22_050, 1, None)
        );
    }

    #[test]
    fn any_split_finds_the_same_start_of_audio() {
        let mut bytes = head(1000, b"LIST\x03\x00\x00\x00abc\x00");
        let length = bytes.len();
        bytes.extend([9; 10]);
        for split in 0..bytes.len() {
            let mut reader = HeadReader::default();
            let found = match reader.push(&bytes[..split]).unwrap() {
                Some((format, used)) => (format, used),
                None => {
                    let (format, used) = reader.push(&bytes[split..]).unwrap().unwrap();
                    (format, split + used)
                }
            };
            assert_eq!(found.1, length, "split at {split}");
            assert_eq!(found.0.length, Some(1000));
        }
    }

    #[test]
    fn other_formats_are_refused_by_name() {
        let mut float = head(u32::MAX, b"");
        float[20] = 3;
        let error = HeadReader::default().push(&float).unwrap_err();
        assert!(error.to_string().contains("format tag 3"), "{error}");
        let error = HeadReader::default().push(b"ID3\x03").unwrap_err();
        assert!(matches!(error, Error::NotWav(_)));
        let error = HeadReader::default().push(b"RIFF\0\0\0\0WAVEdata\0\0\0\0");
        assert_eq!(error, Err(Error::NoFormat));
    }

    #[test]
    fn a_head_without_end_is_given_up() {
        let mut reader = HeadReader::default();
        let mut bytes = b"RIFF\0\0\0\0WAVELIST".to_vec();
        bytes.extend(u32::MAX.to_le_bytes());
        assert_eq!(reader.push(&bytes), Err(Error::TooLong));
    }
}
