//! Opus one packet at a time, mono at 24 kHz.
//!
//! libopus takes and gives 24 kHz itself (RFC 6716, 4.2.9 and 4.3), so no resampler stands
//! between it and the rest: less work, and no delay added.

use bytes::Bytes;
use opus::{Application, Bitrate, Channels};

use super::{FRAME, TICKS_PER_SAMPLE};
use crate::{Error, Result, SampleRate};

/// The longest packet that one frame becomes (RFC 6716, 3.4).
const LONGEST_PACKET: usize = 1275;
/// The longest that a packet may last, in samples at 24 kHz: 120 ms (RFC 6716, 3.1).
const LONGEST_FRAME: usize = 2880;
/// What libopus can conceal or recover at a time goes in steps of 2.5 ms.
const GRAIN: usize = 60;
/// What is sent instead of a silent frame is this short (RFC 6716, 2.1.9).
const SILENT_PACKET: usize = 2;

/// How to encode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Bits per second, 6000 to 510000.
    pub bitrate: i32,
    /// 0 to 10. Above 5, speech at 32 kbit/s gains little, and a session's cost is mostly this.
    pub complexity: u8,
    /// The loss in percent that redundancy is added for, 0 to 100; 0 sends none.
    pub expected_loss: u8,
    /// Whether silence is not sent.
    pub dtx: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bitrate: 32_000,
            complexity: 5,
            expected_loss: 10,
            dtx: true,
        }
    }
}

/// Frames to packets.
#[derive(Debug)]
pub struct Encoder {
    encoder: opus::Encoder,
}

impl Encoder {
    /// An encoder at the start of its stream.
    ///
    /// # Errors
    /// [`Error::Codec`] if a setting is out of range.
    pub fn new(settings: Settings) -> Result<Self> {
        let fault = Error::codec("opus");
        let rate = SampleRate::HZ_24000.hz();
        let mut encoder =
            opus::Encoder::new(rate, Channels::Mono, Application::Voip).map_err(&fault)?;
        let bitrate = Bitrate::Bits(settings.bitrate);
        encoder.set_bitrate(bitrate).map_err(&fault)?;
        let complexity = i32::from(settings.complexity);
        encoder.set_complexity(complexity).map_err(&fault)?;
        let loss = i32::from(settings.expected_loss);
        encoder.set_inband_fec(loss > 0).map_err(&fault)?;
        encoder.set_packet_loss_perc(loss).map_err(&fault)?;
        encoder.set_dtx(settings.dtx).map_err(&fault)?;
        Ok(Self { encoder })
    }

    /// Encodes 20 ms; `None` where nothing need be sent for them.
    ///
    /// # Errors
    /// [`Error::Codec`] if the library refuses.
    pub fn encode(&mut self, frame: &[f32; FRAME]) -> Result<Option<Bytes>> {
        let mut packet = [0; LONGEST_PACKET];
        let length = self
            .encoder
            .encode_float(frame, &mut packet)
            .map_err(Error::codec("opus"))?;
        let sent = length > SILENT_PACKET;
        Ok(sent.then(|| Bytes::copy_from_slice(&packet[..length])))
    }
}

/// Packets to samples, whatever is missing.
#[derive(Debug)]
pub struct Decoder {
    decoder: opus::Decoder,
}

impl Decoder {
    /// A decoder at the start of its stream.
    ///
    /// # Errors
    /// [`Error::Codec`] if the library has no memory.
    pub fn new() -> Result<Self> {
        let rate = SampleRate::HZ_24000.hz();
        let decoder =
            opus::Decoder::new(rate, Channels::Mono).map_err(Error::codec("opus decoder"))?;
        Ok(Self { decoder })
    }

    /// How many RTP ticks a packet lasts.
    ///
    /// # Errors
    /// [`Error::Codec`] if it is not one of Opus.
    pub fn ticks(packet: &[u8]) -> Result<u32> {
        if packet.is_empty() {
            return Err(Error::codec("opus decoder")("an empty packet"));
        }
        let samples = opus::packet::get_nb_samples(packet, SampleRate::HZ_24000.hz())
            .map_err(Error::codec("opus decoder"))?;
        Ok(u32::try_from(samples).unwrap_or(0) * TICKS_PER_SAMPLE)
    }

    /// Appends what `packet` holds.
    ///
    /// # Errors
    /// [`Error::Codec`] if it is not one of Opus; nothing is appended.
    pub fn decode(&mut self, packet: &[u8], out: &mut Vec<f32>) -> Result<()> {
        self.run(packet, LONGEST_FRAME, false, out)
    }

    /// Appends `samples` that stand for the packet before `packet`, which was lost: from the
    /// redundancy in `packet` where the sender put some there, or else as [`Self::conceal`].
    ///
    /// # Errors
    /// [`Error::Codec`] if `packet` is not one of Opus; nothing is appended.
    pub fn recover(&mut self, packet: &[u8], samples: usize, out: &mut Vec<f32>) -> Result<()> {
        self.run(packet, grains(samples), true, out)
    }

    /// Appends `samples` (rounded up to 2.5 ms) that go on as what came before, and fade; after
    /// a sender has fallen silent, its background noise.
    ///
    /// # Errors
    /// [`Error::Codec`] if the library refuses.
    pub fn conceal(&mut self, samples: usize, out: &mut Vec<f32>) -> Result<()> {
        let mut left = grains(samples);
        while left > 0 {
            let now = left.min(FRAME);
            self.run(&[], now, false, out)?;
            left -= now;
        }
        Ok(())
    }

    fn run(&mut self, packet: &[u8], room: usize, fec: bool, out: &mut Vec<f32>) -> Result<()> {
        let begin = out.len();
        out.resize(begin + room, 0.0);
        let decoded = self.decoder.decode_float(packet, &mut out[begin..], fec);
        out.truncate(begin + decoded.as_ref().copied().unwrap_or(0));
        decoded.map(|_| ()).map_err(Error::codec("opus decoder"))
    }
}

fn grains(samples: usize) -> usize {
    samples.clamp(1, LONGEST_FRAME * 4).div_ceil(GRAIN) * GRAIN
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn tone(hz: f32, frame: u16) -> [f32; FRAME] {
        let mut n = u32::from(frame) * 480;
        [0.0; FRAME].map(|_: f32| {
            n += 1;
            #[expect(clippy::cast_precision_loss, reason = "a test signal")]
            let at = n as f32 / 24_000.0;
            0.5 * (std::f32::consts::TAU * hz * at).sin()
        })
    }

    fn energy(samples: &[f32]) -> f32 {
        samples.iter().map(|s| s * s).sum()
    }

    #[test]
    fn a_frame_is_a_frame_again() {
        let mut encoder = Encoder::new(Settings::default()).unwrap();
        let mut decoder = Decoder::new().unwrap();
        let mut out = Vec::new();
        for n in 0..50 {
            let packet = encoder.encode(&tone(440.0, n)).unwrap().unwrap();
            assert_eq!(Decoder::ticks(&packet).unwrap(), 960);
            decoder.decode(&packet, &mut out).unwrap();
        }
        assert_eq!(out.len(), 50 * FRAME);
        let (last, sent) = (energy(&out[49 * FRAME..]), energy(&tone(440.0, 49)));
        assert!((last / sent - 1.0).abs() < 0.2, "{last} of {sent}");
    }

    #[test]
    fn silence_is_not_sent_after_a_while_and_speech_is_sent_again() {
        let mut encoder = Encoder::new(Settings::default()).unwrap();
        let mut sent = [0.0; FRAME].map(|_: f32| 0.0);
        let count = |encoder: &mut Encoder, frame: &[f32; FRAME]| {
            (0..50)
                .filter(|_| encoder.encode(frame).unwrap().is_some())
                .count()
        };
        let silent = count(&mut encoder, &sent);
        assert!(silent < 30, "{silent} of 50");
        sent = tone(440.0, 0);
        assert_eq!(count(&mut encoder, &sent), 50);
    }

    #[test]
    fn bytes_that_are_not_opus_are_an_error_and_leave_nothing() {
        let mut decoder = Decoder::new().unwrap();
        let mut out = vec![0.5];
        for bytes in [&[0xff_u8, 0xff][..], &[0x03, 0x00], &[0xfb; 9]] {
            let _ = Decoder::ticks(bytes);
            if decoder.decode(bytes, &mut out).is_err() {
                assert_eq!(out, [0.5]);
            }
            out.truncate(1);
        }
        assert!(Decoder::ticks(&[]).is_err());
    }
}
