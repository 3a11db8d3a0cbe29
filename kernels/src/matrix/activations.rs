//! Activations as 16-bit integers, for products with quantised weights.

use super::BLOCK;
use crate::cpu::vectorised;

/// The largest magnitude of a quantised activation. A block of 32 products with weights of at most
/// 128 is below 2^28, so sums in 32 bits do not overflow.
const LARGEST: f32 = 32_767.0;

/// Rows of activations `[rows, cols]`, quantised by blocks of [`BLOCK`] columns.
#[derive(Debug, Default)]
pub(super) struct Activations {
    /// `[rows, cols]`.
    pub(super) values: Vec<i16>,
    /// What a step is worth, `[rows, cols / BLOCK]`.
    pub(super) scales: Vec<f32>,
    /// The sum of a block's steps, `[rows, cols / BLOCK]`.
    pub(super) sums: Vec<i32>,
}

impl Activations {
    /// Makes room for `blocks` blocks.
    pub(super) fn resize(&mut self, blocks: usize) {
        self.values.resize(blocks * BLOCK, 0);
        self.scales.resize(blocks, 0.0);
        self.sums.resize(blocks, 0);
    }
}

vectorised! {
    /// Quantises whole blocks of `x`. A block with an infinity or a NaN gets the scale NaN, so that
    /// it is seen in every output.
    pub(super) fn quantise(x: &[f32], values: &mut [i16], scales: &mut [f32], sums: &mut [i32]) {
        let blocks = x.as_chunks::<BLOCK>().0.iter().zip(values.as_chunks_mut::<BLOCK>().0);
        for ((x, values), (scale, sum)) in blocks.zip(scales.iter_mut().zip(sums)) {
            let mut bits = 0;
            for x in x {
                // Magnitudes order as their bits do, and a NaN is above all.
                bits = bits.max(x.to_bits() & 0x7fff_ffff);
            }
            let largest = f32::from_bits(bits);
            if bits >= 0x7f80_0000 {
                *scale = f32::NAN;
                values.fill(0);
                *sum = 0;
                continue;
            }
            *scale = largest / LARGEST;
            let inverse = if *scale > f32::MIN_POSITIVE { 1.0 / *scale } else { 0.0 };
            *sum = 0;
            for (value, x) in values.iter_mut().zip(x) {
                let step = nearest(x * inverse);
                #[expect(clippy::cast_possible_truncation, reason = "at most LARGEST and a half")]
                let narrow = step as i16;
                *value = narrow;
                *sum += step;
            }
        }
    }
}

/// The nearest integer of a number below 2^22, ties to even: added to 1.5 * 2^23, a number's last
/// place is worth 1.
#[inline(always)]
fn nearest(x: f32) -> i32 {
    const MAGIC: f32 = 12_582_912.0;
    (x + MAGIC).to_bits().cast_signed() - MAGIC.to_bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_activation_moves_by_half_a_step_at_most() {
        let mut x: Vec<f32> = (0..64_u16)
            .map(|i| (f32::from(i) * 0.7).sin() * 3.0)
            .collect();
        x[32..].fill(0.0);
        let mut out = Activations::default();
        out.resize(2);
        quantise(&x, &mut out.values, &mut out.scales, &mut out.sums);
        for (block, x) in x.chunks(BLOCK).enumerate() {
            let values = &out.values[block * BLOCK..][..BLOCK];
            let sum: i32 = values.iter().map(|&v| i32::from(v)).sum();
            assert_eq!(out.sums[block], sum);
            for (&value, x) in values.iter().zip(x) {
                let back = f32::from(value) * out.scales[block];
                assert!((back - x).abs() <= out.scales[block] * 0.51, "{back} {x}");
            }
        }
    }

    #[test]
    fn what_is_not_a_number_stays_visible() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = [1.0; 2 * BLOCK];
            x[40] = bad;
            let mut out = Activations::default();
            out.resize(2);
            quantise(&x, &mut out.values, &mut out.scales, &mut out.sums);
            assert!(out.scales[0] > 0.0);
            assert!(out.scales[1].is_nan());
        }
    }
}
