//! What stands between two linear layers, number by number.
//!
//! ```text
//! silu_mul   y = g / (1 + e^-g) * u                               Shazeer 2020, "SwiGLU"
//! gelu       y = x (1 + erf(x / sqrt 2)) / 2                      Hendrycks and Gimpel 2016
//! gelu_tanh  y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2    the same, section 2
//! ```

use super::by_rows;
use super::exp::exp;
use crate::cells::Cells;
use crate::cpu::vectorised;
use crate::pool::Pool;

/// `gate` becomes `silu(gate) * up`.
///
/// # Panics
/// When there are more of one than of the other.
pub fn silu_mul(pool: &Pool, gate: &mut [f32], up: &[f32]) {
    pairs(pool, gate, up, silu_mul_all);
}

/// `x` becomes `x + y`: the residual connection.
///
/// # Panics
/// When there are more of one than of the other.
pub fn add(pool: &Pool, x: &mut [f32], y: &[f32]) {
    pairs(pool, x, y, add_all);
}

/// `x` becomes `gelu(x)`, the form with the error function, within 3e-7 of it.
pub fn gelu(pool: &Pool, x: &mut [f32]) {
    pairs(pool, x, &[], |x, _| gelu_all(x));
}

/// `x` becomes `gelu(x)`, the form with the hyperbolic tangent.
pub fn gelu_tanh(pool: &Pool, x: &mut [f32]) {
    pairs(pool, x, &[], |x, _| gelu_tanh_all(x));
}

/// Works on parts of `x`, with the same part of `y` if there is any.
fn pairs(pool: &Pool, x: &mut [f32], y: &[f32], each: impl Fn(&mut [f32], &[f32]) + Sync) {
    assert!(
        y.is_empty() || y.len() == x.len(),
        "{} with {}",
        x.len(),
        y.len()
    );
    let len = x.len();
    let x = Cells::new(x);
    by_rows(pool, len, 1, |part| {
        // SAFETY: a task alone has this part.
        #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
        let x = unsafe { x.part(part.start, part.len()) };
        each(x, y.get(part).unwrap_or_default());
    });
}

vectorised! {
    fn silu_mul_all(gate: &mut [f32], up: &[f32]) {
        for (gate, up) in gate.iter_mut().zip(up) {
            *gate = *gate / (1.0 + exp(-*gate)) * up;
        }
    }
}

vectorised! {
    fn add_all(x: &mut [f32], y: &[f32]) {
        for (x, y) in x.iter_mut().zip(y) {
            *x += y;
        }
    }
}

vectorised! {
    fn gelu_all(x: &mut [f32]) {
        for x in x {
            *x = 0.5 * *x * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2));
        }
    }
}

vectorised! {
    fn gelu_tanh_all(x: &mut [f32]) {
        for x in x {
            let inner = 0.797_884_6 * (*x + 0.044_715 * *x * *x * *x);
            // (1 + tanh a) / 2 = 1 / (1 + e^-2a)
            *x /= 1.0 + exp(-2.0 * inner);
        }
    }
}

/// Abramowitz and Stegun 7.1.26: within 1.5e-7, and as much again for `f32`.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let a = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * a);
    let mut series = 1.061_405_4;
    for factor in [-1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6] {
        series = series * t + factor;
    }
    (1.0 - series * t * exp(-a * a)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range() -> Vec<f32> {
        (-20_000..20_000_i16)
            .map(|i| f32::from(i) / 1_000.0)
            .collect()
    }

    /// The error function by its Taylor series, and 1 far out.
    fn erf_reference(x: f64) -> f64 {
        if x.abs() > 4.5 {
            return x.signum();
        }
        let mut term = x;
        let mut sum = x;
        for n in 1..120 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    fn check(got: &[f32], expected: impl Fn(f64) -> f64, bound: f64) {
        for (x, &got) in range().into_iter().zip(got) {
            let expected = expected(f64::from(x));
            let error = (f64::from(got) - expected).abs();
            assert!(
                error <= bound * expected.abs().max(1.0),
                "{x}: {got}, expected {expected}"
            );
        }
    }

    #[test]
    fn each_is_its_formula() {
        let pool = Pool::new(2);
        let mut y = range();
        let up = vec![3.0; y.len()];
        silu_mul(&pool, &mut y, &up);
        check(&y, |x| 3.0 * x / (1.0 + (-x).exp()), 4e-7);
        let mut y = range();
        gelu(&pool, &mut y);
        let half = std::f64::consts::FRAC_1_SQRT_2;
        check(&y, |x| x * (1.0 + erf_reference(x * half)) / 2.0, 4e-7);
        let mut y = range();
        gelu_tanh(&pool, &mut y);
        let root = (2.0 / std::f64::consts::PI).sqrt();
        let inner = |x: f64| root * (x + 0.044_715 * x.powi(3));
        check(&y, |x| x * (1.0 + inner(x).tanh()) / 2.0, 4e-7);
        let mut y = range();
        add(&pool, &mut y, &range());
        check(&y, |x| 2.0 * x, 0.0);
    }
}
