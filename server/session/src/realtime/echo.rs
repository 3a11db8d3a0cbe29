//! Whether the microphone hears our own voice: what was played, compared with what came.
//!
//! A browser takes its loudspeaker out of its microphone; other callers may not, and then each answer
//! would interrupt itself. So a frame that sounds like speech is held against what was played up to half
//! a second before it:
//!
//! ```text
//! microphone, the last 160 ms ─┐
//! played, 0 to 500 ms earlier ─┴─▶ the lag at which they correlate best ─▶ r²
//! ```
//!
//! r² is the share of the microphone's energy that one delayed, scaled copy of what was played explains.
//! Of an echo that is most; of somebody who speaks over it, even as loud as it, half or less. An echo
//! with a lot of room in it passes as speech: nobody is gated who should be heard.
//!
//! The lag is looked for at 4 kHz and then set to the sample at 24 kHz, where r² is measured.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use super::input::{count, duration, samples};

/// What is compared: 160 ms at 24 kHz.
const WINDOW: usize = 3_840;
/// The longest lag, 500 ms, and what is kept of what was played.
const LAG: usize = 12_000;
const KEPT: usize = LAG + 2 * WINDOW;
/// What is kept of the microphone: answers of who tells speech from silence come later.
const HEARD: usize = WINDOW + 24_000;
/// Samples that stand for one where the lag is looked for.
const COARSE: usize = 6;
/// The share of energy from which on it is an echo.
const SHARE: f32 = 0.6;
/// Mean square below which nothing is compared: -66 dB.
const SILENT: f32 = 2.5e-7;
/// The most audio that is to be played later: a minute.
const AHEAD: usize = 60 * 24_000;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Echo {
    /// What was played, and what will be next, at 24 kHz.
    played: VecDeque<f32>,
    /// When its last sample will have been played.
    end: Duration,
    /// What the microphone heard last, up to which position, and when.
    heard: VecDeque<f32>,
    microphone: Option<(u64, Duration)>,
}

impl Echo {
    /// Audio leaves now; what left before is played first.
    pub(super) fn play(&mut self, audio: &[f32], now: Duration) {
        if self.end < now {
            // Silence is compared, too.
            let silence = usize::try_from(samples(now - self.end)).unwrap_or(KEPT);
            self.played
                .extend(std::iter::repeat_n(0.0, silence.min(KEPT)));
            self.end = now;
        }
        if self.played.is_empty() {
            self.played.resize(KEPT, 0.0);
        }
        self.played.extend(audio.iter().copied());
        self.end += duration(count(audio.len()));
        let past = usize::try_from(samples(self.end - now)).unwrap_or(0);
        let most = KEPT + past.min(AHEAD);
        let surplus = self.played.len().saturating_sub(most);
        self.played.drain(..surplus);
    }

    /// What has not been played by now never will be.
    pub(super) fn cut(&mut self, now: Duration) {
        if self.end > now {
            let unplayed = usize::try_from(samples(self.end - now)).unwrap_or(usize::MAX);
            let left = self.played.len().saturating_sub(unplayed);
            self.played.truncate(left);
            self.end = now;
        }
    }

    /// The microphone was heard up to this position.
    pub(super) fn hear(&mut self, audio: &[f32], position: u64, now: Duration) {
        self.microphone = Some((position, now));
        self.heard.extend(audio.iter().copied());
        let surplus = self.heard.len().saturating_sub(HEARD);
        self.heard.drain(..surplus);
    }

    /// Whether what the microphone heard up to a position is what was played.
    pub(super) fn is_at(&self, position: u64) -> bool {
        let Some(at) = self.time_of(position) else {
            return false;
        };
        if self.played.is_empty() || self.played_before(at) >= LAG + WINDOW {
            return false;
        }
        self.window(position)
            .is_some_and(|heard| self.is_in(&heard, at))
    }

    /// What the microphone heard up to a position.
    fn window(&self, position: u64) -> Option<Vec<f32>> {
        let (last, _) = self.microphone?;
        let behind = usize::try_from(last.checked_sub(position)?).ok()?;
        let end = self.heard.len().checked_sub(behind)?;
        let start = end.checked_sub(WINDOW)?;
        Some(centred(self.heard.range(start..end).copied()))
    }

    /// Whether this was played before a moment.
    fn is_in(&self, heard: &[f32], at: Duration) -> bool {
        if energy(heard) < SILENT * WINDOW as f32 {
            return false;
        }
        // Lags are counted from the end of what was played.
        let after = self.played_before(at);
        let least = after.saturating_sub(LAG);
        let Some(coarse) = self.coarse_lag(heard, at) else {
            return false;
        };
        let around = coarse.saturating_sub(COARSE).max(least)..=coarse + COARSE;
        around
            .filter_map(|lag| self.share(heard, lag, at))
            .any(|share| share >= SHARE)
    }

    /// When the microphone heard what lies at a position.
    fn time_of(&self, position: u64) -> Option<Duration> {
        let (end, now) = self.microphone?;
        now.checked_sub(duration(end.saturating_sub(position)))
    }

    /// How many samples before a moment the last one was played; 0 while some are to be.
    fn played_before(&self, at: Duration) -> usize {
        usize::try_from(samples(at.saturating_sub(self.end))).unwrap_or(usize::MAX)
    }

    /// What was played in the window that ends so many samples before a moment.
    fn played_in(&self, lag: usize, at: Duration) -> Option<Range<usize>> {
        let ahead = usize::try_from(samples(self.end.saturating_sub(at))).ok()?;
        let behind = lag.checked_sub(self.played_before(at))?;
        let end = self.played.len().checked_sub(ahead + behind)?;
        Some(end.checked_sub(WINDOW)?..end)
    }

    /// The lag with the largest r², to [`COARSE`] samples.
    fn coarse_lag(&self, heard: &[f32], at: Duration) -> Option<usize> {
        let heard: Vec<f32> = heard.chunks_exact(COARSE).map(mean).collect();
        let newest = self.played_in(self.played_before(at), at)?.end;
        let oldest = newest.saturating_sub(LAG + WINDOW);
        let oldest = newest - (newest - oldest) / COARSE * COARSE;
        let played: Vec<f32> = self.played.range(oldest..newest).copied().collect();
        let played: Vec<f32> = played.chunks_exact(COARSE).map(mean).collect();
        let places = played.windows(heard.len()).enumerate();
        let best = places
            .map(|(place, window)| (place, squared(&heard, window)))
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        let (place, _) = best?;
        let behind = (played.len() - heard.len() - place) * COARSE;
        Some(self.played_before(at) + behind)
    }

    /// r² at a lag.
    fn share(&self, heard: &[f32], lag: usize, at: Duration) -> Option<f32> {
        let window = self.played.range(self.played_in(lag, at)?);
        let played = centred(window.copied());
        Some(squared(heard, &played) / energy(heard))
    }
}

/// The energy of what `played`, scaled at best, has in common with `heard`.
fn squared(heard: &[f32], played: &[f32]) -> f32 {
    let common: f32 = heard.iter().zip(played).map(|(a, b)| a * b).sum();
    let energy = energy(played);
    if energy <= 0.0 {
        0.0
    } else {
        common * common / energy
    }
}

fn energy(samples: &[f32]) -> f32 {
    samples.iter().map(|sample| sample * sample).sum()
}

fn mean(samples: &[f32]) -> f32 {
    samples.iter().sum::<f32>() / samples.len() as f32
}

/// Without what is the same in all samples.
fn centred(samples: impl Iterator<Item = f32>) -> Vec<f32> {
    let samples: Vec<f32> = samples.collect();
    let mean = mean(&samples);
    samples.into_iter().map(|sample| sample - mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something like speech: a pitch that moves, harmonics, syllables.
    fn voice(seed: u32, length: usize) -> Vec<f32> {
        let pitch = 100.0 + 17.0 * seed as f32;
        let mut phase = 0.0;
        (0..length)
            .map(|n| {
                let t = n as f32 / 24_000.0;
                phase += pitch * (1.0 + 0.2 * (5.0 * t + seed as f32).sin()) / 24_000.0;
                let syllable =
                    0.5 - 0.5 * (std::f32::consts::TAU * (3.1 + seed as f32 * 0.4) * t).cos();
                let harmonics = (1..12_u8).map(f32::from).map(|k| {
                    (std::f32::consts::TAU * k * phase).sin() / k
                        * (1.0 + (k * 2.0 + 7.0 * t).sin())
                });
                0.2 * syllable * harmonics.sum::<f32>()
            })
            .collect()
    }

    fn decibels(db: f32) -> f32 {
        10_f32.powf(db / 20.0)
    }

    /// Plays `far` in packets while `near` is heard with the echo; the share of frames that are gated
    /// among those that are loud.
    fn gated(far: &[f32], near: &[f32], delay_ms: usize, db: f32) -> f32 {
        let delay = delay_ms * 24;
        let mixed: Vec<f32> = (0..near.len())
            .map(|n| near[n] + decibels(db) * n.checked_sub(delay).map_or(0.0, |n| far[n]))
            .collect();
        let mut echo = Echo::default();
        let (mut loud, mut found) = (0, 0);
        for (packet, at) in (0..mixed.len() / 480).zip(1_u64..) {
            let now = Duration::from_millis(at * 20);
            echo.play(&far[packet * 480..][..480], now - Duration::from_millis(20));
            let end = (packet + 1) * 480;
            echo.hear(&mixed[end - 480..end], count(end), now);
            let Some(start) = end.checked_sub(WINDOW) else {
                continue;
            };
            if energy(&mixed[start..end]) > 1e-4 * WINDOW as f32 * decibels(db) {
                loud += 1;
                found += usize::from(echo.is_at(count(end)));
            }
        }
        assert!(loud > 20, "{loud}");
        found as f32 / loud as f32
    }

    #[test]
    fn our_own_voice_is_known_at_any_delay_and_loudness() {
        let (far, silent) = (voice(1, 72_000), vec![0.0; 72_000]);
        for delay in [20, 55, 140, 300] {
            for db in [-6.0, -12.0, -20.0] {
                let share = gated(&far, &silent, delay, db);
                assert!(share > 0.97, "{delay} ms, {db} dB: {share}");
            }
        }
    }

    #[test]
    fn who_speaks_is_heard_with_an_echo_and_without() {
        let (far, near) = (voice(1, 72_000), voice(4, 72_000));
        for db in [-6.0, -20.0, -200.0] {
            let share = gated(&far, &near, 80, db);
            assert!(share < 0.15, "{db} dB: {share}");
        }
    }

    #[test]
    fn what_was_cut_off_is_no_echo_and_silence_is_none() {
        let ms = Duration::from_millis;
        let far = voice(2, 48_000);
        let heard_at = |heard: &[f32], now: Duration| {
            let mut echo = Echo::default();
            assert!(!echo.is_at(0));
            echo.play(&far, Duration::ZERO);
            echo.cut(ms(500));
            echo.hear(heard, count(heard.len()), now);
            echo.is_at(count(heard.len()))
        };
        assert!(heard_at(&far[7_000..10_840], ms(600)), "it was played");
        assert!(!heard_at(&far[12_000..15_840], ms(700)), "it was cut off");
        assert!(!heard_at(&far[7_000..10_840], ms(2_000)), "long ago");
        assert!(!heard_at(&[0.3; WINDOW], ms(600)));
    }

    #[test]
    fn memory_is_bounded() {
        let mut echo = Echo::default();
        for second in 0..200 {
            echo.play(&[0.1; 24_000], Duration::from_secs(second));
        }
        assert!(echo.played.len() <= KEPT + 24_000, "{}", echo.played.len());
        for _ in 0..200 {
            echo.play(&[0.1; 24_000], Duration::from_secs(200));
        }
        assert!(echo.played.len() <= KEPT + AHEAD, "{}", echo.played.len());
        echo.hear(&vec![0.1; 100_000], 100_000, Duration::from_secs(200));
        assert_eq!(echo.heard.len(), HEARD);
    }
}
