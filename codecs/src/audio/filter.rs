//! The low-pass behind [`Resampler`](super::Resampler): a Kaiser-windowed sinc, tabulated by phase.
//!
//! `h(t) = c·sinc(c·t) · I₀(β·√(1 − (t/half)²)) / I₀(β)`, with `t` in input samples and `c` the
//! cutoff over the input's Nyquist frequency (Kaiser and Schafer 1980, through Oppenheim and
//! Schafer, *Discrete-Time Signal Processing*, section 7.5.3). Each row of the table is one
//! phase and sums to one, so a constant stays a constant.
//!
//! Where the reduced output rate is small there is a row for every phase and the result is
//! exact. Otherwise neighbouring rows are mixed linearly, which at 1024 rows errs by −116 dB.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::SampleRate;

/// Taps on either side, in samples of the lower rate. 64 leave a transition band of 9 % of the
/// lower rate's Nyquist frequency at 90 dB.
const HALF: usize = 64;
/// Kaiser's β for 90 dB: 0.1102·(90 − 8.7).
const BETA: f64 = 8.96;
/// Width of the transition band over the Nyquist frequency: (90 − 8) / (2.285·2·64·π).
const TRANSITION: f64 = 0.0893;
/// Rows of a table, where all phases would be more.
const MAX_PHASES: usize = 1024;
/// Coefficients of a table: 2 MiB.
const MAX_COEFFICIENTS: usize = 1 << 19;
/// Pairs of rates that are remembered. A server uses a handful.
const MAX_SHARED: usize = 16;

type Pair = (SampleRate, SampleRate);

/// The filters of this process.
static SHARED: Shared = Shared::new();

/// Filters by their rates, the one used longest ago first; at most [`MAX_SHARED`].
struct Shared(Mutex<Vec<(Pair, Arc<Filter>)>>);

impl Shared {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The filter of a pair, made where it is not known.
    fn get(&self, pair: Pair) -> Arc<Filter> {
        if let Some(filter) = self.recall(pair) {
            return filter;
        }
        // Made without the lock: two streams may make the same one, and none waits.
        let made = Arc::new(Filter::new(pair.0, pair.1));
        let mut known = self.0.lock();
        if known.len() >= MAX_SHARED {
            known.remove(0);
        }
        known.push((pair, Arc::clone(&made)));
        made
    }

    fn recall(&self, pair: Pair) -> Option<Arc<Filter>> {
        let mut known = self.0.lock();
        let at = known.iter().position(|(other, _)| *other == pair)?;
        let entry = known.remove(at);
        let filter = Arc::clone(&entry.1);
        known.push(entry);
        Some(filter)
    }
}

/// Coefficients for one pair of rates.
#[derive(Debug)]
pub(super) struct Filter {
    up: usize,
    down: usize,
    half: usize,
    /// Rows before the closing one, which stands at a full input sample.
    phases: usize,
    /// `[phases + 1, 2·half]`
    rows: Vec<f32>,
}

impl Filter {
    /// The filter from one rate to another, made at the first call for a pair.
    pub(super) fn shared(from: SampleRate, to: SampleRate) -> Arc<Self> {
        SHARED.get((from, to))
    }

    fn new(from: SampleRate, to: SampleRate) -> Self {
        let common = gcd(from.hz(), to.hz());
        let (up, down) = ((to.hz() / common) as usize, (from.hz() / common) as usize);
        let stretch = (f64::from(from.hz()) / f64::from(to.hz())).max(1.0);
        // A multiple of four, so that the taps are one of eight.
        let half = (HALF * down).div_ceil(up).max(HALF).next_multiple_of(4);
        let phases = up.min(MAX_PHASES).min(MAX_COEFFICIENTS / (2 * half)).max(1);
        let cutoff = (1.0 - TRANSITION / 2.0) / stretch;
        let mut rows = Vec::with_capacity((phases + 1) * 2 * half);
        for phase in 0..=phases {
            let fraction = ratio(phase, phases);
            push_row(fraction, half, cutoff, &mut rows);
        }
        Self {
            up,
            down,
            half,
            phases,
            rows,
        }
    }

    /// The output rate, reduced: how many phases lie between two inputs.
    pub(super) const fn up(&self) -> usize {
        self.up
    }

    /// The input rate, reduced: how many phases an output advances.
    pub(super) const fn down(&self) -> usize {
        self.down
    }

    /// Inputs on either side of an output.
    pub(super) const fn half(&self) -> usize {
        self.half
    }

    /// Inputs that an output needs.
    pub(super) const fn taps(&self) -> usize {
        2 * self.half
    }

    /// The output at `phase / up` between the two middle ones of `inputs`.
    pub(super) fn apply(&self, phase: usize, inputs: &[f32]) -> f32 {
        if self.phases == self.up {
            return dot(self.row(phase), inputs);
        }
        let scaled = phase * self.phases;
        let row = scaled / self.up;
        let mix = ratio_f32(scaled % self.up, self.up);
        let (low, high) = (dot(self.row(row), inputs), dot(self.row(row + 1), inputs));
        low + mix * (high - low)
    }

    fn row(&self, phase: usize) -> &[f32] {
        &self.rows[phase * self.taps()..(phase + 1) * self.taps()]
    }
}

/// Appends the taps for an output `fraction` of a sample after the middle's first input.
#[expect(
    clippy::cast_possible_truncation,
    reason = "coefficients are within ±1"
)]
fn push_row(fraction: f64, half: usize, cutoff: f64, rows: &mut Vec<f32>) {
    let width = ratio(half, 1);
    let taps: Vec<f64> = (0..2 * half)
        .map(|tap| {
            let t = fraction + ratio(half - 1, 1) - ratio(tap, 1);
            sinc(cutoff * t) * kaiser(t / width)
        })
        .collect();
    let sum: f64 = taps.iter().sum();
    rows.extend(taps.iter().map(|tap| (tap / sum) as f32));
}

/// Eight sums at once, which the compiler turns into vector instructions; the order of the
/// additions is fixed, so the result does not depend on the machine.
fn dot(row: &[f32], inputs: &[f32]) -> f32 {
    let (row, _) = row.as_chunks::<8>();
    let (inputs, _) = inputs.as_chunks::<8>();
    let mut sums = [0.0_f32; 8];
    for (coefficients, samples) in row.iter().zip(inputs) {
        for lane in 0..8 {
            sums[lane] += coefficients[lane] * samples[lane];
        }
    }
    sums.iter().sum()
}

fn sinc(x: f64) -> f64 {
    let x = x * std::f64::consts::PI;
    if x.abs() < 1e-12 { 1.0 } else { x.sin() / x }
}

/// Kaiser's window over `-1..=1`; nothing outside.
fn kaiser(x: f64) -> f64 {
    let inside = 1.0 - x * x;
    if inside <= 0.0 {
        return 0.0;
    }
    bessel_i0(BETA * inside.sqrt()) / bessel_i0(BETA)
}

/// The modified Bessel function of order zero, by its power series.
fn bessel_i0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut term, mut sum) = (1.0, 1.0);
    let mut k = 1.0;
    while term > sum * 1e-17 {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[expect(clippy::cast_precision_loss, reason = "both are far below 2⁵³")]
fn ratio(a: usize, b: usize) -> f64 {
    a as f64 / b as f64
}

#[expect(clippy::cast_possible_truncation, reason = "between 0 and 1")]
fn ratio_f32(a: usize, b: usize) -> f32 {
    ratio(a, b) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bessel_matches_its_table() {
        // Abramowitz and Stegun, table 9.8.
        for (x, expected) in [(0.0, 1.0), (1.0, 1.266_065_878), (5.0, 27.239_871_82)] {
            assert!((bessel_i0(x) - expected).abs() < 1e-8, "{x}");
        }
    }

    #[test]
    fn tables_stay_within_their_bound() {
        let rate = |hz| SampleRate::new(hz).unwrap();
        for (from, to) in [
            (384_000, 1_000),
            (383_999, 1_000),
            (1_000, 383_999),
            (22_050, 48_000),
        ] {
            let filter = Filter::new(rate(from), rate(to));
            assert!(
                filter.rows.len() <= MAX_COEFFICIENTS + filter.taps(),
                "{from} to {to}"
            );
            assert_eq!(filter.taps() % 8, 0);
        }
    }

    #[test]
    fn a_pair_of_rates_is_made_once() {
        let shared = Shared::new();
        let pair = (SampleRate::HZ_22050, SampleRate::HZ_44100);
        assert!(Arc::ptr_eq(&shared.get(pair), &shared.get(pair)));
    }

    #[test]
    fn the_pair_used_longest_ago_is_forgotten_first() {
        let shared = Shared::new();
        let often = (SampleRate::HZ_22050, SampleRate::HZ_24000);
        let kept = shared.get(often);
        for hz in 0..40 {
            let rate = SampleRate::new(8_000 + hz * 100).unwrap();
            shared.get((SampleRate::HZ_48000, rate));
            assert!(Arc::ptr_eq(&kept, &shared.get(often)));
        }
        assert_eq!(shared.0.lock().len(), MAX_SHARED);
    }
}
