//! Rows turned into probabilities: `y = e^(x - max) / sum e^(x - max)`.

use super::exp::exp;
use super::{by_rows, sum};
use crate::cells::Cells;
use crate::cpu::vectorised;
use crate::pool::Pool;

/// Each row of `x` `[rows, cols]` becomes a distribution. Minus infinity gets the probability of a
/// number 87 below the row's largest (1e-38); a row of nothing else becomes NaN.
///
/// # Panics
/// When `x` is not whole rows.
pub fn softmax(pool: &Pool, x: &mut [f32], cols: usize) {
    assert!(
        cols > 0 && x.len().is_multiple_of(cols),
        "{} is not rows of {cols}",
        x.len()
    );
    let rows = x.len() / cols;
    let x = Cells::new(x);
    by_rows(pool, rows, cols, |rows| {
        // SAFETY: a task alone has these rows.
        #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
        let x = unsafe { x.part(rows.start * cols, rows.len() * cols) };
        softmax_rows(x, cols);
    });
}

vectorised! {
    fn softmax_rows(x: &mut [f32], cols: usize) {
        for row in x.chunks_exact_mut(cols) {
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let total = exp_all(row, largest);
            for x in row {
                *x /= total;
            }
        }
    }
}

/// `x` becomes `e^(x - largest)`, whose sum is returned.
#[inline(always)]
pub(crate) fn exp_all(x: &mut [f32], largest: f32) -> f32 {
    for x in x.iter_mut() {
        *x = exp(*x - largest);
    }
    sum(x, |x| x)
}

#[cfg(test)]
mod tests {
    use super::super::numbers;
    use super::*;

    #[test]
    fn a_row_adds_up_to_one() {
        let pool = Pool::new(2);
        for cols in [1, 3, 17, 500] {
            let x: Vec<f32> = numbers(cols * 30, 1).iter().map(|x| x * 40.0).collect();
            let mut y = x.clone();
            softmax(&pool, &mut y, cols);
            for (x, y) in x.chunks(cols).zip(y.chunks(cols)) {
                let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let weight = |x: f32| f64::from(x - largest).exp();
                let total: f64 = x.iter().map(|&x| weight(x)).sum();
                for (&x, &y) in x.iter().zip(y) {
                    assert!((f64::from(y) - weight(x) / total).abs() < 1e-6, "{x} {y}");
                }
            }
        }
    }

    #[test]
    fn a_nan_spoils_its_own_row_alone() {
        let pool = Pool::new(1);
        let mut x = [1.0, f32::NAN, 2.0, 3.0];
        softmax(&pool, &mut x, 2);
        assert!(x[..2].iter().all(|x| x.is_nan()));
        assert!((x[2] + x[3] - 1.0).abs() < 1e-6);
    }
}
