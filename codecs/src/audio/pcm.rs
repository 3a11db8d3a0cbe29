//! Samples as 16-bit little-endian integers, and back.
//!
//! `s16 = round(clamp(f, -1, 1) * 32767)`, halves away from zero, so that full scale of either
//! sign is reachable and silence is exactly zero. Beyond full scale it clips; what is not a
//! number becomes silence. No dither: its noise would be louder than the error it hides in
//! speech, and the same audio must give the same bytes.

const FULL_SCALE: f32 = 32_767.0;

/// One sample in `-1..=1` as a 16-bit integer; clips beyond, and NaN is 0.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "clamped to ±32767 and rounded; `as` takes NaN to 0"
)]
pub fn s16_from_f32(sample: f32) -> i16 {
    (sample.clamp(-1.0, 1.0) * FULL_SCALE).round() as i16
}

/// The inverse of [`s16_from_f32`]; `i16::MIN`, which that never gives, becomes `-1`.
#[must_use]
pub fn f32_from_s16(sample: i16) -> f32 {
    (f32::from(sample) / FULL_SCALE).max(-1.0)
}

/// Appends `samples` (mono, or interleaved) to `out` as s16le: two bytes each.
pub fn s16le_from_f32(samples: &[f32], out: &mut Vec<u8>) {
    out.reserve(samples.len() * 2);
    for &sample in samples {
        out.extend_from_slice(&s16_from_f32(sample).to_le_bytes());
    }
}

/// Appends the samples in `bytes` to `out`. Gives back a trailing odd byte, which belongs in
/// front of the next call's bytes.
pub fn f32_from_s16le<'a>(bytes: &'a [u8], out: &mut Vec<f32>) -> Option<&'a u8> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    out.extend(
        pairs
            .iter()
            .map(|&pair| f32_from_s16(i16::from_le_bytes(pair))),
    );
    rest.first()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_survives_a_round_trip() {
        for value in -32_767..=i16::MAX {
            assert_eq!(s16_from_f32(f32_from_s16(value)), value);
        }
        assert_eq!(s16_from_f32(f32_from_s16(i16::MIN)), -32_767);
    }

    #[test]
    fn what_is_beyond_full_scale_clips_and_nan_is_silent() {
        let cases = [
            (1.0, 32_767),
            (-1.0, -32_767),
            (1.5, 32_767),
            (f32::INFINITY, 32_767),
            (f32::NEG_INFINITY, -32_767),
            (f32::NAN, 0),
            (0.0, 0),
            (-0.0, 0),
            // Half a step rounds away from zero.
            (0.5 / 32_767.0, 1),
            (-0.5 / 32_767.0, -1),
            (0.49 / 32_767.0, 0),
        ];
        for (sample, expected) in cases {
            assert_eq!(s16_from_f32(sample), expected, "{sample}");
        }
    }

    #[test]
    fn bytes_are_little_endian_and_an_odd_one_is_handed_back() {
        let mut bytes = Vec::new();
        s16le_from_f32(&[1.0, -1.0], &mut bytes);
        assert_eq!(bytes, [0xFF, 0x7F, 0x01, 0x80]);
        bytes.push(7);
        let mut samples = Vec::new();
        assert_eq!(f32_from_s16le(&bytes, &mut samples), Some(&7));
        assert_eq!(samples, [1.0, -1.0]);
    }
}
