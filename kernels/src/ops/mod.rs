//! One file an operation.
//!
//! Those that take a [`Pool`] work on rows: a few are done by the caller alone, many are cut into
//! tasks. Where rows are cut changes nothing in them.

pub mod conv1d;
mod exp;
pub mod gate;
pub mod norm;
pub mod rope;
pub mod softmax;

use std::ops::Range;

pub use gate::{add, gelu, gelu_tanh, silu_mul};
pub use norm::{layer_norm, rms_norm, rms_norm_in_place};
pub use rope::{Angles, rope};
pub use softmax::softmax;

use crate::pool::Pool;

/// Numbers for which a task is worth its start: some microseconds of work.
const TASK: usize = 8 << 10;

/// Calls `each` with ranges of rows that cover `rows`, on several threads where they are many.
fn by_rows(pool: &Pool, rows: usize, cols: usize, each: impl Fn(Range<usize>) + Sync) {
    let group = TASK.div_ceil(cols.max(1));
    pool.run(rows.div_ceil(group), |task| {
        each(task * group..rows.min((task + 1) * group));
    });
}

/// Sums of neighbours, so that a vector register can hold them.
const LANES: usize = 16;

/// A sum in a fixed order: lane by lane, then over the lanes.
#[inline(always)]
fn sum(x: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += term(x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane += term(x);
    }
    lanes.iter().sum()
}

/// Numbers without a pattern, between -1 and 1.
#[cfg(test)]
pub(crate) fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f32::from(u16::try_from(state >> 48).unwrap()) / 32_768.0 - 1.0
    };
    (0..count + 4).map(|_| next()).skip(4).collect()
}
