//! From the bytes of a checkpoint to panels.

use super::{
    BLOCK, Bf16, Bytes8, Error, F16, Floats, Format, Matrix, Nibbles, NibblesMin, PANEL, Packed,
};

impl Matrix {
    /// Repacks `bytes`, which are `[rows, cols]` in `format`, wherever they lie: in memory or in a
    /// mapped file. They are not kept.
    ///
    /// # Errors
    /// When the sizes are not possible, or do not go with the number of bytes.
    pub fn new(format: Format, rows: usize, cols: usize, bytes: &[u8]) -> Result<Self, Error> {
        let (columns, size) = format.block();
        if rows == 0 || cols == 0 {
            return Err(Error::Size { rows, cols });
        }
        if !cols.is_multiple_of(columns) {
            return Err(Error::Columns { format, cols });
        }
        let row = (cols / columns).checked_mul(size);
        let expected = row.and_then(|row| row.checked_mul(rows.next_multiple_of(PANEL)));
        let (Some(row), Some(_)) = (row, expected) else {
            return Err(Error::Size { rows, cols });
        };
        if bytes.len() != row * rows {
            return Err(Error::Length {
                format,
                rows,
                cols,
                expected: row * rows,
                given: bytes.len(),
            });
        }
        let packed = match format {
            Format::F32 => Packed::F32(panels(bytes, row, size, Floats([0.0; PANEL]), floats)),
            Format::F16 => Packed::F16(panels(bytes, row, size, F16([0; PANEL]), f16)),
            Format::Bf16 => Packed::Bf16(panels(bytes, row, size, Bf16([0; PANEL]), bf16)),
            Format::Q8_0 => Packed::Q8_0(panels(bytes, row, size, Bytes8::ZERO, q8_0)),
            Format::Q4_0 => Packed::Q4_0(panels(bytes, row, size, Nibbles::ZERO, q4_0)),
            Format::Q4_1 => Packed::Q4_1(panels(bytes, row, size, NibblesMin::ZERO, q4_1)),
        };
        Ok(Self {
            format,
            rows,
            cols,
            packed,
        })
    }

    /// Weights that are numbers already, `[rows, cols]`.
    ///
    /// # Errors
    /// When a size is zero or there are more or fewer numbers.
    pub fn from_f32(rows: usize, cols: usize, weights: &[f32]) -> Result<Self, Error> {
        Self::new(
            Format::F32,
            rows,
            cols,
            &super::encode(Format::F32, weights),
        )
    }
}

/// Cuts rows of `row` bytes into blocks of `size`, and puts each into its panel by `place`.
fn panels<B: Copy>(
    bytes: &[u8],
    row: usize,
    size: usize,
    zero: B,
    place: impl Fn(&[u8], usize, &mut B),
) -> Vec<B> {
    let steps = row / size;
    let mut packed = vec![zero; (bytes.len() / row).div_ceil(PANEL) * steps];
    for (panel, rows) in packed
        .chunks_exact_mut(steps)
        .zip(bytes.chunks(row * PANEL))
    {
        for (lane, row) in rows.chunks_exact(row).enumerate() {
            for (to, from) in panel.iter_mut().zip(row.chunks_exact(size)) {
                place(from, lane, to);
            }
        }
    }
    packed
}

fn floats(from: &[u8], lane: usize, to: &mut Floats) {
    if let Some(&bytes) = from.first_chunk() {
        to.0[lane] = f32::from_le_bytes(bytes);
    }
}

fn f16(from: &[u8], lane: usize, to: &mut F16) {
    to.0[lane] = half(from);
}

fn bf16(from: &[u8], lane: usize, to: &mut Bf16) {
    to.0[lane] = half(from);
}

/// The 16 bits in front.
fn half(from: &[u8]) -> u16 {
    from.first_chunk().map_or(0, |&two| u16::from_le_bytes(two))
}

fn q8_0(from: &[u8], lane: usize, to: &mut Bytes8) {
    to.scales[lane] = half(from);
    for (quants, two) in to.quants.iter_mut().zip(from[2..].chunks_exact(2)) {
        quants[2 * lane] = two[0].cast_signed();
        quants[2 * lane + 1] = two[1].cast_signed();
    }
}

fn q4_0(from: &[u8], lane: usize, to: &mut Nibbles) {
    to.scales[lane] = half(from);
    words(&from[2..], lane, &mut to.quants);
}

fn q4_1(from: &[u8], lane: usize, to: &mut NibblesMin) {
    to.scales[lane] = half(from);
    to.mins[lane] = half(&from[2..]);
    words(&from[4..], lane, &mut to.quants);
}

/// Moves the 32 half bytes of one row to their words.
fn words(from: &[u8], lane: usize, to: &mut [super::Words; BLOCK / 8]) {
    for column in 0..BLOCK {
        let byte = from[column % 16];
        let nibble = if column < 16 { byte & 15 } else { byte >> 4 };
        to[column / 8][2 * lane + column % 2] |= u16::from(nibble) << (4 * (column % 8 / 2));
    }
}

impl Bytes8 {
    const ZERO: Self = Self {
        scales: [0; PANEL],
        quants: [[0; 2 * PANEL]; BLOCK / 2],
    };
}

impl Nibbles {
    const ZERO: Self = Self {
        scales: [0; PANEL],
        quants: [[0; 2 * PANEL]; BLOCK / 8],
    };
}

impl NibblesMin {
    const ZERO: Self = Self {
        scales: [0; PANEL],
        mins: [0; PANEL],
        quants: [[0; 2 * PANEL]; BLOCK / 8],
    };
}
