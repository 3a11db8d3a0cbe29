//! From frequency lines to integers that fit a frame (ISO/IEC 11172-3, annex C.1.5.4).
//!
//! A decoder makes `sign·|q|^(4/3) · 2^((gain − 210) / 4) · 2^(−factor / 2)` of an integer, with
//! one gain a granule and one factor a scale factor band. The factors come straight from the
//! spectrum: a band gets finer steps the weaker it is, so that the noise follows the spectrum
//! at a distance instead of drowning what is soft. The gain is then the smallest whose integers
//! fit the frame.

use oxideav_mp3::{choose_best_count1_table, choose_best_table_for_region, partition_split};

use super::filterbank::LINES;

/// Scale factor bands at 24 kHz (ISO/IEC 13818-3, table B.2).
pub(super) const FACTORS: usize = 21;
/// Where each band begins, and where the last ends; above it there is no factor.
const BAND_STARTS: [usize; FACTORS + 1] = [
    0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 114, 136, 162, 194, 232, 278, 332, 394, 464, 540,
];
/// Some decoders have 330 for 332: nothing but a scale factor may change there.
const DISPUTED_BAND: usize = 18;
/// Bands by the length of their factors' field.
pub(super) const GROUPS: [std::ops::Range<usize>; 4] = [0..6, 6..11, 11..16, 16..21];
/// The longest fields that one `scalefac_compress` can state, by group.
const MAX_FIELD_BITS: [u32; 4] = [4, 4, 3, 3];
/// How far the noise follows the spectrum: 0 leaves it flat, 1 gives all bands one ratio.
const SHAPING: f64 = 0.3;
/// The level under which a band is nothing but noise: half a step of 16-bit samples.
const FLOOR: f64 = 1.0 / 65_536.0;
/// Below this gain the steps are finer than 16-bit samples ask for, by far.
const MIN_GAIN: u8 = 110;
const MAX_GAIN: u8 = u8::MAX;
/// The largest integer that the bit stream can state.
const MAX_MAGNITUDE: f64 = 8191.0;
/// Rounds so that the error is smallest through the power law (C.1.5.4.4.1: 0.5 − 0.0946).
const ROUNDING: f64 = 0.4054;

/// A granule as a frame states it.
pub(super) struct Quantized {
    pub(super) lines: [i32; LINES],
    pub(super) gain: u8,
    pub(super) factors: [u8; FACTORS],
    /// Bits of a factor's field, by group.
    pub(super) field_bits: [u32; 4],
    pub(super) coding: Coding,
}

/// How the integers are coded: in pairs by three tables, then in fours, then nothing.
#[derive(Clone, Copy, Default)]
pub(super) struct Coding {
    pub(super) pairs: usize,
    pub(super) quads: usize,
    /// Lines at which the second and third table take over.
    pub(super) ends: (usize, usize),
    /// The same in bands, less one each.
    pub(super) region_counts: (u8, u8),
    pub(super) tables: [u8; 3],
    pub(super) quad_table_b: bool,
    bits: usize,
}

/// The finest integers for `lines` whose code, with the factors', is at most `budget` bits.
pub(super) fn quantize(lines: &[f64; LINES], budget: usize) -> Quantized {
    let factors = factors(lines);
    let field_bits = GROUPS.map(|group| field_bits(&factors[group]));
    let factor_bits: usize = GROUPS
        .iter()
        .zip(field_bits)
        .map(|(group, bits)| group.len() * bits as usize)
        .sum();
    let powered = powered(lines, &factors);
    let budget = budget - factor_bits.min(budget);
    let gain = smallest_gain(&powered, budget);
    let (lines, coding) = code(&powered, gain, budget).unwrap_or(([0; LINES], Coding::default()));
    Quantized {
        lines,
        gain,
        factors,
        field_bits,
        coding,
    }
}

/// `factor = 2·SHAPING·log₂(strongest / band)`, by the bands' mean levels.
fn factors(lines: &[f64; LINES]) -> [u8; FACTORS] {
    let mut levels = [0.0; FACTORS];
    for (level, edges) in levels.iter_mut().zip(BAND_STARTS.windows(2)) {
        let band = &lines[edges[0]..edges[1]];
        let power: f64 = band.iter().map(|x| x * x).sum();
        *level = (power / width(band.len())).sqrt().max(FLOOR);
    }
    let strongest = levels.iter().copied().fold(FLOOR, f64::max);
    let mut factors = [0; FACTORS];
    for (group, bits) in GROUPS.iter().zip(MAX_FIELD_BITS) {
        let most = f64::from((1_u32 << bits) - 1);
        for band in group.clone() {
            let wanted = 2.0 * SHAPING * (strongest / levels[band]).log2();
            factors[band] = integer(wanted.min(most).round());
        }
    }
    factors
}

fn field_bits(factors: &[u8]) -> u32 {
    let most = factors.iter().copied().max().unwrap_or(0);
    u8::BITS - most.leading_zeros()
}

/// `|line · 2^(factor / 2)|^(3/4)`, with the line's sign.
fn powered(lines: &[f64; LINES], factors: &[u8; FACTORS]) -> [f64; LINES] {
    let mut powered = *lines;
    for (factor, edges) in factors.iter().zip(BAND_STARTS.windows(2)) {
        let scale = (f64::from(*factor) / 2.0).exp2();
        for line in &mut powered[edges[0]..edges[1]] {
            *line *= scale;
        }
    }
    for line in &mut powered {
        *line = line.abs().powf(0.75).copysign(*line);
    }
    powered
}

/// By bisection. A code's length all but falls with the gain; where it does not, the gain that
/// comes out is a step or two coarser than it could be, and still fits.
fn smallest_gain(powered: &[f64; LINES], budget: usize) -> u8 {
    let (mut low, mut high) = (MIN_GAIN, MAX_GAIN);
    while low < high {
        let middle = low + (high - low) / 2;
        if code(powered, middle, budget).is_some() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// The integers at `gain` and their code, if there is one of at most `budget` bits.
fn code(powered: &[f64; LINES], gain: u8, budget: usize) -> Option<([i32; LINES], Coding)> {
    let scale = (-3.0 / 16.0 * (f64::from(gain) - 210.0)).exp2();
    let mut lines = [0; LINES];
    for (line, power) in lines.iter_mut().zip(powered) {
        let magnitude = (power.abs() * scale + ROUNDING).floor();
        if magnitude > MAX_MAGNITUDE {
            return None;
        }
        *line = signed(magnitude.copysign(*power));
    }
    let coding = coding(&lines)?;
    (coding.bits <= budget).then_some((lines, coding))
}

fn coding(lines: &[i32; LINES]) -> Option<Coding> {
    let split = partition_split(lines);
    let end = split.big_pairs * 2;
    let (ends, region_counts) = regions(end);
    let mut tables = [0; 3];
    let mut bits = 0;
    let regions = [(0, ends.0), (ends.0, ends.1), (ends.1, end)];
    for (table, (from, to)) in tables.iter_mut().zip(regions) {
        let (best, cost) = choose_best_table_for_region(lines, from, to)?;
        *table = best;
        bits += cost;
    }
    let (quad_table_b, cost) = choose_best_count1_table(lines, end, end + split.count1_quads * 4);
    Some(Coding {
        pairs: split.big_pairs,
        quads: split.count1_quads,
        ends,
        region_counts,
        tables,
        quad_table_b,
        bits: bits + cost,
    })
}

/// Splits the pairs' lines at band edges near a quarter and five eighths: speech falls off
/// fast, so the low lines want the large tables.
fn regions(end: usize) -> ((usize, usize), (u8, u8)) {
    let first = band_edge(end / 4, 1, 16);
    let second = band_edge(end * 5 / 8, first + 1, first + 8);
    let edge = |band: usize| BAND_STARTS.get(band).map_or(end, |&start| start.min(end));
    let count = |bands: usize| u8::try_from(bands - 1).unwrap_or(0);
    (
        (edge(first), edge(second)),
        (count(first), count(second - first)),
    )
}

/// The last band of `least..=most` that begins at or before `line`, or `least`.
fn band_edge(line: usize, least: usize, most: usize) -> usize {
    let most = most.min(FACTORS);
    (least..=most)
        .rev()
        .find(|&band| BAND_STARTS[band] <= line && band != DISPUTED_BAND)
        .unwrap_or(if least == DISPUTED_BAND {
            least + 1
        } else {
            least
        })
}

#[expect(clippy::cast_precision_loss, reason = "the lines of a band")]
fn width(lines: usize) -> f64 {
    lines as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, and at most 15; `as` takes NaN to 0"
)]
fn integer(factor: f64) -> u8 {
    factor as u8
}

#[expect(clippy::cast_possible_truncation, reason = "whole, and at most 8191")]
fn signed(magnitude: f64) -> i32 {
    magnitude as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_what_a_decoder_derives_from_the_counts() {
        for end in (0..=LINES).step_by(2) {
            let (ends, counts) = regions(end);
            assert!(counts.0 < 16 && counts.1 < 8, "{end}");
            let edge = |band: usize| BAND_STARTS.get(band).map_or(LINES, |&start| start).min(end);
            let first = usize::from(counts.0) + 1;
            let second = first + usize::from(counts.1) + 1;
            assert_eq!(ends, (edge(first), edge(second)), "{end}");
            assert!(first != DISPUTED_BAND && second != DISPUTED_BAND, "{end}");
        }
    }

    #[test]
    fn every_spectrum_fits_its_budget() {
        let spectra: [fn(usize) -> f64; 4] = [
            |_| 0.0,
            |line| if line == 20 { 1.0 } else { 0.0 },
            |line| if line % 2 == 0 { 1.0 } else { -1.0 },
            |line| 0.5 / (1.0 + width(line)).powi(2),
        ];
        for (index, spectrum) in spectra.iter().enumerate() {
            let mut lines = [0.0; LINES];
            for (line, value) in lines.iter_mut().enumerate() {
                *value = spectrum(line);
            }
            for budget in [1432, 2200] {
                let quantized = quantize(&lines, budget);
                assert!(quantized.coding.bits <= budget, "{index}");
                let silent = quantized.lines.iter().all(|&line| line == 0);
                assert_eq!(silent, index == 0, "{index} at {budget}");
            }
        }
    }
}
