//! The microphone: audio that came, by its place in the session, and what listens to it.
//!
//! Positions are samples at 24 kHz since the session began; they go on when audio is dropped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use codecs::SampleRate;
use codecs::audio::Resampler;

use super::format::RATE;

/// Samples at 16 kHz that are listened to at a time.
const FRAME: usize = 512;
/// The same at 24 kHz.
const SPAN: u64 = 768;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Input {
    audio: VecDeque<f32>,
    start: u64,
    /// Where what is listened to begins, and the resampler that stands there.
    ear: Option<(u64, Resampler)>,
    rest: Vec<f32>,
    /// Frames handed out and answered since `ear` began.
    asked: u64,
    heard: u64,
    /// Answers to come about audio that nobody asks about any more.
    stale: u64,
    /// When audio last came, and the longest time between two arrivals lately.
    pub(super) last_at: Option<Duration>,
    pub(super) gap: Duration,
}

impl Input {
    pub(super) fn new() -> Self {
        Self {
            audio: VecDeque::new(),
            start: 0,
            ear: None,
            rest: Vec::new(),
            asked: 0,
            heard: 0,
            stale: 0,
            last_at: None,
            gap: Duration::ZERO,
        }
    }

    /// The position after the last sample.
    pub(super) fn end(&self) -> u64 {
        self.start + count(self.audio.len())
    }

    /// The position of the first sample that is kept.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Takes audio in.
    pub(super) fn push(&mut self, samples: &[f32], now: Duration) {
        if let Some(last) = self.last_at {
            // Half of what it was at each arrival, so that one pause does not count for long.
            self.gap = (now.saturating_sub(last)).max(self.gap / 2);
        }
        self.last_at = Some(now);
        self.audio.extend(samples.iter().copied());
    }

    /// The whole frames among `samples`, which [`push`](Self::push) has just taken in, for
    /// someone who listens.
    pub(super) fn listen(&mut self, samples: &[f32]) -> Option<Arc<[f32]>> {
        let begin = self.end() - count(samples.len());
        let (_, resampler) = self
            .ear
            .get_or_insert_with(|| (begin, Resampler::new(RATE, SampleRate::HZ_16000)));
        resampler.push(samples, &mut self.rest);
        let whole = self.rest.len() / FRAME * FRAME;
        if whole == 0 {
            return None;
        }
        self.asked += count(whole / FRAME);
        Some(self.rest.drain(..whole).collect())
    }

    /// Nobody listens from here on.
    pub(super) fn stop_listening(&mut self) {
        if self.ear.take().is_some() {
            self.stale += self.asked - self.heard;
            self.asked = 0;
            self.heard = 0;
            self.rest.clear();
        }
    }

    /// Which positions the next answer is about; `None` when nobody asks any more.
    pub(super) fn next_heard(&mut self) -> Option<std::ops::Range<u64>> {
        if self.stale > 0 {
            self.stale -= 1;
            return None;
        }
        let (base, _) = self.ear.as_ref()?;
        if self.heard == self.asked {
            return None;
        }
        let from = base + self.heard * SPAN;
        self.heard += 1;
        Some(from..from + SPAN)
    }

    /// Whether answers are still to come about audio that was handed out.
    pub(super) fn is_listening(&self) -> bool {
        self.heard < self.asked
    }

    /// The audio in `from..to` at 16 kHz, as far as it is kept.
    pub(super) fn audio_16k(&self, from: u64, to: u64) -> Arc<[f32]> {
        let samples = self.slice(from, to);
        let mut out = Vec::with_capacity(samples.len() * 2 / 3 + 1);
        let mut resampler = Resampler::new(RATE, SampleRate::HZ_16000);
        resampler.push(&samples, &mut out);
        resampler.finish(&mut out);
        out.into()
    }

    fn slice(&self, from: u64, to: u64) -> Vec<f32> {
        let at = |position: u64| {
            let offset = position.clamp(self.start, self.end()) - self.start;
            usize::try_from(offset).unwrap_or(usize::MAX)
        };
        let (from, to) = (at(from), at(to));
        self.audio.range(from..to.max(from)).copied().collect()
    }

    /// Forgets what lies before `position`.
    pub(super) fn drop_before(&mut self, position: u64) {
        let end = position.clamp(self.start, self.end());
        let dropped = usize::try_from(end - self.start).unwrap_or(usize::MAX);
        self.audio.drain(..dropped.min(self.audio.len()));
        self.start = end;
        if self.audio.capacity() > 4 * self.audio.len() + 65_536 {
            self.audio.shrink_to(2 * self.audio.len());
        }
    }
}

/// Samples at 24 kHz in a duration.
pub(super) fn samples(duration: Duration) -> u64 {
    RATE.samples_floor(duration).get()
}

/// The duration of samples at 24 kHz.
pub(super) fn duration(samples: u64) -> Duration {
    codecs::Samples(samples).at(RATE).duration_floor()
}

pub(super) fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
