//! What one client saw of one stream: when its bytes came, and how it ended.
//!
//! A [`Recorder`] takes the bytes of a body in whatever pieces the network made of them and keeps
//! counts and instants, not audio, so a trace stays small. Header bytes, half samples and leading
//! silence are told apart here; what follows from the instants is computed in [`crate::measure`].

use std::time::Duration;

use thiserror::Error;

use crate::wav;

/// A sample this loud or louder is audible: -50 dB of full scale, 104 of 32,768. Room noise in a
/// recorded voice lies near -60 dB, the softest consonants above -45 dB.
pub const AUDIBLE: u16 = 104;

/// The most audio that one stream may carry: ten minutes at 48 kHz. A server that goes on beyond
/// it is broken, and the trace must stay bounded.
const MOST_SAMPLES: u64 = 10 * 60 * 48_000;

/// Audio that arrived together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// When it arrived, by the run's clock.
    pub at: Duration,
    /// How many samples (of each channel) it completed.
    pub samples: u64,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of the audio came, and the server said that it was all.
    Complete,
    /// The client hung up on purpose.
    Cancelled,
    /// The server declined before any work, by status 503 or 429 or the socket's word for it.
    Refused(u16),
    /// Anything else.
    Failed(Failure),
}

/// Why a request failed. Neither a refusal nor a cancel is one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Failure {
    /// No connection; the server is down, or this machine ran out of ports or files.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// The request took longer than the run allows.
    #[error("not finished within the time allowed")]
    Timeout,
    /// The server answered with another status than 200.
    #[error("status {status}: {body}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// The beginning of the answer's body.
        body: String,
    },
    /// The connection ended before the stream did.
    #[error("stream cut off: {0}")]
    CutOff(String),
    /// Bytes or messages that the protocol does not allow.
    #[error("malformed answer: {0}")]
    Malformed(String),
    /// The server reported an error inside the stream.
    #[error("error from the server: {0}")]
    Server(String),
    /// The stream ended as it should, with not one sample in it.
    #[error("a stream without audio")]
    NoAudio,
}

impl Failure {
    /// A short name to count by.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Connect(_) => "connect",
            Self::Timeout => "timeout",
            Self::Status { .. } => "status",
            Self::CutOff(_) => "cut_off",
            Self::Malformed(_) => "malformed",
            Self::Server(_) => "server",
            Self::NoAudio => "no_audio",
        }
    }
}

/// One request as the client saw it. Instants are by the run's clock.
#[derive(Clone, Debug)]
pub struct Trace {
    /// When the request was due: its arrival in an open loop, the user's turn in a closed one.
    /// All latencies count from here, so a late generator cannot flatter the server.
    pub due: Duration,
    /// How long after `due` the generator got to it.
    pub late: Duration,
    /// False in the warm-up, whose requests count for nothing but throughput.
    pub measured: bool,
    /// Length of the text, in characters.
    pub text_chars: usize,
    /// When the connection stood.
    pub connected: Option<Duration>,
    /// When the first byte of the body (or the first binary message) arrived, head or audio.
    pub first_byte: Option<Duration>,
    /// When the first byte of audio arrived.
    pub first_audio: Option<Duration>,
    /// The audio as it came, none of it empty.
    pub chunks: Vec<Chunk>,
    /// Samples per second.
    pub rate: u32,
    /// Samples before the first audible one; `None` when all were silent.
    pub silence: Option<u64>,
    /// Wall time from the model's first step to its last, by the server's own word.
    pub model_time: Option<Duration>,
    /// When the request was over, however it ended.
    pub end: Duration,
    /// How it ended.
    pub outcome: Outcome,
}

impl Trace {
    /// All samples that arrived.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.samples).sum()
    }

    /// Length of the audio that arrived.
    #[must_use]
    pub fn audio(&self) -> Duration {
        media_time(self.samples(), self.rate)
    }
}

/// The length of `samples` at `rate` samples per second; zero when the rate is not known.
#[must_use]
pub fn media_time(samples: u64, rate: u32) -> Duration {
    if rate == 0 {
        return Duration::ZERO;
    }
    let nanos = u128::from(samples) * 1_000_000_000 / u128::from(rate);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// What the bytes of a stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// A WAV file: the head says the rate.
    Wav,
    /// 16-bit little-endian samples of one channel and nothing else.
    Pcm {
        /// Samples per second, until the server says another.
        rate: u32,
    },
}

/// Builds the trace of one request out of what arrives.
#[derive(Debug)]
pub struct Recorder {
    trace: Trace,
    /// Present until the head of a WAV file is whole.
    head: Option<wav::HeadReader>,
    channels: u16,
    promised: Option<u32>,
    audio_bytes: u64,
    /// Bytes of an unfinished frame.
    rest: Vec<u8>,
}

impl Recorder {
    /// A recorder for a request that was due at `due` and began at `begun`.
    #[must_use]
    pub fn new(framing: Framing, due: Duration, begun: Duration, text_chars: usize) -> Self {
        let (head, rate) = match framing {
            Framing::Wav => (Some(wav::HeadReader::default()), 0),
            Framing::Pcm { rate } => (None, rate),
        };
        Self {
            trace: Trace {
                due,
                late: begun.saturating_sub(due),
                measured: true,
                text_chars,
                connected: None,
                first_byte: None,
                first_audio: None,
                chunks: Vec::new(),
                rate,
                silence: None,
                model_time: None,
                end: begun,
                outcome: Outcome::Complete,
            },
            head,
            channels: 1,
            promised: None,
            audio_bytes: 0,
            rest: Vec::new(),
        }
    }

    /// The connection stands.
    pub fn connected(&mut self, now: Duration) {
        self.trace.connected.get_or_insert(now);
    }

    /// The server says at which rate its samples are.
    ///
    /// # Errors
    /// When the rate is 0, or changes after audio has come.
    pub fn rate(&mut self, rate: u32) -> Result<(), Failure> {
        if rate == 0 || (rate != self.trace.rate && !self.trace.chunks.is_empty()) {
            let had = self.trace.rate;
            return Err(Failure::Malformed(format!(
                "sample rate {rate} after {had}"
            )));
        }
        self.trace.rate = rate;
        Ok(())
    }

    /// The server says how long the model's steps took, first to last.
    pub fn model_time(&mut self, wall: Duration) {
        self.trace.model_time = Some(wall);
    }

    /// Bytes of the stream, in order.
    ///
    /// # Errors
    /// When they are not what the framing allows, or too many.
    pub fn bytes(&mut self, now: Duration, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.trace.first_byte.get_or_insert(now);
        let audio = match &mut self.head {
            None => bytes,
            Some(head) => {
                let whole = head
                    .push(bytes)
                    .map_err(|error| Failure::Malformed(error.to_string()))?;
                let Some((format, used)) = whole else {
                    return Ok(());
                };
                self.head = None;
                self.trace.rate = format.rate;
                self.channels = format.channels;
                self.promised = format.length;
                &bytes[used..]
            }
        };
        self.audio(now, audio)
    }

    fn audio(&mut self, now: Duration, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.trace.first_audio.get_or_insert(now);
        self.audio_bytes += bytes.len() as u64;
        let before = self.trace.samples();
        let frame = usize::from(self.channels) * 2;
        let mut samples = 0;
        let mut rest = std::mem::take(&mut self.rest);
        let filled = bytes.len().min((frame - rest.len()) % frame);
        rest.extend_from_slice(&bytes[..filled]);
        let (lead, body) = if rest.len() == frame {
            (rest.as_slice(), &bytes[filled..])
        } else if rest.is_empty() {
            (&[][..], bytes)
        } else {
            self.rest = rest;
            return Ok(());
        };
        let whole = body.chunks_exact(frame);
        self.rest = whole.remainder().to_vec();
        for one in lead.chunks_exact(frame).chain(whole) {
            if self.trace.silence.is_none() && audible(one) {
                self.trace.silence = Some(before + samples);
            }
            samples += 1;
        }
        if before + samples > MOST_SAMPLES {
            return Err(Failure::Malformed(format!(
                "more than {MOST_SAMPLES} samples in one stream"
            )));
        }
        if samples > 0 {
            self.trace.chunks.push(Chunk { at: now, samples });
        }
        Ok(())
    }

    /// Closes the trace. A stream that ended well must still hold what its head promised.
    #[must_use]
    pub fn finish(mut self, now: Duration, outcome: Outcome) -> Trace {
        self.trace.end = now;
        self.trace.outcome = match (outcome, self.promised) {
            (Outcome::Complete, Some(promised)) if u64::from(promised) > self.audio_bytes => {
                let had = self.audio_bytes;
                Outcome::Failed(Failure::CutOff(format!(
                    "{had} bytes of audio of the {promised} that the WAV head promised"
                )))
            }
            (Outcome::Complete, _) if self.trace.chunks.is_empty() => {
                Outcome::Failed(Failure::NoAudio)
            }
            (outcome, _) => outcome,
        };
        self.trace
    }
}

/// Is any sample of this frame audible?
fn audible(frame: &[u8]) -> bool {
    frame
        .chunks_exact(2)
        .any(|pair| i16::from_le_bytes([pair[0], pair[1]]).unsigned_abs() >= AUDIBLE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn pcm(values: &[i16]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn recorder(framing: Framing) -> Recorder {
        Recorder::new(framing, MS, 3 * MS, 5)
    }

    fn wav(length: u32, samples: &[i16]) -> Vec<u8> {
        let mut bytes = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        bytes.extend(24_000u32.to_le_bytes());
        bytes.extend(48_000u32.to_le_bytes());
        bytes.extend(b"\x02\0\x10\0data");
        bytes.extend(length.to_le_bytes());
        bytes.extend(pcm(samples));
        bytes
    }

    #[test]
    fn head_bytes_are_a_first_byte_but_no_audio() {
        let mut seen = recorder(Framing::Wav);
        let bytes = wav(u32::MAX, &[0, 200]);
        seen.bytes(10 * MS, &bytes[..44]).unwrap();
        seen.bytes(25 * MS, &bytes[44..]).unwrap();
        let trace = seen.finish(30 * MS, Outcome::Complete);
        assert_eq!(trace.late, 2 * MS);
        assert_eq!(trace.first_byte, Some(10 * MS));
        assert_eq!(trace.first_audio, Some(25 * MS));
        assert_eq!(
            (trace.rate, trace.samples(), trace.silence),
            (24_000, 2, Some(1))
        );
        assert_eq!(trace.outcome, Outcome::Complete);
    }

    #[test]
    fn silence_ends_at_the_stated_level_of_either_sign() {
        let mut seen = recorder(Framing::Pcm { rate: 24_000 });
        seen.bytes(MS, &pcm(&[103, -103, 0])).unwrap();
        assert_eq!(seen.trace.silence, None);
        seen.bytes(2 * MS, &pcm(&[5, -104, 9])).unwrap();
        assert_eq!(seen.trace.silence, Some(4));
    }

    #[test]
    fn a_promised_length_must_arrive() {
        let mut seen = recorder(Framing::Wav);
        seen.bytes(MS, &wav(8, &[1, 2, 3])).unwrap();
        let trace = seen.finish(2 * MS, Outcome::Complete);
        assert!(matches!(trace.outcome, Outcome::Failed(Failure::CutOff(_))));
    }

    #[test]
    fn an_end_without_audio_is_a_failure() {
        let trace = recorder(Framing::Wav).finish(MS, Outcome::Complete);
        assert_eq!(trace.outcome, Outcome::Failed(Failure::NoAudio));
    }

    #[test]
    fn a_rate_may_not_change_under_the_audio() {
        let mut seen = recorder(Framing::Pcm { rate: 24_000 });
        seen.rate(16_000).unwrap();
        seen.bytes(MS, &pcm(&[1])).unwrap();
        assert!(seen.rate(24_000).is_err());
        assert!(recorder(Framing::Wav).rate(0).is_err());
    }

    proptest! {
        /// Samples, silence and length do not depend on where the network cut the stream.
        #[test]
        fn any_split_gives_the_same_counts(
            values in prop::collection::vec(-200i16..200, 1..200),
            cuts in prop::collection::vec(1usize..9, 0..400),
            as_wav in any::<bool>(),
        ) {
            let (framing, bytes) = if as_wav {
                (Framing::Wav, wav(u32::MAX, &values))
            } else {
                (Framing::Pcm { rate: 24_000 }, pcm(&values))
            };
            let mut seen = recorder(framing);
            let mut left = bytes.as_slice();
            for cut in cuts {
                let (now, later) = left.split_at(cut.min(left.len()));
                seen.bytes(MS, now).unwrap();
                left = later;
            }
            seen.bytes(MS, left).unwrap();
            let trace = seen.finish(MS, Outcome::Complete);
            prop_assert_eq!(trace.samples(), values.len() as u64);
            let loud = values.iter().position(|v| v.unsigned_abs() >= AUDIBLE);
            prop_assert_eq!(trace.silence, loud.map(|at| at as u64));
        }
    }
}
