//! From samples to the 576 frequency lines of a granule (ISO/IEC 11172-3, annex C.1.3 and 2.4.3.4).
//!
//! A polyphase filter bank cuts 32 samples at a time into 32 subbands; an MDCT over 36 of each
//! subband's samples, 18 of them new, gives 18 lines; butterflies undo the aliasing between
//! neighbouring subbands. Always with the long window: at 24 kHz a granule is 24 ms, and the
//! rate that [`super`] spends leaves little for a short window to gain.
//!
//! Everything is the transpose of what a decoder does, so analysis and synthesis together are
//! a delay of [`DELAY`] samples and, but for what is quantised, nothing else.

use std::f64::consts::PI;
use std::sync::LazyLock;

use oxideav_mp3::{ALIAS_C, C_TABLE};

/// Frequency lines of a granule, and the samples that it advances.
pub(super) const LINES: usize = 576;
/// Samples by which a decoder's output lags the encoder's input: 576 for the overlap of the
/// MDCT, 481 for the two filter banks.
pub(super) const DELAY: u64 = 1057;

const BANDS: usize = 32;
/// Lines of a subband, and its samples in a granule.
const SLOTS: usize = 18;
/// Length of the polyphase window.
const WINDOW: usize = 512;
/// Samples before the current 32 that the window reaches back to.
const HISTORY: usize = WINDOW - BANDS;

type Subbands = [[f64; SLOTS]; BANDS];

/// What does not depend on the audio.
struct Tables {
    /// `cos((2·band + 1)·m·π / 64)`, `[band][m]`
    cosines: [[f64; BANDS]; BANDS],
    /// Window and transform of the MDCT, and its scale, `[line][slot]`.
    mdct: [[f64; 2 * SLOTS]; SLOTS],
    /// The butterflies' `(cs, ca)`.
    butterflies: [(f64, f64); 8],
}

static TABLES: LazyLock<Box<Tables>> = LazyLock::new(|| {
    let cosine = |band: usize, m: usize| (real((2 * band + 1) * m) * PI / 64.0).cos();
    let mdct = |line: usize, slot: usize| {
        let window = (PI / 36.0 * (real(slot) + 0.5)).sin();
        let angle = PI / 72.0 * real((2 * slot + 1 + SLOTS) * (2 * line + 1));
        window * angle.cos() / 9.0
    };
    let mut tables = Box::new(Tables {
        cosines: [[0.0; BANDS]; BANDS],
        mdct: [[0.0; 2 * SLOTS]; SLOTS],
        butterflies: ALIAS_C.map(|c| {
            let norm = (1.0 + c * c).sqrt();
            (1.0 / norm, c / norm)
        }),
    });
    for (band, row) in tables.cosines.iter_mut().enumerate() {
        for (m, value) in row.iter_mut().enumerate() {
            *value = cosine(band, m);
        }
    }
    for (line, row) in tables.mdct.iter_mut().enumerate() {
        for (slot, value) in row.iter_mut().enumerate() {
            *value = mdct(line, slot);
        }
    }
    tables
});

/// The filter bank and what it remembers of the granules before.
pub(super) struct Filterbank {
    /// The last [`HISTORY`] samples, then the granule's.
    samples: Vec<f64>,
    /// The granule before, as subbands.
    before: Box<Subbands>,
}

impl Filterbank {
    pub(super) fn new() -> Self {
        Self {
            samples: vec![0.0; HISTORY + LINES],
            before: Box::new([[0.0; SLOTS]; BANDS]),
        }
    }

    /// The lines of the next granule, of exactly [`LINES`] samples in `-1..=1`.
    pub(super) fn analyse(&mut self, granule: &[f32]) -> [f64; LINES] {
        self.samples.copy_within(LINES.., 0);
        for (slot, &sample) in self.samples[HISTORY..].iter_mut().zip(granule) {
            *slot = f64::from(sample);
        }
        let now = self.subbands();
        let mut lines = [0.0; LINES];
        let (bands, _) = lines.as_chunks_mut::<SLOTS>();
        for ((band, before), now) in bands.iter_mut().zip(self.before.iter()).zip(now.iter()) {
            transform(before, now, band);
        }
        *self.before = now;
        undo_aliasing(&mut lines);
        lines
    }

    fn subbands(&self) -> Subbands {
        let mut subbands = [[0.0; SLOTS]; BANDS];
        let windows = self.samples.windows(WINDOW).step_by(BANDS);
        for (slot, window) in windows.enumerate() {
            let row = polyphase(window);
            for (band, value) in row.into_iter().enumerate() {
                // Odd subbands are mirrored; negating every other sample turns them around.
                let mirrored = band % 2 == 1 && slot % 2 == 1;
                subbands[band][slot] = if mirrored { -value } else { value };
            }
        }
        subbands
    }
}

/// One sample of each subband from the 512 newest samples, oldest first (figure C.4).
fn polyphase(window: &[f64]) -> [f64; BANDS] {
    let mut y = [0.0; 64];
    for (i, (&sample, c)) in window.iter().rev().zip(C_TABLE).enumerate() {
        y[i % 64] += sample * c;
    }
    // The matrix's cosines repeat: 64 columns fold into 32.
    let mut folded = [0.0; BANDS];
    folded[0] = y[16];
    for m in 1..=16 {
        folded[m] = y[16 + m] + y[16 - m];
    }
    for m in 17..BANDS {
        folded[m] = y[16 + m] - y[80 - m];
    }
    let mut bands = [0.0; BANDS];
    for (band, cosines) in bands.iter_mut().zip(&TABLES.cosines) {
        *band = cosines.iter().zip(&folded).map(|(a, b)| a * b).sum();
    }
    bands
}

fn transform(before: &[f64; SLOTS], now: &[f64; SLOTS], lines: &mut [f64; SLOTS]) {
    for (line, row) in lines.iter_mut().zip(&TABLES.mdct) {
        let samples = before.iter().chain(now);
        *line = row.iter().zip(samples).map(|(a, b)| a * b).sum();
    }
}

fn undo_aliasing(lines: &mut [f64; LINES]) {
    for edge in (SLOTS..LINES).step_by(SLOTS) {
        for (i, &(cs, ca)) in TABLES.butterflies.iter().enumerate() {
            let (up, down) = (lines[edge - 1 - i], lines[edge + i]);
            lines[edge - 1 - i] = up * cs + down * ca;
            lines[edge + i] = down * cs - up * ca;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "table indices")]
fn real(index: usize) -> f64 {
    index as f64
}
