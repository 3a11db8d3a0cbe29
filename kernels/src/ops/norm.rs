//! Rows brought to a common size.
//!
//! ```text
//! rms_norm    y = x / sqrt(mean(x^2) + epsilon) * weight              Zhang and Sennrich 2019, eq. 4
//! layer_norm  y = (x - mean(x)) / sqrt(var(x) + epsilon) * weight + bias   Ba et al. 2016, eq. 4
//! ```
//!
//! Bound by memory. Sums are in `f32`, in sixteen lanes.

use super::{by_rows, sum};
use crate::cells::Cells;
use crate::cpu::vectorised;
use crate::pool::Pool;

/// Normalises the rows of `x` `[rows, cols]` into `out`; `weight` is `[cols]`.
///
/// # Panics
/// When the sizes do not go together.
pub fn rms_norm(pool: &Pool, x: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    let cols = weight.len();
    let rows = check(x.len(), cols);
    assert_eq!(x.len(), out.len(), "as much comes out as goes in");
    let out = Cells::new(out);
    by_rows(pool, rows, cols, |rows| {
        let range = rows.start * cols..rows.end * cols;
        // SAFETY: a task alone has these rows.
        #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
        let out = unsafe { out.part(range.start, range.len()) };
        out.copy_from_slice(&x[range]);
        rms_rows(out, weight, epsilon);
    });
}

/// As [`rms_norm`], each row where it stands: the heads of queries and keys.
///
/// # Panics
/// When `x` is not whole rows of as many numbers as `weight` has.
pub fn rms_norm_in_place(pool: &Pool, x: &mut [f32], weight: &[f32], epsilon: f32) {
    let cols = weight.len();
    let rows = check(x.len(), cols);
    let x = Cells::new(x);
    by_rows(pool, rows, cols, |rows| {
        // SAFETY: a task alone has these rows.
        #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
        let x = unsafe { x.part(rows.start * cols, rows.len() * cols) };
        rms_rows(x, weight, epsilon);
    });
}

/// Normalises the rows of `x` `[rows, cols]` into `out`; `weight` and `bias` are `[cols]`.
///
/// # Panics
/// When the sizes do not go together.
pub fn layer_norm(
    pool: &Pool,
    x: &[f32],
    [weight, bias]: [&[f32]; 2],
    epsilon: f32,
    out: &mut [f32],
) {
    let cols = weight.len();
    let rows = check(x.len(), cols);
    assert_eq!(bias.len(), cols, "a bias for each weight");
    assert_eq!(x.len(), out.len(), "as much comes out as goes in");
    let out = Cells::new(out);
    by_rows(pool, rows, cols, |rows| {
        let range = rows.start * cols..rows.end * cols;
        // SAFETY: a task alone has these rows.
        #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
        let out = unsafe { out.part(range.start, range.len()) };
        layer_rows(&x[range], weight, bias, epsilon, out);
    });
}

/// How many rows there are.
fn check(len: usize, cols: usize) -> usize {
    assert!(
        cols > 0 && len.is_multiple_of(cols),
        "{len} is not rows of {cols}"
    );
    len / cols
}

vectorised! {
    fn rms_rows(x: &mut [f32], weight: &[f32], epsilon: f32) {
        for row in x.chunks_exact_mut(weight.len()) {
            let mean = sum(row, |x| x * x) / length(weight);
            let scale = 1.0 / (mean + epsilon).sqrt();
            for (x, weight) in row.iter_mut().zip(weight) {
                *x = *x * scale * weight;
            }
        }
    }
}

vectorised! {
    fn layer_rows(x: &[f32], weight: &[f32], bias: &[f32], epsilon: f32, out: &mut [f32]) {
        let rows = x.chunks_exact(weight.len()).zip(out.chunks_exact_mut(weight.len()));
        for (x, out) in rows {
            let mean = sum(x, |x| x) / length(weight);
            let variance = sum(x, |x| (x - mean) * (x - mean)) / length(weight);
            let scale = 1.0 / (variance + epsilon).sqrt();
            for ((out, x), (weight, bias)) in out.iter_mut().zip(x).zip(weight.iter().zip(bias)) {
                *out = (x - mean) * scale * weight + bias;
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a row is shorter than 2^24")]
#[inline(always)]
fn length(row: &[f32]) -> f32 {
    row.len() as f32
}

#[cfg(test)]
mod tests {
    use super::super::numbers;
    use super::*;

    fn close(got: &[f32], expected: &[f64]) {
        for (index, (&got, &expected)) in got.iter().zip(expected).enumerate() {
            assert!(
                (f64::from(got) - expected).abs() < 2e-6 * (1.0 + expected.abs()),
                "{index}: {got}, expected {expected}"
            );
        }
    }

    #[test]
    fn rows_of_any_length_are_as_the_formula_says() {
        for (rows, cols) in [(1, 1), (3, 7), (2, 64), (5, 33), (40, 576)] {
            for threads in [1, 3] {
                let pool = Pool::new(threads);
                let x = numbers(rows * cols, 1);
                let (weight, bias) = (numbers(cols, 2), numbers(cols, 3));
                let (mut rms, mut layer) = (Vec::new(), Vec::new());
                for x in x.chunks(cols) {
                    let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
                    let mean =
                        |f: &dyn Fn(f64) -> f64| x.iter().map(|&x| f(x)).sum::<f64>() / cols as f64;
                    let square = (mean(&|x| x * x) + 1e-5).sqrt();
                    let middle = mean(&|x| x);
                    let deviation = (mean(&|x| (x - middle).powi(2)) + 1e-5).sqrt();
                    for (index, x) in x.iter().enumerate() {
                        let (weight, bias) = (f64::from(weight[index]), f64::from(bias[index]));
                        rms.push(x / square * weight);
                        layer.push((x - middle) / deviation * weight + bias);
                    }
                }
                let mut out = vec![f32::NAN; rows * cols];
                rms_norm(&pool, &x, &weight, 1e-5, &mut out);
                close(&out, &rms);
                let mut same = x.clone();
                rms_norm_in_place(&pool, &mut same, &weight, 1e-5);
                assert_eq!(out, same);
                layer_norm(&pool, &x, [&weight, &bias], 1e-5, &mut out);
                close(&out, &layer);
            }
        }
    }
}
