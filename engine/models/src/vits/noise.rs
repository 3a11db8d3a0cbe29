//! Gaussian noise that depends on nothing but its key.
//!
//! The graph's own random nodes are cut out, and their noise is made here: the same seed gives
//! the same audio, alone or beside other requests, on one thread or on several. The generator is
//! `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014), the
//! shape comes from Box and Muller's transform ("A note on the generation of random normal
//! deviates", 1958).

use std::f64::consts::TAU;

/// Which noise of which utterance; each of them is drawn on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// That of the durations.
    Durations,
    /// That of the frames.
    Frames,
}

/// A stream of standard normal numbers.
pub(super) struct Noise {
    state: u64,
    spare: Option<f32>,
}

impl Noise {
    /// The noise of an utterance, counted from the request's beginning.
    pub(super) fn of(seed: u64, utterance: u64, purpose: Purpose) -> Self {
        let purpose = match purpose {
            Purpose::Durations => 1,
            Purpose::Frames => 2,
        };
        let mut key = Self {
            state: seed,
            spare: None,
        };
        key.state = key.bits() ^ utterance;
        key.state = key.bits() ^ purpose;
        key
    }

    /// The next `count` numbers.
    pub(super) fn take(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.normal()).collect()
    }

    fn normal(&mut self) -> f32 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        // The logarithm needs (0, 1].
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sine, cosine) = (TAU * self.uniform()).sin_cos();
        self.spare = Some(narrow(radius * sine));
        narrow(radius * cosine)
    }

    /// Uniform in `[0, 1)`, 53 bits.
    fn uniform(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
        let bits = (self.bits() >> 11) as f64;
        bits / (1_u64 << 53) as f64
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn narrow(value: f64) -> f32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "normal deviates are small numbers"
    )]
    let value = value as f32;
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_standard_normal() {
        let drawn = Noise::of(7, 0, Purpose::Frames).take(200_000);
        let count = drawn.len() as f64;
        let moment = |power| drawn.iter().map(|&x| f64::from(x).powi(power)).sum::<f64>() / count;
        let moments = [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)];
        for (power, expected) in moments {
            let got = moment(power);
            assert!(
                (got - expected).abs() < 0.06,
                "moment {power}: {got}, expected {expected}"
            );
        }
    }

    #[test]
    fn every_key_has_its_own_noise() {
        let first = |seed, utterance, purpose| Noise::of(seed, utterance, purpose).take(4);
        let base = first(1, 0, Purpose::Durations);
        assert_eq!(base, first(1, 0, Purpose::Durations));
        for other in [
            first(2, 0, Purpose::Durations),
            first(1, 1, Purpose::Durations),
            first(1, 0, Purpose::Frames),
        ] {
            assert_ne!(base, other);
        }
    }
}
