//! Convolution along time, `f32`, one batch.
//!
//! ```text
//! out[o][t * stride + offset] = bias[o] + more[o][...] + sum over i, k of  w[o][i][k] * x[i][t + k * dilation]
//! ```
//!
//! Channels are rows, time runs along a row. `x` starts where the first window starts, so that
//! padding is the caller's: rows lie in a buffer with zeros before and behind them. With a stride
//! in the output the same loop serves as one phase of a transposed convolution.
//!
//! It is computed directly, without an unfolded copy of the input: a tile of [`OUT`] channels by
//! [`TIME`] samples stays in twelve vector registers while all inputs pass by, each step loading
//! three vectors and four single weights for twelve multiply-adds. With the few channels of a
//! vocoder's last levels (32 to 128) unfolding costs about as much as the product itself.
//!
//! Bound by arithmetic. Measured by `examples/conv1d.rs` on one shared core of an AMD EPYC (Zen 3,
//! 2.45 GHz, at most 78 GFLOP/s): 128 channels 68, 64 channels 55, 32 channels 42 to 52 GFLOP/s at
//! kernel 7, and 30 at kernel 3, where writing a tile counts for more.

/// Output channels of a tile.
pub const OUT: usize = 4;

/// Samples of a tile: two vectors of eight.
pub const TIME: usize = 16;

/// Samples that must be readable behind the last window: a tile is read as a whole.
pub const SLACK: usize = TIME;

/// Channels to read: `row` starts a row each.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// All rows; row `i` starts at `i * row`.
    pub data: &'a [f32],
    /// From one row's first sample to the next one's.
    pub row: usize,
}

/// Channels to write.
#[derive(Debug)]
pub struct RowsMut<'a> {
    /// All rows; row `i` starts at `i * row`.
    pub data: &'a mut [f32],
    /// From one row's first sample to the next one's.
    pub row: usize,
    /// Where in its row the first sample goes.
    pub offset: usize,
    /// From one sample of the convolution to the next one's place, at least 1.
    pub stride: usize,
}

/// The weights of a convolution, packed for the tiles.
#[derive(Clone, Debug)]
pub struct Conv1d {
    /// `[out / OUT][in][kernel][OUT]`, the last block filled up with zeros.
    packed: Vec<f32>,
    /// By block.
    bias: Vec<[f32; OUT]>,
    inputs: usize,
    outputs: usize,
    kernel: usize,
    dilation: usize,
    fast: bool,
}

impl Conv1d {
    /// Packs weights `[outputs, inputs, kernel]`; none if there are more or fewer of them, or of
    /// the bias, or if a size is zero.
    #[must_use]
    pub fn new(
        weights: &[f32],
        bias: Option<&[f32]>,
        [outputs, inputs, kernel]: [usize; 3],
        dilation: usize,
    ) -> Option<Self> {
        let fits = weights.len() == outputs * inputs * kernel
            && bias.is_none_or(|bias| bias.len() == outputs)
            && outputs * inputs * kernel * dilation > 0;
        if !fits {
            return None;
        }
        let blocks = outputs.div_ceil(OUT);
        let mut packed = vec![0.0; blocks * inputs * kernel * OUT];
        for output in 0..outputs {
            for tap in 0..inputs * kernel {
                let place = (output / OUT * inputs * kernel + tap) * OUT + output % OUT;
                packed[place] = weights[output * inputs * kernel + tap];
            }
        }
        let bias: Vec<[f32; OUT]> = (0..blocks)
            .map(|block| {
                let of = |channel| {
                    bias.and_then(|bias| bias.get(block * OUT + channel))
                        .copied()
                };
                std::array::from_fn(|channel| of(channel).unwrap_or(0.0))
            })
            .collect();
        Some(Self {
            packed,
            bias,
            inputs,
            outputs,
            kernel,
            dilation,
            fast: has_avx2(),
        })
    }

    /// Output channels.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Input channels.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Samples that a window covers.
    #[must_use]
    pub fn span(&self) -> usize {
        (self.kernel - 1) * self.dilation + 1
    }

    /// Computes `count` samples of the output channels from `first` on, as many as `out` has
    /// rows. `more` is added, row by row and laid out as the output.
    ///
    /// `first` is a multiple of [`OUT`].
    ///
    /// # Panics
    /// When a buffer is too small for what is asked: the caller's mistake.
    pub fn run(
        &self,
        x: Rows<'_>,
        count: usize,
        first: usize,
        mut out: RowsMut<'_>,
        more: Option<Rows<'_>>,
    ) {
        if count == 0 {
            return;
        }
        let read = (self.inputs - 1) * x.row + count.next_multiple_of(TIME) + self.span() - 1;
        assert!(
            x.data.len() >= read,
            "{} samples to read, {read} needed",
            x.data.len()
        );
        assert!(
            first.is_multiple_of(OUT) && out.stride > 0,
            "a block starts at {first}"
        );
        let rows = out
            .data
            .len()
            .div_ceil(out.row.max(1))
            .min(self.outputs - first.min(self.outputs));
        // A strip of the input stays in the cache while all blocks of outputs pass over it.
        let strip = strip(self.inputs, self.span());
        let mut start = 0;
        while start < count {
            let end = (start + strip).min(count);
            for block in (0..rows).step_by(OUT) {
                let channels = OUT.min(rows - block);
                for time in (start..end).step_by(TIME) {
                    let tile = self.tile((first + block) / OUT, &x.data[time..], x.row);
                    let samples = TIME.min(end - time);
                    write(&tile, channels, samples, block, time, &mut out, more);
                }
            }
            start = end;
        }
    }

    /// One tile, row by row.
    fn tile(&self, block: usize, x: &[f32], row: usize) -> [f32; OUT * TIME] {
        let taps = self.inputs * self.kernel * OUT;
        let weights = &self.packed[block * taps..(block + 1) * taps];
        let bias = &self.bias[block];
        let mut tile = [0.0; OUT * TIME];
        let shape = Taps {
            inputs: self.inputs,
            kernel: self.kernel,
            dilation: self.dilation,
            row,
        };
        #[cfg(target_arch = "x86_64")]
        if self.fast {
            let furthest = (self.inputs - 1) * row + (self.kernel - 1) * self.dilation + TIME;
            assert!(x.len() >= furthest && weights.len() == taps);
            // SAFETY: AVX2 and FMA are there, `fast` says so. All reads stay within the slices:
            // the furthest one was checked in the line above.
            #[expect(unsafe_code, reason = "instructions that a processor may lack")]
            unsafe {
                avx2::tile(&shape, x, weights, bias, &mut tile);
            }
            return tile;
        }
        plain(&shape, x, weights, bias, &mut tile);
        tile
    }
}

struct Taps {
    inputs: usize,
    kernel: usize,
    dilation: usize,
    row: usize,
}

/// A multiple of the tile that keeps the strip's input at about half of a first-level cache of
/// 32 KB, or at four tiles where there are too many channels for that.
fn strip(inputs: usize, span: usize) -> usize {
    let room = (16 << 10) / 4 / inputs;
    (room.saturating_sub(span) / TIME).clamp(4, 64) * TIME
}

fn write(
    tile: &[f32; OUT * TIME],
    channels: usize,
    samples: usize,
    block: usize,
    time: usize,
    out: &mut RowsMut<'_>,
    more: Option<Rows<'_>>,
) {
    for (channel, from) in tile.chunks_exact(TIME).take(channels).enumerate() {
        let from = &from[..samples];
        let start = (block + channel) * out.row + out.offset + time * out.stride;
        if out.stride > 1 {
            let places = out.data[start..].iter_mut().step_by(out.stride);
            places
                .zip(from)
                .for_each(|(place, &sample)| *place = sample);
            continue;
        }
        if let (Some(to), Some(from)) = (
            out.data
                .get_mut(start..)
                .and_then(|to| to.first_chunk_mut::<TIME>()),
            from.first_chunk::<TIME>(),
        ) {
            // A whole tile, whose size the compiler knows.
            *to = *from;
            if let Some(more) = more {
                let start = (block + channel) * more.row + out.offset + time;
                to.iter_mut()
                    .zip(&more.data[start..start + TIME])
                    .for_each(|(to, a)| *to += a);
            }
            continue;
        }
        let to = &mut out.data[start..start + samples];
        match more {
            Some(more) => {
                let start = (block + channel) * more.row + out.offset + time;
                let more = &more.data[start..start + samples];
                to.iter_mut()
                    .zip(from)
                    .zip(more)
                    .for_each(|((to, a), b)| *to = a + b);
            }
            None => to.copy_from_slice(from),
        }
    }
}

/// What a tile is, in ordinary arithmetic.
fn plain(
    shape: &Taps,
    x: &[f32],
    weights: &[f32],
    bias: &[f32; OUT],
    tile: &mut [f32; OUT * TIME],
) {
    for (out, &bias) in tile.chunks_exact_mut(TIME).zip(bias) {
        out.fill(bias);
    }
    let mut weights = weights.chunks_exact(OUT);
    for input in 0..shape.inputs {
        for tap in 0..shape.kernel {
            let start = input * shape.row + tap * shape.dilation;
            let x = &x[start..start + TIME];
            let weights = weights.next().unwrap_or_default();
            for (out, &weight) in tile.chunks_exact_mut(TIME).zip(weights) {
                out.iter_mut()
                    .zip(x)
                    .for_each(|(out, x)| *out += weight * x);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! The tile with 256-bit vectors and fused multiply-adds.

    use std::arch::x86_64::{
        __m256, _mm256_broadcast_ss, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps,
        _mm256_setzero_ps, _mm256_storeu_ps,
    };

    use super::{OUT, TIME, Taps};

    const LANES: usize = 8;
    const VECTORS: usize = TIME / LANES;

    /// As [`plain`](super::plain).
    ///
    /// # Safety
    /// The processor has AVX2 and FMA. `x` holds `TIME` samples from `(inputs - 1) * row +
    /// (kernel - 1) * dilation` on, `weights` holds `inputs * kernel * OUT`.
    #[target_feature(enable = "avx2,fma")]
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    pub(super) unsafe fn tile(
        shape: &Taps,
        x: &[f32],
        weights: &[f32],
        bias: &[f32; OUT],
        tile: &mut [f32; OUT * TIME],
    ) {
        // No closures here: one that is called from a function without these instructions is not
        // inlined, and the sums would live in memory.
        let mut sums: [[__m256; VECTORS]; OUT] = [[_mm256_setzero_ps(); VECTORS]; OUT];
        for (sums, &bias) in sums.iter_mut().zip(bias) {
            *sums = [_mm256_set1_ps(bias); VECTORS];
        }
        let mut weight = weights.as_ptr();
        for input in 0..shape.inputs {
            for tap in 0..shape.kernel {
                let start = input * shape.row + tap * shape.dilation;
                // SAFETY: the caller promises that `TIME` samples are readable from here, and
                // `OUT` weights for each of the `inputs * kernel` steps.
                unsafe {
                    let x = x.as_ptr().add(start);
                    let x: [__m256; VECTORS] = [_mm256_loadu_ps(x), _mm256_loadu_ps(x.add(LANES))];
                    for (channel, sums) in sums.iter_mut().enumerate() {
                        let weight = _mm256_broadcast_ss(&*weight.add(channel));
                        for (sum, &x) in sums.iter_mut().zip(&x) {
                            *sum = _mm256_fmadd_ps(weight, x, *sum);
                        }
                    }
                    weight = weight.add(OUT);
                }
            }
        }
        for (row, sums) in tile.chunks_exact_mut(TIME).zip(&sums) {
            for (place, &sum) in row.chunks_exact_mut(LANES).zip(sums) {
                // SAFETY: the place holds `LANES` samples.
                unsafe { _mm256_storeu_ps(place.as_mut_ptr(), sum) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern, between -1 and 1.
    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            f32::from(u16::try_from(state >> 48).unwrap()) / 32_768.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// The formula above, in `f64`.
    fn reference(
        weights: &[f32],
        bias: &[f32],
        [outputs, inputs, kernel]: [usize; 3],
        dilation: usize,
        x: &Rows<'_>,
        count: usize,
    ) -> Vec<f64> {
        let mut out = Vec::new();
        for o in 0..outputs {
            for t in 0..count {
                let mut sum = f64::from(bias[o]);
                for i in 0..inputs {
                    for k in 0..kernel {
                        let weight = f64::from(weights[(o * inputs + i) * kernel + k]);
                        sum += weight * f64::from(x.data[i * x.row + t + k * dilation]);
                    }
                }
                out.push(sum);
            }
        }
        out
    }

    #[test]
    fn tiles_add_up_to_the_formula() {
        let shapes = [
            ([1, 1, 1], 1, 1),
            ([1, 32, 7], 1, 100),
            ([4, 3, 3], 2, 24),
            ([5, 2, 5], 6, 23),
            ([32, 32, 7], 12, 700),
            ([7, 130, 3], 1, 49),
            ([64, 64, 2], 1, 25),
        ];
        for (shape, dilation, count) in shapes {
            let [outputs, inputs, kernel] = shape;
            let weights = numbers(outputs * inputs * kernel, 3);
            let bias = numbers(outputs, 5);
            let row = count + (kernel - 1) * dilation + SLACK;
            let x = numbers(inputs * row, 7);
            let x = Rows { data: &x, row };
            let expected = reference(&weights, &bias, shape, dilation, &x, count);
            let mut conv = Conv1d::new(&weights, Some(&bias), shape, dilation).unwrap();
            let detected = conv.fast;
            for fast in [false, detected] {
                conv.fast = fast;
                let more = numbers(outputs * count, 11);
                let mut out = vec![f32::NAN; outputs * count];
                let places = RowsMut {
                    data: &mut out,
                    row: count,
                    offset: 0,
                    stride: 1,
                };
                conv.run(
                    x,
                    count,
                    0,
                    places,
                    Some(Rows {
                        data: &more,
                        row: count,
                    }),
                );
                // Rounding of a sum of n products of numbers below 1: n steps of 2^-24 each.
                let bound = 1e-7 * (inputs * kernel) as f64 + 1e-6;
                for (index, (&got, (&sum, &more))) in
                    out.iter().zip(expected.iter().zip(&more)).enumerate()
                {
                    let expected = sum + f64::from(more);
                    assert!(
                        (f64::from(got) - expected).abs() <= bound,
                        "{shape:?}, fast {fast}, {index}: {got}, expected {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_stride_leaves_the_samples_between_alone() {
        let conv = Conv1d::new(&[1.0, 2.0], None, [2, 1, 1], 1).unwrap();
        let mut x: Vec<f32> = (0_u8..30).map(f32::from).collect();
        x.resize(30 + SLACK, 0.0);
        let mut out = vec![-1.0; 2 * 90];
        let places = RowsMut {
            data: &mut out,
            row: 90,
            offset: 1,
            stride: 3,
        };
        conv.run(
            Rows {
                data: &x,
                row: x.len(),
            },
            30,
            0,
            places,
            None,
        );
        for (index, &sample) in out.iter().enumerate() {
            let (channel, time) = (index / 90, index % 90);
            let expected = if time % 3 == 1 {
                x[time / 3] * [1.0, 2.0][channel]
            } else {
                -1.0
            };
            assert!(
                (sample - expected).abs() < 1e-6,
                "{index}: {sample}, expected {expected}"
            );
        }
    }

    #[test]
    fn blocks_of_outputs_are_independent() {
        let shape = [12, 8, 3];
        let weights = numbers(12 * 8 * 3, 1);
        let conv = Conv1d::new(&weights, None, shape, 1).unwrap();
        let row = 50 + 2 + SLACK;
        let x = numbers(8 * row, 2);
        let x = Rows { data: &x, row };
        let mut whole = vec![0.0; 12 * 50];
        conv.run(
            x,
            50,
            0,
            RowsMut {
                data: &mut whole,
                row: 50,
                offset: 0,
                stride: 1,
            },
            None,
        );
        let mut parts = vec![0.0; 12 * 50];
        let (a, b) = parts.split_at_mut(8 * 50);
        conv.run(
            x,
            50,
            0,
            RowsMut {
                data: a,
                row: 50,
                offset: 0,
                stride: 1,
            },
            None,
        );
        conv.run(
            x,
            50,
            8,
            RowsMut {
                data: b,
                row: 50,
                offset: 0,
                stride: 1,
            },
            None,
        );
        assert_eq!(whole, parts);
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        assert!(Conv1d::new(&[0.0; 5], None, [1, 2, 3], 1).is_none());
        assert!(Conv1d::new(&[0.0; 6], Some(&[0.0; 2]), [1, 2, 3], 1).is_none());
        assert!(Conv1d::new(&[], None, [0, 2, 3], 1).is_none());
    }
}
