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
pub(super) type Lanes = [f32; PANEL];

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
    fn row(&self, row: usize) -> &'a [f32] {
        &self.x[row * self.cols..(row + 1) * self.cols]
    }

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

macro_rules! step {
    ($kind:ident, $rows:literal, $loop:ident, $columns:expr) => {
        impl Step for $kind {
            const ROWS: usize = $rows;

            fn tile<const M: usize>(panel: &[Self], input: &Input<'_>, row: usize) -> [Lanes; M] {
                #[cfg(target_arch = "x86_64")]
                if crate::cpu::has_avx2() {
                    check(panel.len() * $columns, input, row + M);
                    // SAFETY: the instructions are there, and the rows are as long as the panel,
                    // as was just checked.
                    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
                    return unsafe { avx2::$loop(panel, input, row) };
                }
                plain::$loop(panel, input, row)
            }
        }
    };
}

/// Rows are as long as a panel, and there are so many of them.
#[cfg(target_arch = "x86_64")]
fn check(cols: usize, input: &Input<'_>, rows: usize) {
    assert!(
        cols == input.cols,
        "a panel of {cols} columns, not {}",
        input.cols
    );
    assert!(rows * cols <= input.x.len(), "{rows} rows of {cols}");
}

step!(Floats, 6, columns, 1);
step!(F16, 6, columns, 1);
step!(Bf16, 6, columns, 1);
step!(Bytes8, 4, blocks, BLOCK);
step!(Nibbles, 4, blocks, BLOCK);
step!(NibblesMin, 4, blocks, BLOCK);
