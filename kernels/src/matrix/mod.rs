//! Weights of a linear layer, and their product with activations.
//!
//! `y = x W^T`, where `W` is `[rows, cols]` as checkpoints store it. A [`Matrix`] takes the bytes of
//! a checkpoint (GGUF blocks for the quantised formats) and repacks them once into panels of
//! [`PANEL`] rows, so that a vector register holds the same column of neighbouring rows:
//!
//! ```text
//! f32, f16, bf16   panel -> column             -> [16 rows]
//! q8_0, q4_0, q4_1 panel -> block of 32 columns -> scales [16 rows], quants [2 columns x 16 rows]...
//! ```
//!
//! With rows in the lanes a sum never leaves its lane, and every output is one chain: over the
//! columns in order (`f32` and 16-bit floats), or over the blocks in order (quantised: the sum in
//! a block is one of integers, which has no rounding). Nothing in it depends on how many rows of
//! `x` there are, so **a row of `y` has the same bits alone, in a batch of any size, in a prefill
//! of any length, fused with other matrices or not, on any number of threads**.
//!
//! # Rounding
//! Products with `f32`, `f16` and `bf16` weights are `f32` throughout: the weights are widened
//! exactly, and each step is one fused multiply-add. For quantised weights the activations become
//! 16-bit integers, a scale for each block of 32: an activation moves by at most 2^-16 of the
//! largest in its block. (The usual 8-bit activations move by 2^-8, for the same cost on AVX2:
//! widening a weight takes the instruction that handling its sign would.) A processor without
//! fused multiply-add rounds once more a step, so that its last bits differ from the others'.

mod activations;
mod load;
mod product;
mod quantise;
pub(crate) mod tile;

use crate::half::{from_bf16, from_f16};

pub use product::matmul;
pub use quantise::encode;

/// Rows of a panel.
pub const PANEL: usize = 16;

/// Columns that share a scale in the quantised formats.
pub const BLOCK: usize = 32;

/// How numbers are stored, little-endian, row after row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// GGUF `Q8_0`: a block is a binary16 scale and 32 bytes; `w = scale * q`, q in -128..=127.
    Q8_0,
    /// GGUF `Q4_0`: a scale and 16 bytes; `w = scale * (q - 8)`, q in 0..16. Byte `i` holds column
    /// `i` in its lower half and column `16 + i` in its upper one.
    Q4_0,
    /// GGUF `Q4_1`: a scale, a minimum and 16 bytes as in `Q4_0`; `w = scale * q + minimum`.
    Q4_1,
}

impl Format {
    /// Columns and bytes of the smallest part of a row.
    #[must_use]
    pub fn block(self) -> (usize, usize) {
        match self {
            Self::F32 => (1, 4),
            Self::F16 | Self::Bf16 => (1, 2),
            Self::Q8_0 => (BLOCK, 34),
            Self::Q4_0 => (BLOCK, 18),
            Self::Q4_1 => (BLOCK, 20),
        }
    }
}

/// Why bytes are not a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A size is zero, or so large that its bytes cannot be counted.
    #[error(
        "a matrix of {rows} rows and {cols} columns: each must be at least 1, and the whole must fit in memory"
    )]
    Size {
        /// As given.
        rows: usize,
        /// As given.
        cols: usize,
    },
    /// A row of a quantised matrix ends within a block.
    #[error("{cols} columns in {format:?}: must be a multiple of {BLOCK}")]
    Columns {
        /// As given.
        format: Format,
        /// As given.
        cols: usize,
    },
    /// There are more or fewer bytes than the sizes say.
    #[error("{given} bytes for {rows} x {cols} in {format:?}: expected {expected}")]
    Length {
        /// As given.
        format: Format,
        /// As given.
        rows: usize,
        /// As given.
        cols: usize,
        /// What the sizes need.
        expected: usize,
        /// What there is.
        given: usize,
    },
}

/// The weights `[rows, cols]` of a linear layer: `cols` inputs, `rows` outputs.
#[derive(Clone, Debug)]
pub struct Matrix {
    format: Format,
    rows: usize,
    cols: usize,
    packed: Packed,
}

/// Panel after panel; the last one is filled up with zeros.
#[derive(Clone, Debug)]
enum Packed {
    F32(Vec<Floats>),
    F16(Vec<F16>),
    Bf16(Vec<Bf16>),
    Q8_0(Vec<Bytes8>),
    Q4_0(Vec<Nibbles>),
    Q4_1(Vec<NibblesMin>),
}

/// A column of a panel.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Floats(pub(crate) [f32; PANEL]);

/// A column of a panel in binary16.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct F16(pub(crate) [u16; PANEL]);

/// A column of a panel in bfloat16.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct Bf16([u16; PANEL]);

/// A block of a panel: column `2 * i + j` of row `r` is `quants[i][2 * r + j]`.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct Bytes8 {
    scales: [u16; PANEL],
    quants: [[i8; 2 * PANEL]; BLOCK / 2],
}

/// Half bytes of 8 columns: column `2 * i + j` of row `r` is bits `4 * i ..` of word `2 * r + j`.
type Words = [u16; 2 * PANEL];

/// A block of a panel: columns `8 * i ..` are in `quants[i]`.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct Nibbles {
    scales: [u16; PANEL],
    quants: [Words; BLOCK / 8],
}

/// As [`Nibbles`], with a minimum for each row.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct NibblesMin {
    scales: [u16; PANEL],
    mins: [u16; PANEL],
    quants: [Words; BLOCK / 8],
}

impl Matrix {
    /// Outputs.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Inputs.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// How the weights are stored.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes that a product reads, with what fills up the last panel.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.packed {
            Packed::F32(p) => size_of_val(p.as_slice()),
            Packed::F16(p) => size_of_val(p.as_slice()),
            Packed::Bf16(p) => size_of_val(p.as_slice()),
            Packed::Q8_0(p) => size_of_val(p.as_slice()),
            Packed::Q4_0(p) => size_of_val(p.as_slice()),
            Packed::Q4_1(p) => size_of_val(p.as_slice()),
        }
    }

    fn is_quantised(&self) -> bool {
        self.format.block().0 == BLOCK
    }

    fn panels(&self) -> usize {
        self.rows.div_ceil(PANEL)
    }

    /// Writes one row as numbers: an embedding.
    ///
    /// # Panics
    /// When there is no such row, or `out` has not one place for each column.
    pub fn row(&self, row: usize, out: &mut [f32]) {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        assert_eq!(out.len(), self.cols, "a row has {} columns", self.cols);
        let (panel, lane) = (row / PANEL, row % PANEL);
        let steps = self.cols / self.format.block().0;
        let range = panel * steps..(panel + 1) * steps;
        let blocks = out.chunks_exact_mut(self.format.block().0);
        match &self.packed {
            Packed::F32(p) => blocks
                .zip(&p[range])
                .for_each(|(out, column)| out[0] = column.0[lane]),
            Packed::F16(p) => blocks
                .zip(&p[range])
                .for_each(|(out, column)| out[0] = from_f16(column.0[lane])),
            Packed::Bf16(p) => blocks
                .zip(&p[range])
                .for_each(|(out, column)| out[0] = from_bf16(column.0[lane])),
            Packed::Q8_0(p) => blocks
                .zip(&p[range])
                .for_each(|(out, block)| block.row(lane, out)),
            Packed::Q4_0(p) => blocks.zip(&p[range]).for_each(|(out, block)| {
                let scale = from_f16(block.scales[lane]);
                nibbles(&block.quants, lane, out, |q| scale * (q - 8.0));
            }),
            Packed::Q4_1(p) => blocks.zip(&p[range]).for_each(|(out, block)| {
                let (scale, min) = (from_f16(block.scales[lane]), from_f16(block.mins[lane]));
                nibbles(&block.quants, lane, out, |q| scale * q + min);
            }),
        }
    }
}

impl Bytes8 {
    fn row(&self, lane: usize, out: &mut [f32]) {
        let scale = from_f16(self.scales[lane]);
        for (out, quants) in out.chunks_exact_mut(2).zip(&self.quants) {
            out[0] = scale * f32::from(quants[2 * lane]);
            out[1] = scale * f32::from(quants[2 * lane + 1]);
        }
    }
}

fn nibbles(quants: &[Words; BLOCK / 8], lane: usize, out: &mut [f32], value: impl Fn(f32) -> f32) {
    for (column, out) in out.iter_mut().enumerate() {
        let (word, nibble) = (2 * lane + column % 2, column % 8 / 2);
        *out = value(f32::from(quants[column / 8][word] >> (4 * nibble) & 15));
    }
}
