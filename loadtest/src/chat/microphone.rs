//! A microphone that never stops: 20 ms at a time, speech when there is something to say and a
//! faint noise otherwise, as a room has it.

use std::time::Duration;

use super::{RATE, seconds};

/// Samples of one frame: 20 ms.
pub(super) const FRAME: usize = RATE as usize / 50;

/// The noise's loudest sample: -66 dB of full scale.
const NOISE: i16 = 16;

/// See the [module](self).
pub(super) struct Microphone {
    started: Duration,
    /// Frames captured so far.
    frames: u32,
    speech: Vec<i16>,
    at: usize,
    noise: fastrand::Rng,
}

/// What was captured in one frame.
pub(super) struct Captured {
    /// The samples.
    pub(super) samples: [i16; FRAME],
    /// When the first sample of an utterance was captured, if it is in the frame.
    pub(super) began: Option<Duration>,
    /// When the last sample of an utterance was captured, if it is in the frame.
    pub(super) ended: Option<Duration>,
}

impl Microphone {
    pub(super) fn new(started: Duration, seed: u64) -> Self {
        Self {
            started,
            frames: 0,
            speech: Vec::new(),
            at: 0,
            noise: fastrand::Rng::with_seed(seed),
        }
    }

    /// Says this, after what is being said.
    pub(super) fn say(&mut self, samples: &[i16]) {
        self.speech.drain(..self.at);
        self.at = 0;
        self.speech.extend_from_slice(samples);
    }

    /// When the next frame has been captured.
    pub(super) fn next_at(&self) -> Duration {
        self.started + seconds(FRAME) * (self.frames + 1)
    }

    /// Captures the next frame.
    pub(super) fn capture(&mut self) -> Captured {
        let begins = self.started + seconds(FRAME) * self.frames;
        self.frames += 1;
        let left = self.speech.len() - self.at;
        let spoken = left.min(FRAME);
        let mut samples = [0; FRAME];
        for (index, captured) in samples.iter_mut().enumerate() {
            let noise = self.noise.i16(-NOISE..=NOISE);
            *captured = match self.speech.get(self.at + index) {
                Some(sample) if index < spoken => sample.saturating_add(noise),
                _ => noise,
            };
        }
        let began = (self.at == 0 && spoken > 0).then_some(begins);
        let ended = (left > 0 && spoken == left).then(|| begins + seconds(spoken));
        self.at += spoken;
        if ended.is_some() {
            self.speech.clear();
            self.at = 0;
        }
        Captured {
            samples,
            began,
            ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_utterance_begins_and_ends_at_its_own_samples() {
        let mut microphone = Microphone::new(Duration::from_secs(1), 1);
        let silent = microphone.capture();
        assert_eq!((silent.began, silent.ended), (None, None));
        microphone.say(&[1000; FRAME + 240]);
        assert_eq!(microphone.next_at(), Duration::from_millis(1040));
        let first = microphone.capture();
        assert_eq!(first.began, Some(Duration::from_millis(1020)));
        assert_eq!(first.ended, None);
        let second = microphone.capture();
        assert_eq!(second.began, None);
        assert_eq!(second.ended, Some(Duration::from_millis(1050)));
        let loud = second.samples.iter().filter(|sample| **sample > 500);
        assert_eq!(loud.count(), 240);
        assert_eq!(microphone.capture().ended, None);
    }
}
