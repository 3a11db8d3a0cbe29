//! A signal that is as hard to code as speech, and a measure of what became of it.

use codecs::SampleRate;

/// Harmonics of a gliding pitch under a moving envelope, with hiss between the syllables.
#[expect(clippy::cast_possible_truncation, reason = "a test signal")]
pub(crate) fn speech_like(rate: SampleRate, length: usize) -> Vec<f32> {
    let rate = f64::from(rate.hz());
    let mut phase = 0.0_f64;
    let mut seed = 1_u32;
    (0_u32..)
        .take(length)
        .map(|n| {
            let t = f64::from(n) / rate;
            phase += (120.0 + 30.0 * (5.0 * t).sin()) / rate;
            let voiced: f64 = (1..20)
                .map(|k| {
                    (std::f64::consts::TAU * f64::from(k) * phase).sin() / f64::from(k).powf(1.3)
                })
                .sum();
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let hiss = f64::from(seed >> 8) / f64::from(1 << 23) - 1.0;
            let syllable = 0.5 - 0.5 * (std::f64::consts::TAU * 4.0 * t).cos();
            (0.25 * syllable * voiced + 0.002 * hiss) as f32
        })
        .collect()
}

/// Signal over error in dB.
pub(crate) fn snr(expected: &[f32], got: &[f32]) -> f64 {
    let (mut signal, mut error) = (0.0, 1e-30);
    for (&e, &g) in expected.iter().zip(got) {
        signal += f64::from(e).powi(2);
        error += (f64::from(e) - f64::from(g)).powi(2);
    }
    10.0 * (signal / error).log10()
}
