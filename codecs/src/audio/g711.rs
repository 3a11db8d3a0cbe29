//! G.711: a sample in eight bits, as telephones have it, and back.
//!
//! ITU-T G.711 in its own words: a sign, a segment (which power of two) and four bits within the
//! segment. µ-law shifts the magnitude by a bias of 33 (of 14 bits) so that segments begin at
//! powers of two, and sends all bits inverted; A-law has a linear first segment, 13 bits, and
//! sends the even bits inverted. Samples here are 16-bit; the lowest bits that a law does not
//! see are dropped going in and set to the middle of the step coming out.

/// The bias of µ-law, on the scale of 16 bits.
const BIAS: i32 = 33 << 2;
/// The largest magnitude that µ-law can say.
const CLIP: i32 = 0x7fff - BIAS;

/// One sample as µ-law.
#[must_use]
pub fn ulaw_from_s16(sample: i16) -> u8 {
    let wide = i32::from(sample);
    let magnitude = wide.abs().min(CLIP) + BIAS;
    // The highest bit of `magnitude` is 7 to 14; the segment is 0 to 7.
    let segment = 24 - magnitude.leading_zeros();
    let step = (magnitude >> (segment + 3)) & 0x0f;
    !byte(sign(wide) | i32::try_from(segment << 4).unwrap_or(0x70) | step)
}

/// One sample out of µ-law.
#[must_use]
pub fn s16_from_ulaw(law: u8) -> i16 {
    let bits = i32::from(!law);
    let segment = (bits >> 4) & 7;
    let magnitude = ((((bits & 0x0f) << 3) + BIAS) << segment) - BIAS;
    signed(bits & 0x80 != 0, magnitude)
}

/// One sample as A-law.
#[must_use]
pub fn alaw_from_s16(sample: i16) -> u8 {
    let wide = i32::from(sample);
    // A negative sample is the complement, so that -1 lies as deep as 0.
    let magnitude = if wide < 0 { !wide } else { wide } >> 4;
    // The highest bit of `magnitude` is 4 to 10 from segment 1 on; below, steps are equal.
    let segment = 28_u32.saturating_sub(magnitude.leading_zeros());
    let step = (magnitude >> segment.saturating_sub(1)) & 0x0f;
    let bits = i32::try_from(segment << 4).unwrap_or(0x70) | step;
    let positive = if wide < 0 { 0 } else { 0x80 };
    byte(bits | positive) ^ 0x55
}

/// One sample out of A-law.
#[must_use]
pub fn s16_from_alaw(law: u8) -> i16 {
    let bits = i32::from(law ^ 0x55);
    let segment = (bits >> 4) & 7;
    let step = ((bits & 0x0f) << 4) + 8;
    let magnitude = match segment {
        0 => step,
        segment => (step + 0x100) << (segment - 1),
    };
    signed(bits & 0x80 == 0, magnitude)
}

fn sign(sample: i32) -> i32 {
    if sample < 0 { 0x80 } else { 0 }
}

fn byte(bits: i32) -> u8 {
    u8::try_from(bits & 0xff).unwrap_or(u8::MAX)
}

fn signed(negative: bool, magnitude: i32) -> i16 {
    let value = if negative { -magnitude } else { magnitude };
    i16::try_from(value).unwrap_or(if negative { i16::MIN } else { i16::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the standard's tables: the ends of the scale, and silence.
    #[test]
    fn known_codes() {
        for (sample, law) in [(0, 0xff), (-32_768, 0x00), (32_767, 0x80), (-4, 0x7e)] {
            assert_eq!(ulaw_from_s16(sample), law, "{sample}");
        }
        for (sample, law) in [(0, 0xd5), (-1, 0x55), (32_767, 0xaa), (-32_768, 0x2a)] {
            assert_eq!(alaw_from_s16(sample), law, "{sample}");
        }
        assert_eq!(s16_from_ulaw(0x00), -32_124);
        assert_eq!(s16_from_ulaw(0xff), 0);
        assert_eq!(s16_from_alaw(0xaa), 32_256);
        assert_eq!(s16_from_alaw(0xd5), 8);
    }

    #[test]
    fn every_code_survives_a_round_trip() {
        for law in 0..=u8::MAX {
            assert_eq!(alaw_from_s16(s16_from_alaw(law)), law, "{law:#x}");
            // Two codes of µ-law say zero.
            let again = ulaw_from_s16(s16_from_ulaw(law));
            assert!(again == law || (law == 0x7f && again == 0xff), "{law:#x}");
        }
    }

    /// A step of a segment is a sixteenth of it, so the error is at most a thirty-second of the
    /// magnitude, and near zero half of the smallest step.
    #[test]
    fn the_error_is_half_a_step() {
        for sample in i16::MIN..=i16::MAX {
            let magnitude = i32::from(sample).abs();
            for back in [
                s16_from_ulaw(ulaw_from_s16(sample)),
                s16_from_alaw(alaw_from_s16(sample)),
            ] {
                let error = (i32::from(back) - i32::from(sample)).abs();
                let bound = magnitude / 32 + 8;
                assert!(error <= bound.max(0x7fff - 32_124), "{sample} {back}");
                assert!(magnitude > 32_000 || error <= bound, "{sample} {back}");
            }
        }
    }
}
