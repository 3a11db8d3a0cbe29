//! Packets in, an unbroken stream of samples out: the jitter buffer and the decoder together.

use std::time::Duration;

use super::{Config, Decoder, Jitter, Packet, Step, TICKS_PER_SAMPLE};
use crate::Result;

/// What a [`Receiver`] has met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Packets that came.
    pub packets: u64,
    /// Packets given up.
    pub lost: u64,
    /// Of those, how many were recovered from the next one, as far as its sender put them there.
    pub recovered: u64,
    /// Packets that came too late, or twice.
    pub late: u64,
    /// Packets that were not Opus.
    pub malformed: u64,
    /// Samples made up, at 24 kHz.
    pub concealed: u64,
}

/// One sender's audio at 24 kHz. See the [module](self).
#[derive(Debug)]
pub struct Receiver {
    jitter: Jitter,
    decoder: Decoder,
    stats: Stats,
}

impl Receiver {
    /// A receiver before its first packet.
    ///
    /// # Errors
    /// [`Error::Codec`](crate::Error::Codec) if there is no memory for a decoder.
    pub fn new(config: Config) -> Result<Self> {
        Ok(Self {
            jitter: Jitter::new(config),
            decoder: Decoder::new()?,
            stats: Stats::default(),
        })
    }

    /// Takes a packet's number, timestamp (48 kHz) and Opus payload; appends to `out` the
    /// samples that can be heard now. A payload that is not Opus counts as lost.
    pub fn push(
        &mut self,
        sequence: u16,
        timestamp: u32,
        payload: bytes::Bytes,
        now: Duration,
        out: &mut Vec<f32>,
    ) {
        self.stats.packets += 1;
        match Decoder::ticks(&payload) {
            Ok(ticks) => {
                let packet = Packet {
                    sequence,
                    timestamp,
                    ticks,
                    payload,
                };
                self.jitter.push(packet, now);
            }
            Err(_) => self.stats.malformed += 1,
        }
        self.run(out);
    }

    /// The time of [`Self::deadline`] has come: appends what stands for what did not come.
    pub fn handle_timeout(&mut self, now: Duration, out: &mut Vec<f32>) {
        self.jitter.handle_timeout(now);
        self.run(out);
    }

    /// When to call [`Self::handle_timeout`].
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.jitter.deadline()
    }

    /// How much is held back, in samples at 24 kHz.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.jitter.depth() / TICKS_PER_SAMPLE
    }

    /// What it has met so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            lost: self.jitter.lost(),
            late: self.jitter.late(),
            ..self.stats
        }
    }

    fn run(&mut self, out: &mut Vec<f32>) {
        while let Some(step) = self.jitter.poll() {
            let begin = out.len();
            let made_up = match &step {
                Step::Decode(payload) => {
                    if self.decoder.decode(payload, out).is_err() {
                        self.stats.malformed += 1;
                    }
                    false
                }
                Step::Recover { ticks, next } => {
                    let samples = samples_from(*ticks);
                    let recovered = self.decoder.recover(next, samples, out).is_ok();
                    self.stats.recovered += u64::from(recovered);
                    !recovered
                }
                Step::Conceal { ticks, .. } => {
                    let samples = samples_from(*ticks);
                    // The decoder refuses only what is not a multiple of its grain.
                    let _ = self.decoder.conceal(samples, out);
                    true
                }
            };
            if made_up {
                self.stats.concealed += u64::try_from(out.len() - begin).unwrap_or(0);
            }
        }
    }
}

fn samples_from(ticks: u32) -> usize {
    usize::try_from(ticks / TICKS_PER_SAMPLE).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Encoder, FRAME, Settings};

    /// Sends 4 s of a tone through a network that loses one packet in `every`.
    fn through(every: u16) -> (Vec<f32>, Stats) {
        let mut encoder = Encoder::new(Settings::default()).unwrap();
        let mut receiver = Receiver::new(Config::default()).unwrap();
        let mut out = Vec::new();
        let mut phase = 0.0_f32;
        for n in 0..200_u16 {
            let frame = [0.0; FRAME].map(|_: f32| {
                phase = (phase + std::f32::consts::TAU / 24.0) % std::f32::consts::TAU;
                0.5 * phase.sin()
            });
            let now = Duration::from_millis(u64::from(n) * 20);
            receiver.handle_timeout(now, &mut out);
            let packet = encoder.encode(&frame).unwrap().unwrap();
            if n % every != every - 1 {
                receiver.push(n, u32::from(n) * 960, packet, now, &mut out);
            }
        }
        (out, receiver.stats())
    }

    /// The frequency by the zero crossings that rise.
    #[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
    fn frequency(samples: &[f32]) -> f32 {
        let rising = samples
            .windows(2)
            .filter(|w| w[0] < 0.0 && w[1] >= 0.0)
            .count();
        rising as f32 * 24_000.0 / samples.len() as f32
    }

    #[test]
    fn a_tone_stays_where_it_is_with_and_without_loss() {
        for (every, lost) in [(1_000, 0), (20, 9)] {
            let (out, stats) = through(every);
            assert_eq!(stats.lost, lost);
            let hz = frequency(&out[4_800..]);
            assert!((hz - 1_000.0).abs() < 2.0, "{hz} Hz, one lost in {every}");
            let peak = out.iter().fold(0.0_f32, |peak, s| peak.max(s.abs()));
            assert!(peak < 0.8, "{peak}");
            assert!(out.len() >= 199 * FRAME, "{}", out.len());
        }
    }

    #[test]
    fn a_payload_that_is_not_opus_costs_one_packet() {
        let (mut receiver, mut out) = (Receiver::new(Config::default()).unwrap(), Vec::new());
        let mut encoder = Encoder::new(Settings::default()).unwrap();
        for n in 0..20_u16 {
            let now = Duration::from_millis(u64::from(n) * 20);
            receiver.handle_timeout(now, &mut out);
            let good = encoder.encode(&[0.1; FRAME]).unwrap();
            let payload = match n {
                7 => bytes::Bytes::from_static(&[]),
                _ => good.unwrap_or_default(),
            };
            if n == 7 || !payload.is_empty() {
                receiver.push(n, u32::from(n) * 960, payload, now, &mut out);
            }
        }
        assert_eq!(receiver.stats().malformed, 1);
        assert_eq!(receiver.depth(), 0);
    }
}
