//! Tiles with 256-bit vectors: two for the sixteen rows of a panel.
//!
//! A step of a tile of `M` rows of activations loads two vectors of weights and `M` broadcast
//! activations for `2 M` multiply-adds. Floats are widened by one instruction a vector. Integers
//! are widened to 16 bits and multiplied in pairs of columns: `vpmaddwd` makes 16 products and 8
//! sums, so it does twice the work of a fused multiply-add, and sums of integers have no latency to
//! hide.
//!
//! No closures here: one that is called from a function without these instructions is not inlined,
//! and the sums would live in memory.

use std::arch::x86_64::{
    __m256, __m256i, _mm_load_si128, _mm_loadu_si128, _mm256_add_epi32, _mm256_and_si256,
    _mm256_broadcast_ss, _mm256_castsi256_ps, _mm256_cvtepi8_epi16, _mm256_cvtepi32_ps,
    _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_load_ps, _mm256_loadu_ps,
    _mm256_loadu_si256, _mm256_madd_epi16, _mm256_mul_ps, _mm256_set1_epi16, _mm256_set1_epi32,
    _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_slli_epi32, _mm256_srli_epi16,
    _mm256_storeu_ps, _mm256_sub_epi32,
};

use super::{Bf16, Bytes8, F16, Floats, Input, Lanes, Nibbles, NibblesMin, PANEL, Quantised};
use crate::cpu::prefetch;
use crate::matrix::Words;

/// Bytes from the block in work to the one that is asked for.
const AHEAD: usize = 2_048;

/// Numbers of a vector.
const WIDTH: usize = PANEL / 2;

/// A column of a panel.
pub(super) trait Column: Copy + Sync {
    /// Its weights as numbers.
    ///
    /// # Safety
    /// The processor has AVX2 and F16C.
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn widen(&self) -> [__m256; 2];
}

impl Column for Floats {
    #[inline(always)]
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn widen(&self) -> [__m256; 2] {
        let from = self.0.as_ptr();
        // SAFETY: sixteen numbers, aligned to 64 bytes.
        unsafe { [_mm256_load_ps(from), _mm256_load_ps(from.add(WIDTH))] }
    }
}

impl Column for F16 {
    #[inline(always)]
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn widen(&self) -> [__m256; 2] {
        // SAFETY: as the caller promises.
        unsafe { halves(&self.0) }
    }
}

impl Column for Bf16 {
    #[inline(always)]
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn widen(&self) -> [__m256; 2] {
        let from = self.0.as_ptr();
        // SAFETY: sixteen times two bytes, aligned to 32; the instructions as promised.
        unsafe {
            let low = _mm256_cvtepu16_epi32(_mm_load_si128(from.cast()));
            let high = _mm256_cvtepu16_epi32(_mm_load_si128(from.add(WIDTH).cast()));
            [
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(low)),
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(high)),
            ]
        }
    }
}

/// Sixteen binary16 numbers.
///
/// # Safety
/// The processor has F16C.
#[inline(always)]
#[expect(unsafe_code, reason = "instructions that a processor may lack")]
unsafe fn halves(from: &[u16; PANEL]) -> [__m256; 2] {
    let from = from.as_ptr();
    // SAFETY: sixteen times two bytes; the instructions as promised.
    unsafe {
        [
            _mm256_cvtph_ps(_mm_loadu_si128(from.cast())),
            _mm256_cvtph_ps(_mm_loadu_si128(from.add(WIDTH).cast())),
        ]
    }
}

/// As [`plain::columns`](super::plain::columns).
///
/// # Safety
/// The processor has AVX2, FMA and F16C. From `index * stride` on, `x` has as many numbers as the
/// panel has columns, for each of the `M` indices.
#[target_feature(enable = "avx2,fma,f16c")]
#[expect(unsafe_code, reason = "instructions that a processor may lack")]
pub(super) unsafe fn columns<const M: usize, C: Column>(
    panel: &[C],
    x: &[f32],
    stride: usize,
    tile: &mut [Lanes; M],
) {
    let mut sums = [[_mm256_setzero_ps(); 2]; M];
    for (sums, tile) in sums.iter_mut().zip(tile.iter()) {
        // SAFETY: a row of a tile is two vectors.
        unsafe {
            sums[0] = _mm256_loadu_ps(tile.as_ptr());
            sums[1] = _mm256_loadu_ps(tile.as_ptr().add(WIDTH));
        }
    }
    let x = x.as_ptr();
    for (index, column) in panel.iter().enumerate() {
        // SAFETY: the instructions as promised; a row is as long as the panel.
        unsafe {
            let weights = column.widen();
            for (row, sums) in sums.iter_mut().enumerate() {
                let x = _mm256_broadcast_ss(&*x.add(row * stride + index));
                sums[0] = _mm256_fmadd_ps(weights[0], x, sums[0]);
                sums[1] = _mm256_fmadd_ps(weights[1], x, sums[1]);
            }
        }
    }
    for (tile, sums) in tile.iter_mut().zip(&sums) {
        // SAFETY: a row of a tile is two vectors.
        unsafe { store(sums, tile) };
    }
}

/// # Safety
/// The processor has AVX.
#[inline(always)]
#[expect(unsafe_code, reason = "instructions that a processor may lack")]
unsafe fn store(from: &[__m256; 2], to: &mut Lanes) {
    let to = to.as_mut_ptr();
    // SAFETY: sixteen places; the instructions as promised.
    unsafe {
        _mm256_storeu_ps(to, from[0]);
        _mm256_storeu_ps(to.add(WIDTH), from[1]);
    }
}

/// A block of a panel.
pub(super) trait Block: Copy + Sync {
    /// Two columns, 16 bits each, row by row: pair `PAIR` of the four in a `quarter` of the block.
    ///
    /// # Safety
    /// The processor has AVX2; `PAIR` and `quarter` are below 4.
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn pair<const PAIR: usize>(&self, quarter: usize) -> [__m256i; 2];

    /// Adds `dot` to `out`, in the scale of the weights and that of the activations; `sum` is that
    /// of the activations.
    ///
    /// # Safety
    /// The processor has AVX2, FMA and F16C.
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn add(&self, dot: [__m256i; 2], scale: f32, sum: i32, out: &mut [__m256; 2]);
}

impl Block for Bytes8 {
    #[inline(always)]
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn pair<const PAIR: usize>(&self, quarter: usize) -> [__m256i; 2] {
        // SAFETY: 32 bytes; the instructions as promised.
        unsafe {
            let from = self.quants.as_ptr().add(4 * quarter + PAIR).cast::<i8>();
            [
                _mm256_cvtepi8_epi16(_mm_load_si128(from.cast())),
                _mm256_cvtepi8_epi16(_mm_load_si128(from.add(PANEL).cast())),
            ]
        }
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn add(&self, dot: [__m256i; 2], scale: f32, _: i32, out: &mut [__m256; 2]) {
        // SAFETY: the instructions as promised.
        unsafe { scaled(&self.scales, dot, scale, out) };
    }
}

impl Block for Nibbles {
    #[inline(always)]
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn pair<const PAIR: usize>(&self, quarter: usize) -> [__m256i; 2] {
        // SAFETY: as the caller promises.
        unsafe { nibbles::<PAIR>(self.quants.as_ptr(), quarter) }
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn add(&self, dot: [__m256i; 2], scale: f32, sum: i32, out: &mut [__m256; 2]) {
        // SAFETY: the instructions as promised.
        unsafe {
            let eight = _mm256_set1_epi32(8 * sum);
            let dot = [
                _mm256_sub_epi32(dot[0], eight),
                _mm256_sub_epi32(dot[1], eight),
            ];
            scaled(&self.scales, dot, scale, out);
        }
    }
}

impl Block for NibblesMin {
    #[inline(always)]
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn pair<const PAIR: usize>(&self, quarter: usize) -> [__m256i; 2] {
        // SAFETY: as the caller promises.
        unsafe { nibbles::<PAIR>(self.quants.as_ptr(), quarter) }
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "instructions that a processor may lack")]
    unsafe fn add(&self, dot: [__m256i; 2], scale: f32, sum: i32, out: &mut [__m256; 2]) {
        // SAFETY: the instructions as promised.
        unsafe {
            scaled(&self.scales, dot, scale, out);
            let sum = _mm256_set1_epi32(sum);
            scaled(&self.mins, [sum, sum], scale, out);
        }
    }
}

/// Half bytes of two columns.
///
/// # Safety
/// The processor has AVX2, `quants` has four elements, and `quarter` is below 4.
#[inline(always)]
#[expect(unsafe_code, reason = "instructions that a processor may lack")]
unsafe fn nibbles<const PAIR: usize>(quants: *const Words, quarter: usize) -> [__m256i; 2] {
    // SAFETY: as promised.
    unsafe {
        let from = quants.add(quarter).cast::<u16>();
        let low = _mm256_loadu_si256(from.cast());
        let high = _mm256_loadu_si256(from.add(PANEL).cast());
        let mask = _mm256_set1_epi16(15);
        match PAIR {
            0 => [_mm256_and_si256(low, mask), _mm256_and_si256(high, mask)],
            1 => [
                _mm256_and_si256(_mm256_srli_epi16::<4>(low), mask),
                _mm256_and_si256(_mm256_srli_epi16::<4>(high), mask),
            ],
            2 => [
                _mm256_and_si256(_mm256_srli_epi16::<8>(low), mask),
                _mm256_and_si256(_mm256_srli_epi16::<8>(high), mask),
            ],
            _ => [_mm256_srli_epi16::<12>(low), _mm256_srli_epi16::<12>(high)],
        }
    }
}

/// Adds integers to `out` in both scales.
///
/// # Safety
/// The processor has AVX2, FMA and F16C.
#[inline(always)]
#[expect(unsafe_code, reason = "instructions that a processor may lack")]
unsafe fn scaled(weights: &[u16; PANEL], dot: [__m256i; 2], scale: f32, out: &mut [__m256; 2]) {
    // SAFETY: the instructions as promised.
    unsafe {
        let weights = halves(weights);
        let scale = _mm256_set1_ps(scale);
        for ((out, dot), weights) in out.iter_mut().zip(dot).zip(weights) {
            *out = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_mul_ps(weights, scale), *out);
        }
    }
}

/// As [`plain::blocks`](super::plain::blocks).
///
/// # Safety
/// The processor has AVX2, FMA and F16C. The input has `M` quantised rows from `row` on, of as many
/// blocks as the panel.
#[target_feature(enable = "avx2,fma,f16c")]
#[expect(unsafe_code, reason = "instructions that a processor may lack")]
pub(super) unsafe fn blocks<const M: usize, B: Block>(
    panel: &[B],
    input: &Input<'_>,
    row: usize,
) -> [Lanes; M] {
    let mut x = [Quantised::NONE; M];
    for (index, x) in x.iter_mut().enumerate() {
        *x = input.quantised(row + index);
    }
    let mut out = [[_mm256_setzero_ps(); 2]; M];
    for (index, block) in panel.iter().enumerate() {
        let mut dots = [[_mm256_setzero_si256(); 2]; M];
        // SAFETY: the instructions as promised; a row has as many blocks as the panel, and a block
        // four quarters of four pairs.
        unsafe {
            if row == 0 {
                // The rows that follow find the panel in a cache.
                prefetch(std::ptr::from_ref(block).wrapping_byte_add(AHEAD));
            }
            for quarter in 0..4 {
                let at = (index, quarter);
                multiply::<M>(block.pair::<0>(quarter), &x, at, 0, &mut dots);
                multiply::<M>(block.pair::<1>(quarter), &x, at, 1, &mut dots);
                multiply::<M>(block.pair::<2>(quarter), &x, at, 2, &mut dots);
                multiply::<M>(block.pair::<3>(quarter), &x, at, 3, &mut dots);
            }
            for ((out, dots), x) in out.iter_mut().zip(dots).zip(&x) {
                let (scale, sum) = (x.scales.as_ptr().add(index), x.sums.as_ptr().add(index));
                block.add(dots, *scale, *sum, out);
            }
        }
    }
    let mut tile = [[0.0; PANEL]; M];
    for (tile, out) in tile.iter_mut().zip(&out) {
        // SAFETY: a row of a tile is two vectors.
        unsafe { store(out, tile) };
    }
    tile
}

/// Adds the products of a pair of columns with the activations of each row.
///
/// # Safety
/// The processor has AVX2; rows have a block at `block`; `quarter` and `pair` are below 4.
#[inline(always)]
#[expect(unsafe_code, reason = "instructions that a processor may lack")]
unsafe fn multiply<const M: usize>(
    weights: [__m256i; 2],
    x: &[Quantised<'_>; M],
    (block, quarter): (usize, usize),
    pair: usize,
    dots: &mut [[__m256i; 2]; M],
) {
    for (dots, x) in dots.iter_mut().zip(x) {
        // SAFETY: as promised: a block has 16 pairs of 16-bit numbers.
        unsafe {
            let x = x.values.as_ptr().add(block).cast::<i32>();
            let x = _mm256_set1_epi32(x.add(4 * quarter + pair).read_unaligned());
            dots[0] = _mm256_add_epi32(dots[0], _mm256_madd_epi16(weights[0], x));
            dots[1] = _mm256_add_epi32(dots[1], _mm256_madd_epi16(weights[1], x));
        }
    }
}
