//! From numbers to the bytes of a format: for tests, benches and tools that write checkpoints.

use super::{BLOCK, Format};
use crate::half::{from_f16, to_bf16, to_f16};

/// The bytes of `values` in `format`.
///
/// The quantised formats scale each block of [`BLOCK`] by its largest magnitude (`Q4_1`: by its
/// range) and round to the nearest step. Values behind the last whole block are left out.
#[must_use]
pub fn encode(format: Format, values: &[f32]) -> Vec<u8> {
    let blocks = values.chunks_exact(BLOCK);
    match format {
        Format::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Format::F16 => narrow(values, to_f16),
        Format::Bf16 => narrow(values, to_bf16),
        Format::Q8_0 => blocks.flat_map(q8_0).collect(),
        Format::Q4_0 => blocks.flat_map(q4_0).collect(),
        Format::Q4_1 => blocks.flat_map(q4_1).collect(),
    }
}

fn narrow(values: &[f32], bits: impl Fn(f32) -> u16) -> Vec<u8> {
    let bytes = values.iter().flat_map(|&value| bits(value).to_le_bytes());
    bytes.collect()
}

/// The half that is stored for a scale, and what to multiply with to get steps of it.
fn scale(value: f32) -> ([u8; 2], f32) {
    let bits = to_f16(value);
    let stored = from_f16(bits);
    let inverse = if stored == 0.0 { 0.0 } else { 1.0 / stored };
    (bits.to_le_bytes(), inverse)
}

fn q8_0(values: &[f32]) -> Vec<u8> {
    let largest = values.iter().fold(0.0_f32, |a, v| a.max(v.abs()));
    let (bytes, inverse) = scale(largest / 127.0);
    let quants = values.iter().map(|value| {
        #[expect(clippy::cast_possible_truncation, reason = "clamped to the range")]
        let quant = (value * inverse).round().clamp(-127.0, 127.0) as i8;
        quant.cast_unsigned()
    });
    bytes.into_iter().chain(quants).collect()
}

fn q4_0(values: &[f32]) -> Vec<u8> {
    // The value farthest from zero becomes -8, the one step that has no opposite.
    let farthest = values
        .iter()
        .fold(0.0_f32, |a, &v| if v.abs() > a.abs() { v } else { a });
    let (bytes, inverse) = scale(farthest / -8.0);
    let quants = halves(values, |value| value * inverse + 8.0);
    bytes.into_iter().chain(quants).collect()
}

fn q4_1(values: &[f32]) -> Vec<u8> {
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (bytes, inverse) = scale((most - least) / 15.0);
    let least = to_f16(least);
    let quants = halves(values, |value| (value - from_f16(least)) * inverse);
    let head = bytes.into_iter().chain(least.to_le_bytes());
    head.chain(quants).collect()
}

/// Column `i` and column `16 + i` in a byte.
fn halves(values: &[f32], step: impl Fn(f32) -> f32) -> Vec<u8> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the range"
    )]
    let quant = |value: f32| step(value).round().clamp(0.0, 15.0) as u8;
    let (low, high) = values.split_at(BLOCK / 2);
    let pairs = low.iter().zip(high);
    pairs.map(|(&l, &h)| quant(l) | quant(h) << 4).collect()
}
