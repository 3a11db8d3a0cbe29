//! 16-bit floating point, by its bits: IEEE 754 binary16 and its cousin with the exponent of `f32`.
//!
//! Always holds: widening is exact; narrowing rounds to the nearest, ties to even.

/// The value of binary16 bits.
#[must_use]
#[inline]
pub fn from_f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    // Moved to the place of an `f32`, the exponent is 112 too low: a product puts it right, and
    // makes the small ones without a leading 1 right too.
    let value = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
    let special = if magnitude >= 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(sign | value.to_bits() | special)
}

/// The nearest binary16; infinite where the value is out of its range of ±65,504.
#[must_use]
#[inline]
pub fn to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = high(bits) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Below 2^-14 the last place is worth 2^-24: adding 0.5 rounds to it.
        let rounded = f32::from_bits(magnitude) + 0.5;
        return sign | low(rounded.to_bits().wrapping_sub(0.5_f32.to_bits()));
    }
    let odd = (magnitude >> 13) & 1;
    sign | low((magnitude - (112 << 23) + 0xfff + odd) >> 13)
}

/// The value of bfloat16 bits.
#[must_use]
#[inline]
pub fn from_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest bfloat16.
#[must_use]
#[inline]
pub fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return high(bits) | 0x40;
    }
    high(bits + 0x7fff + ((bits >> 16) & 1))
}

fn high(bits: u32) -> u16 {
    (bits >> 16) as u16
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half")]
fn low(bits: u32) -> u16 {
    bits as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_there_and_back() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (from_f16(bits), from_bf16(bits));
            if half.is_nan() {
                assert!(from_f16(to_f16(half)).is_nan());
            } else {
                assert_eq!(to_f16(half), bits, "{half}");
            }
            if brain.is_nan() {
                assert!(from_bf16(to_bf16(brain)).is_nan());
            } else {
                assert_eq!(to_bf16(brain), bits, "{brain}");
            }
        }
        assert_eq!(from_f16(0x3c00), 1.0);
        assert_eq!(from_f16(0xc001), -2.0 - 1.0 / 512.0);
        assert_eq!(from_f16(1), 2.0_f32.powi(-24));
        assert_eq!(from_f16(0xfc00), f32::NEG_INFINITY);
    }

    #[test]
    fn a_value_between_two_halves_goes_to_the_nearer_one() {
        for bits in 0..0x7bff_u16 {
            let (a, b) = (from_f16(bits), from_f16(bits + 1));
            let middle = f32::midpoint(a, b);
            assert_eq!(to_f16(middle), bits + (bits & 1), "{middle}");
            assert_eq!(to_f16(f32::from_bits(middle.to_bits() + 1)), bits + 1);
            assert_eq!(to_f16(f32::from_bits(middle.to_bits() - 1)), bits);
        }
        assert_eq!(to_f16(65_520.0), 0x7c00);
        assert_eq!(to_f16(65_519.0), 0x7bff);
        assert_eq!(to_bf16(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(to_bf16(f32::from_bits(0x3f81_8000)), 0x3f82);
    }
}
