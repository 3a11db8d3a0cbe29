//! A panel of weights times a few rows of activations: the innermost loop of a product.
//!
//! Always holds: each number of a tile is one chain over the steps of the panel, in their order,
//! whatever the number of rows.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod plain;

use std::ops::Range;

use super::activations::Activations;
use super::{BLOCK, Bf16, Bytes8, F16, Floats, Nibbles, NibblesMin, PANEL};

/// One row's outputs of a panel.
pub(crate) type Lanes = [f32; PANEL];

/// What is multiplied, `[rows, cols]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    pub(super) x: &'a [f32],
    /// The same, where a matrix is quantised.
    pub(super) quantised: &'a Activations,
    pub(super) cols: usize,
}

/// The quantised activations of some rows.
#[derive(Clone, Copy, Debug)]
struct Quantised<'a> {
    values: &'a [[i16; BLOCK]],
    scales: &'a [f32],
    sums: &'a [i32],
}

impl Quantised<'_> {
    const NONE: Self = Self {
        values: &[],
        scales: &[],
        sums: &[],
    };
}

impl<'a> Input<'a> {
    fn quantised(&self, row: usize) -> Quantised<'a> {
        let blocks = self.cols / BLOCK;
        let range = row * blocks..(row + 1) * blocks;
        Quantised {
            values: &self.quantised.values.as_chunks().0[range.clone()],
            scales: &self.quantised.scales[range.clone()],
            sums: &self.quantised.sums[range],
        }
    }
}

/// A column of floats, in every form of the loop.
#[cfg(target_arch = "x86_64")]
trait Column: plain::Column + avx2::Column {}
#[cfg(target_arch = "x86_64")]
impl<C: plain::Column + avx2::Column> Column for C {}
#[cfg(not(target_arch = "x86_64"))]
use plain::Column;

/// One step of a panel along the columns.
pub(super) trait Step: Copy + Sync {
    /// Rows whose sums fit in the registers, at most 6.
    const ROWS: usize;

    /// The outputs of a panel for `M` rows from `row` on.
    fn tile<const M: usize>(panel: &[Self], input: &Input<'_>, row: usize) -> [Lanes; M];
}

/// The outputs of a panel for some rows, each given to `write` with its row.
pub(super) fn panel<S: Step>(
    panel: &[S],
    input: &Input<'_>,
    rows: Range<usize>,
    mut write: impl FnMut(usize, &Lanes),
) {
    let mut row = rows.start;
    while row < rows.end {
        let count = S::ROWS.min(rows.end - row);
        let mut all = |tile: &[Lanes]| {
            for (index, lanes) in tile.iter().enumerate() {
                write(row + index, lanes);
            }
        };
        match count {
            1 => all(&S::tile::<1>(panel, input, row)),
            2 => all(&S::tile::<2>(panel, input, row)),
            3 => all(&S::tile::<3>(panel, input, row)),
            4 => all(&S::tile::<4>(panel, input, row)),
            5 => all(&S::tile::<5>(panel, input, row)),
            _ => all(&S::tile::<6>(panel, input, row)),
        }
        row += count;
    }
}

/// Adds to each of up to six rows of `sums` what [`plain::columns`] says.
fn columns<const M: usize, C: Column>(
    panel: &[C],
    x: &[f32],
    stride: usize,
    sums: &mut [Lanes; M],
) {
    #[cfg(target_arch = "x86_64")]
    if crate::cpu::has_avx2() {
        let read = (M - 1) * stride + panel.len();
        assert!(read <= x.len(), "{read} numbers to read of {}", x.len());
        // SAFETY: the instructions are there, and so are the numbers.
        #[expect(unsafe_code, reason = "instructions that a processor may lack")]
        return unsafe { avx2::columns(panel, x, stride, sums) };
    }
    plain::columns(panel, x, stride, sums);
}

/// Adds to `sums[n]` the columns of `panel`, each times a number of row `n` of `x`: row `n` starts
/// at `n * stride` and has as many numbers as there are columns.
#[expect(private_bounds, reason = "called with the columns of this crate")]
pub(crate) fn accumulate<C: Column>(panel: &[C], x: &[f32], stride: usize, sums: &mut [Lanes]) {
    let (tiles, rest) = sums.as_chunks_mut::<6>();
    let mut first = 0;
    for tile in tiles {
        columns(panel, &x[first * stride..], stride, tile);
        first += 6;
    }
    let (tiles, rest) = rest.as_chunks_mut::<3>();
    for tile in tiles {
        columns(panel, &x[first * stride..], stride, tile);
        first += 3;
    }
    for sums in rest {
        columns(
            panel,
            &x[first * stride..],
            stride,
            std::array::from_mut(sums),
        );
        first += 1;
    }
}

macro_rules! floats {
    ($kind:ident) => {
        impl Step for $kind {
            const ROWS: usize = 6;

            fn tile<const M: usize>(panel: &[Self], input: &Input<'_>, row: usize) -> [Lanes; M] {
                let mut sums = [[0.0; PANEL]; M];
                columns(panel, &input.x[row * input.cols..], input.cols, &mut sums);
                sums
            }
        }
    };
}

floats!(Floats);
floats!(F16);
floats!(Bf16);

macro_rules! blocks {
    ($kind:ident) => {
        impl Step for $kind {
            const ROWS: usize = 4;

            fn tile<const M: usize>(panel: &[Self], input: &Input<'_>, row: usize) -> [Lanes; M] {
                #[cfg(target_arch = "x86_64")]
                if crate::cpu::has_avx2() {
                    assert_eq!(panel.len() * BLOCK, input.cols, "rows as long as a panel");
                    // SAFETY: the instructions are there, and the rows are as long as the panel.
                    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
                    return unsafe { avx2::blocks(panel, input, row) };
                }
                plain::blocks(panel, input, row)
            }
        }
    };
}

blocks!(Bytes8);
blocks!(Nibbles);
blocks!(NibblesMin);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::activations::quantise;
    use crate::matrix::{Format, Matrix, Packed, encode};
    use crate::ops::numbers;

    /// Both forms of the loop over a panel, for `M` rows from the second one on.
    fn check<const M: usize>(cols: usize) {
        let x = numbers((M + 1) * cols, 1);
        let mut quantised = Activations::default();
        quantised.resize(x.len() / BLOCK);
        let Activations {
            values,
            scales,
            sums,
        } = &mut quantised;
        quantise(&x, values, scales, sums);
        let input = Input {
            x: &x,
            quantised: &quantised,
            cols,
        };
        let weights = numbers(PANEL * cols, 2);
        let matrix = |format| Matrix::new(format, PANEL, cols, &encode(format, &weights)).unwrap();
        let formats = [
            Format::F32,
            Format::F16,
            Format::Bf16,
            Format::Q8_0,
            Format::Q4_0,
            Format::Q4_1,
        ];
        for format in formats {
            let [fast, plain]: [[Lanes; M]; 2] = match &matrix(format).packed {
                Packed::F32(p) => floats(p, &input),
                Packed::F16(p) => floats(p, &input),
                Packed::Bf16(p) => floats(p, &input),
                Packed::Q8_0(p) => [Step::tile(p, &input, 1), plain::blocks(p, &input, 1)],
                Packed::Q4_0(p) => [Step::tile(p, &input, 1), plain::blocks(p, &input, 1)],
                Packed::Q4_1(p) => [Step::tile(p, &input, 1), plain::blocks(p, &input, 1)],
            };
            for (fast, plain) in fast.iter().flatten().zip(plain.iter().flatten()) {
                // One rounding a step instead of two.
                assert!(
                    (fast - plain).abs() < 2e-5,
                    "{format:?}, {M} rows: {fast}, {plain}"
                );
            }
        }
    }

    fn floats<const M: usize, C: Column + Step>(panel: &[C], input: &Input<'_>) -> [[Lanes; M]; 2] {
        let mut plain = [[0.0; PANEL]; M];
        plain::columns(panel, &input.x[input.cols..], input.cols, &mut plain);
        [C::tile(panel, input, 1), plain]
    }

    #[test]
    fn both_forms_of_a_loop_agree() {
        for cols in [BLOCK, 5 * BLOCK, 18 * BLOCK] {
            check::<1>(cols);
            check::<2>(cols);
            check::<3>(cols);
            check::<4>(cols);
        }
    }
}
