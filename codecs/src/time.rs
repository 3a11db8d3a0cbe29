//! Sample rates, sample counts, and positions in a medium.
//!
//! A count of samples means nothing without its rate, so the two travel together as
//! [`MediaTime`]. Every conversion that can lose something says in its name which way it rounds.
//! All counts are per channel.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use crate::{Error, Result};

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Samples per second and channel, in Hz; from [`SampleRate::MIN_HZ`] to [`SampleRate::MAX_HZ`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampleRate(NonZeroU32);

impl SampleRate {
    /// The lowest rate that is accepted. Nothing intelligible lies below it.
    pub const MIN_HZ: u32 = 1_000;
    /// The highest rate that is accepted; studio gear ends here.
    pub const MAX_HZ: u32 = 384_000;

    /// 8 kHz, the rate of telephones.
    pub const HZ_8000: Self = Self::constant(8_000);
    /// 16 kHz: what speech recognisers take.
    pub const HZ_16000: Self = Self::constant(16_000);
    /// 22.05 kHz: what many speech synthesisers give.
    pub const HZ_22050: Self = Self::constant(22_050);
    /// 24 kHz: what `OpenAI`-compatible clients expect of `pcm`.
    pub const HZ_24000: Self = Self::constant(24_000);
    /// 44.1 kHz: compact disc.
    pub const HZ_44100: Self = Self::constant(44_100);
    /// 48 kHz: Opus and `WebRTC`.
    pub const HZ_48000: Self = Self::constant(48_000);

    const fn constant(hz: u32) -> Self {
        match NonZeroU32::new(hz) {
            Some(hz) => Self(hz),
            None => Self(NonZeroU32::MIN),
        }
    }

    /// A rate of `hz` samples per second.
    ///
    /// # Errors
    /// [`Error::SampleRate`] outside of [`Self::MIN_HZ`]`..=`[`Self::MAX_HZ`].
    pub fn new(hz: u32) -> Result<Self> {
        match NonZeroU32::new(hz) {
            Some(rate) if (Self::MIN_HZ..=Self::MAX_HZ).contains(&hz) => Ok(Self(rate)),
            _ => Err(Error::SampleRate {
                hz: u64::from(hz),
                min: Self::MIN_HZ,
                max: Self::MAX_HZ,
            }),
        }
    }

    /// This rate in Hz; never zero.
    #[must_use]
    pub const fn hz(self) -> u32 {
        self.0.get()
    }

    /// How many samples of this rate fit into `duration`; a begun sample does not count.
    #[must_use]
    pub fn samples_floor(self, duration: Duration) -> Samples {
        let samples = duration.as_nanos() * u128::from(self.hz()) / NANOS_PER_SECOND;
        Samples(u64::try_from(samples).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for SampleRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", self.hz())
    }
}

/// A count of samples per channel. Adding and subtracting saturate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Samples(pub u64);

impl Samples {
    /// No sample.
    pub const ZERO: Self = Self(0);

    /// The count of a slice's samples (mono).
    #[must_use]
    pub fn of(samples: &[f32]) -> Self {
        Self(u64::try_from(samples.len()).unwrap_or(u64::MAX))
    }

    /// The plain number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// This count as a position in a medium of the given rate.
    #[must_use]
    pub const fn at(self, rate: SampleRate) -> MediaTime {
        MediaTime {
            samples: self,
            rate,
        }
    }
}

impl Add for Samples {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Samples {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Samples {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// A position in a medium, or a length of it: a count of samples and the rate they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MediaTime {
    /// Samples from the start.
    pub samples: Samples,
    /// Their rate.
    pub rate: SampleRate,
}

impl MediaTime {
    /// The wall time this lasts, rounded down to a nanosecond.
    #[must_use]
    pub fn duration_floor(self) -> Duration {
        let nanos = u128::from(self.samples.0) * NANOS_PER_SECOND / u128::from(self.rate.hz());
        let seconds = u64::try_from(nanos / NANOS_PER_SECOND).unwrap_or(u64::MAX);
        let rest = u32::try_from(nanos % NANOS_PER_SECOND).unwrap_or(0);
        Duration::new(seconds, rest)
    }

    /// This position in whole milliseconds, rounded down.
    #[must_use]
    pub fn millis_floor(self) -> u64 {
        let millis = u128::from(self.samples.0) * 1000 / u128::from(self.rate.hz());
        u64::try_from(millis).unwrap_or(u64::MAX)
    }

    /// This length in seconds, to the precision of an `f64`; for reports, not for positions.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.duration_floor().as_secs_f64()
    }

    /// The last sample of `rate` that begins at or before this position.
    #[must_use]
    pub fn rescale_floor(self, rate: SampleRate) -> Self {
        let scaled = self.scaled(rate) / u128::from(self.rate.hz());
        Samples(u64::try_from(scaled).unwrap_or(u64::MAX)).at(rate)
    }

    /// The first sample of `rate` that begins at or after this position. A length that is
    /// rescaled so is what a [`Resampler`](crate::audio::Resampler) gives for it.
    #[must_use]
    pub fn rescale_ceil(self, rate: SampleRate) -> Self {
        let scaled = self.scaled(rate).div_ceil(u128::from(self.rate.hz()));
        Samples(u64::try_from(scaled).unwrap_or(u64::MAX)).at(rate)
    }

    fn scaled(self, rate: SampleRate) -> u128 {
        u128::from(self.samples.0) * u128::from(rate.hz())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_outside_the_range_are_named() {
        for hz in [0, 1, 999, 384_001, u32::MAX] {
            let error = SampleRate::new(hz).unwrap_err();
            assert!(error.to_string().contains(&format!("{hz} Hz")), "{error}");
            assert!(error.to_string().contains("1000 to 384000"), "{error}");
        }
        assert_eq!(SampleRate::new(22_050).unwrap(), SampleRate::HZ_22050);
    }

    #[test]
    fn durations_round_down() {
        let third = Samples(8_000).at(SampleRate::HZ_24000);
        assert_eq!(third.duration_floor(), Duration::from_nanos(333_333_333));
        assert_eq!(third.millis_floor(), 333);
        let rate = SampleRate::HZ_24000;
        assert_eq!(
            rate.samples_floor(Duration::from_nanos(333_333_333)).0,
            7_999
        );
        assert_eq!(rate.samples_floor(Duration::from_millis(20)).0, 480);
    }

    #[test]
    fn rescaling_says_which_way_it_rounds() {
        let one = Samples(1).at(SampleRate::HZ_22050);
        assert_eq!(one.rescale_floor(SampleRate::HZ_24000).samples.0, 1);
        assert_eq!(one.rescale_ceil(SampleRate::HZ_24000).samples.0, 2);
        let second = Samples(22_050).at(SampleRate::HZ_22050);
        assert_eq!(second.rescale_floor(SampleRate::HZ_24000).samples.0, 24_000);
        assert_eq!(second.rescale_ceil(SampleRate::HZ_24000).samples.0, 24_000);
    }

    #[test]
    fn extremes_saturate_instead_of_wrapping() {
        assert_eq!(Samples(u64::MAX) + Samples(1), Samples(u64::MAX));
        assert_eq!(Samples(1) - Samples(2), Samples::ZERO);
        let longest = Samples(u64::MAX).at(SampleRate::HZ_16000);
        assert_eq!(
            longest.rescale_ceil(SampleRate::HZ_48000).samples.0,
            u64::MAX
        );
    }
}
