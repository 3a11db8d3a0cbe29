//! A panel of weights times a few rows of activations: the innermost loop of a product.
//!
//! Always holds: each number of a tile is one chain over the steps of the panel, in their order,
//! whatever the number of rows.

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
    ($kind:ident, $rows:literal, $loop:ident) => {
        impl Step for $kind {
            const ROWS: usize = $rows;

            fn tile<const M: usize>(panel: &[Self], input: &Input<'_>, row: usize) -> [Lanes; M] {
                plain::$loop(panel, input, row)
            }
        }
    };
}

step!(Floats, 6, columns);
step!(F16, 6, columns);
step!(Bf16, 6, columns);
step!(Bytes8, 4, blocks);
step!(Nibbles, 4, blocks);
step!(NibblesMin, 4, blocks);
