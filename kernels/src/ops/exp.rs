//! The exponential in arithmetic that a compiler can do on several numbers at once.

use std::f32::consts::LOG2_E;

/// Upper part of ln 2, with zeros below, so that its products with whole numbers are exact.
const LN2_HIGH: f32 = 0.693_359_4;
/// What is missing in [`LN2_HIGH`].
const LN2_LOW: f32 = -2.121_944_4e-4;
/// Added to a number below 2^22 it leaves the nearest whole number in the last places.
const MAGIC: f32 = 12_582_912.0;

/// `e^x` within 2 units in the last place for x in -87..=88; outside, the value at that end. NaN
/// gives NaN.
///
/// `e^x = 2^n e^r` with whole n and |r| <= ln 2 / 2, where seven terms of the series are exact
/// to 5e-9.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let mut series = 1.0 / 5_040.0;
    for factor in [
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        series = series * r + factor;
    }
    // The bits of MAGIC are zero where n is not, so the shift leaves n in the exponent.
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    series * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential() {
        let mut worst = 0.0_f64;
        for step in 0..1_750_000_u32 {
            #[expect(clippy::cast_possible_truncation, reason = "rounded")]
            let x = (f64::from(step) / 10_000.0 - 87.0) as f32;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) - expected).abs() / expected;
            worst = worst.max(error);
        }
        assert!(worst < 2.4e-7, "relative error {worst:e}");
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), exp(-87.0));
        assert!(exp(f32::NAN).is_nan());
    }
}
