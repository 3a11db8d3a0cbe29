//! Tiles in ordinary arithmetic, for processors without a form of their own.

use super::{
    BLOCK, Bf16, Bytes8, F16, Floats, Input, Lanes, Nibbles, NibblesMin, PANEL, Quantised,
};
use crate::cpu::multiply_add;
use crate::half::{from_bf16, from_f16};
use crate::matrix::Words;

/// A column of a panel.
pub(super) trait Column: Copy + Sync {
    /// Its weights as numbers.
    fn widen(&self) -> Lanes;
}

impl Column for Floats {
    fn widen(&self) -> Lanes {
        self.0
    }
}

impl Column for F16 {
    fn widen(&self) -> Lanes {
        self.0.map(from_f16)
    }
}

impl Column for Bf16 {
    fn widen(&self) -> Lanes {
        self.0.map(from_bf16)
    }
}

/// Adds to each row of the tile the sum of the panel's columns, each times the number of that
/// column in the row of `x`; rows of `x` start `stride` apart.
pub(super) fn columns<const M: usize, C: Column>(
    panel: &[C],
    x: &[f32],
    stride: usize,
    tile: &mut [Lanes; M],
) {
    for (index, column) in panel.iter().enumerate() {
        let weights = column.widen();
        for (row, sums) in tile.iter_mut().enumerate() {
            let x = x[row * stride + index];
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = multiply_add(weight, x, *sum);
            }
        }
    }
}

/// A block of a panel.
pub(super) trait Block: Copy + Sync {
    /// Column `2 * i + j` of row `r` at `[i][2 * r + j]`.
    fn unpack(&self) -> [[i16; 2 * PANEL]; BLOCK / 2];

    /// Adds a block to the outputs: `dot` is the sum of products of integers, `scale` and `sum`
    /// are those of the activations.
    fn add(&self, dot: &[i32; PANEL], scale: f32, sum: i32, out: &mut Lanes);
}

/// The outputs of a panel of quantised weights.
pub(super) fn blocks<const M: usize, B: Block>(
    panel: &[B],
    input: &Input<'_>,
    row: usize,
) -> [Lanes; M] {
    let x: [Quantised<'_>; M] = std::array::from_fn(|index| input.quantised(row + index));
    let mut out = [[0.0; PANEL]; M];
    for (index, block) in panel.iter().enumerate() {
        let weights = block.unpack();
        for (out, x) in out.iter_mut().zip(&x) {
            let dot = dot(&weights, &x.values[index]);
            block.add(&dot, x.scales[index], x.sums[index], out);
        }
    }
    out
}

#[inline(always)]
fn dot(weights: &[[i16; 2 * PANEL]; BLOCK / 2], x: &[i16; BLOCK]) -> [i32; PANEL] {
    let mut dot = [0; PANEL];
    for (weights, x) in weights.iter().zip(x.as_chunks::<2>().0) {
        let [a, b] = x.map(i32::from);
        for (dot, two) in dot.iter_mut().zip(weights.as_chunks::<2>().0) {
            *dot += i32::from(two[0]) * a + i32::from(two[1]) * b;
        }
    }
    dot
}

/// Exact below 2^24, else rounded: a sum of a block is below 2^28.
#[expect(clippy::cast_precision_loss, reason = "as the name says")]
#[inline(always)]
fn rounded(value: i32) -> f32 {
    value as f32
}

impl Block for Bytes8 {
    fn unpack(&self) -> [[i16; 2 * PANEL]; BLOCK / 2] {
        self.quants.map(|quants| quants.map(i16::from))
    }

    fn add(&self, dot: &[i32; PANEL], scale: f32, _: i32, out: &mut Lanes) {
        for ((out, &dot), &weight) in out.iter_mut().zip(dot).zip(&self.scales) {
            *out = multiply_add(rounded(dot), from_f16(weight) * scale, *out);
        }
    }
}

impl Block for Nibbles {
    fn unpack(&self) -> [[i16; 2 * PANEL]; BLOCK / 2] {
        nibbles(&self.quants)
    }

    fn add(&self, dot: &[i32; PANEL], scale: f32, sum: i32, out: &mut Lanes) {
        for ((out, &dot), &weight) in out.iter_mut().zip(dot).zip(&self.scales) {
            *out = multiply_add(rounded(dot - 8 * sum), from_f16(weight) * scale, *out);
        }
    }
}

impl Block for NibblesMin {
    fn unpack(&self) -> [[i16; 2 * PANEL]; BLOCK / 2] {
        nibbles(&self.quants)
    }

    fn add(&self, dot: &[i32; PANEL], scale: f32, sum: i32, out: &mut Lanes) {
        let weights = self.scales.iter().zip(&self.mins);
        for ((out, &dot), (&weight, &min)) in out.iter_mut().zip(dot).zip(weights) {
            *out = multiply_add(rounded(dot), from_f16(weight) * scale, *out);
            *out = multiply_add(rounded(sum), from_f16(min) * scale, *out);
        }
    }
}

fn nibbles(quants: &[Words; BLOCK / 8]) -> [[i16; 2 * PANEL]; BLOCK / 2] {
    std::array::from_fn(|pair| {
        let shift = 4 * (pair % 4);
        quants[pair / 4].map(|word| (word >> shift & 15).cast_signed())
    })
}
