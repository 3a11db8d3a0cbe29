//! Samples to log-mel frames, as Whisper's models were taught to hear.
//!
//! ```text
//! x ─▶ mirrored ends ─▶ windows of 400 every 160 (Hann) ─▶ |FFT|² ─▶ mel bands ─▶ log10 ─▶
//!      max(…, largest - 8) ─▶ (… + 4) / 4
//! ```
//!
//! In f64 up to the logarithm: quiet bands lie 80 dB below loud ones, and are heard. Bands:
//! Slaney 1998, "Auditory Toolbox".

use std::sync::Arc;

use realfft::{RealFftPlanner, RealToComplex};

/// Samples of a window.
const WINDOW: usize = 400;
/// Samples from one frame to the next: 10 ms.
pub(crate) const HOP: usize = 160;
/// Frequencies of a window's spectrum.
const FREQUENCIES: usize = WINDOW / 2 + 1;
/// The lowest power that has a logarithm.
const FLOOR: f64 = 1e-10;

/// The front end of one number of bands.
pub(crate) struct Mel {
    bins: usize,
    window: Vec<f64>,
    /// For each band, the first frequency and the weights from there on.
    bands: Vec<(usize, Vec<f64>)>,
    fft: Arc<dyn RealToComplex<f64>>,
}

impl Mel {
    pub(crate) fn new(bins: usize) -> Self {
        let turn = std::f64::consts::TAU / count(WINDOW);
        let hann = |n: usize| 0.5 - 0.5 * (turn * count(n)).cos();
        Self {
            bins,
            window: (0..WINDOW).map(hann).collect(),
            bands: bands(bins),
            fft: RealFftPlanner::new().plan_fft_forward(WINDOW),
        }
    }

    /// Log-mel frames `[frames, bins]` of samples at 16 kHz, with silence behind them up to so
    /// many frames. More samples than the frames hold are left out.
    ///
    /// None where there is no frame.
    pub(crate) fn frames(&self, samples: &[f32], frames: usize) -> Option<Vec<f32>> {
        let length = frames.checked_mul(HOP).filter(|&length| length > 0)?;
        // Mirrored at both ends, the outermost sample not said twice.
        let last = length - 1;
        let at = |index: usize| {
            let index = index.abs_diff(WINDOW / 2);
            let index = index.min((2 * last).saturating_sub(index));
            f64::from(samples.get(index).copied().unwrap_or(0.0))
        };
        let mut windowed = self.fft.make_input_vec();
        let mut spectrum = self.fft.make_output_vec();
        let mut scratch = self.fft.make_scratch_vec();
        let mut logs = Vec::with_capacity(frames * self.bins);
        let mut power = [0.0; FREQUENCIES];
        for frame in 0..frames {
            for (index, (out, weight)) in windowed.iter_mut().zip(&self.window).enumerate() {
                *out = at(frame * HOP + index) * weight;
            }
            self.fft
                .process_with_scratch(&mut windowed, &mut spectrum, &mut scratch)
                .ok()?;
            for (power, value) in power.iter_mut().zip(&spectrum) {
                *power = value.norm_sqr();
            }
            for (start, weights) in &self.bands {
                let band: f64 = weights
                    .iter()
                    .zip(&power[*start..])
                    .map(|(weight, power)| weight * power)
                    .sum();
                logs.push(band.max(FLOOR).log10());
            }
        }
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let scaled = |log: &f64| (log.max(largest - 8.0) + 4.0) / 4.0;
        #[expect(clippy::cast_possible_truncation, reason = "the model takes f32")]
        let frames = logs.iter().map(|log| scaled(log) as f32).collect();
        Some(frames)
    }
}

/// Triangles of equal area, whose corners are equally far apart in mel.
fn bands(bins: usize) -> Vec<(usize, Vec<f64>)> {
    let highest = mel_of(f64::from(super::RATE) / 2.0);
    let corner = |index: usize| hertz_of(highest * count(index) / count(bins + 1));
    let step = f64::from(super::RATE) / count(WINDOW);
    (0..bins)
        .map(|band| {
            let (low, middle, high) = (corner(band), corner(band + 1), corner(band + 2));
            let height = 2.0 / (high - low);
            let weight = |frequency: usize| {
                let hertz = step * count(frequency);
                let rising = (hertz - low) / (middle - low);
                let falling = (high - hertz) / (high - middle);
                rising.min(falling).max(0.0) * height
            };
            let weights: Vec<f64> = (0..FREQUENCIES).map(weight).collect();
            let start = weights.iter().position(|&w| w > 0.0).unwrap_or(0);
            let end = weights
                .iter()
                .rposition(|&w| w > 0.0)
                .map_or(start, |at| at + 1);
            (start, weights[start..end].to_vec())
        })
        .collect()
}

/// Up to here, mels are hertz by a constant; above, their logarithm.
const BEND: f64 = 1000.0;
const MELS_PER_HERTZ: f64 = 3.0 / 200.0;

/// Mels of an octave by e above the bend: 27 for a factor of 6.4.
fn steepness() -> f64 {
    27.0 / 6.4_f64.ln()
}

fn mel_of(hertz: f64) -> f64 {
    if hertz < BEND {
        hertz * MELS_PER_HERTZ
    } else {
        BEND * MELS_PER_HERTZ + (hertz / BEND).ln() * steepness()
    }
}

fn hertz_of(mel: f64) -> f64 {
    let bend = BEND * MELS_PER_HERTZ;
    if mel < bend {
        mel / MELS_PER_HERTZ
    } else {
        BEND * ((mel - bend) / steepness()).exp()
    }
}

#[expect(clippy::cast_precision_loss, reason = "small numbers, exact in f64")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tone_is_loudest_in_its_band() {
        let tone = |n: u32| (std::f32::consts::TAU * 1000.0 * n as f32 / 16_000.0).sin();
        let samples: Vec<f32> = (0..8000).map(tone).collect();
        let frames = Mel::new(80).frames(&samples, 50).unwrap();
        assert_eq!(frames.len(), 50 * 80);
        let frame = &frames[20 * 80..21 * 80];
        let loudest = (0..80)
            .max_by(|&a, &b| frame[a].total_cmp(&frame[b]))
            .unwrap();
        // 1000 Hz is at 15 mel of 45.2, and bands are 81 steps apart.
        assert_eq!(loudest, 26);
        assert!(Mel::new(80).frames(&samples, 0).is_none());
    }
}
