//! Positions as rotations (Su et al. 2021, section 3.2), in the layout of Llama checkpoints on the
//! Hugging Face hub: a head's first half holds one coordinate of each pair, its second half the
//! other.
//!
//! ```text
//! y[i]        = x[i] cos(p f_i) - x[i + d/2] sin(p f_i)
//! y[i + d/2]  = x[i + d/2] cos(p f_i) + x[i] sin(p f_i)
//! ```

use super::by_rows;
use crate::cells::Cells;
use crate::cpu::vectorised;
use crate::pool::Pool;

/// Cosines and sines of the angles of some rows, `[rows, d / 2]`.
#[derive(Clone, Debug, Default)]
pub struct Angles {
    cos: Vec<f32>,
    sin: Vec<f32>,
    half: usize,
}

impl Angles {
    /// The angles `position * frequency` of a row for each position; the product is rounded to
    /// `f32` first, as the reference implementations do. Allocates only where there were fewer
    /// before.
    pub fn set(&mut self, positions: impl IntoIterator<Item = usize>, frequencies: &[f32]) {
        self.half = frequencies.len();
        self.cos.clear();
        self.sin.clear();
        for position in positions {
            for frequency in frequencies {
                #[expect(clippy::cast_precision_loss, reason = "a position is below 2^24")]
                let angle = position as f32 * frequency;
                let (sin, cos) = angle.sin_cos();
                self.cos.push(cos);
                self.sin.push(sin);
            }
        }
    }

    /// Rows that there are angles for.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.cos.len().checked_div(self.half).unwrap_or_default()
    }
}

/// Turns the heads of each row: `x` is `[rows, heads, d]`.
///
/// # Panics
/// When `x` has more or fewer numbers than the rows of angles say.
pub fn rope(pool: &Pool, x: &mut [f32], heads: usize, angles: &Angles) {
    let (rows, half) = (angles.rows(), angles.half);
    let cols = heads * half * 2;
    assert_eq!(
        x.len(),
        rows * cols,
        "{rows} rows of {heads} heads of {}",
        half * 2
    );
    let x = Cells::new(x);
    by_rows(pool, rows, cols, |rows| {
        // SAFETY: a task alone has these rows.
        #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
        let x = unsafe { x.part(rows.start * cols, rows.len() * cols) };
        let range = rows.start * half..rows.end * half;
        turn(
            x,
            heads,
            &angles.cos[range.clone()],
            &angles.sin[range],
            half,
        );
    });
}

vectorised! {
    fn turn(x: &mut [f32], heads: usize, cos: &[f32], sin: &[f32], half: usize) {
        let angles = cos.chunks_exact(half).zip(sin.chunks_exact(half));
        for (row, (cos, sin)) in x.chunks_exact_mut(heads * half * 2).zip(angles) {
            for head in row.chunks_exact_mut(half * 2) {
                let (a, b) = head.split_at_mut(half);
                for ((a, b), (cos, sin)) in a.iter_mut().zip(b).zip(cos.iter().zip(sin)) {
                    (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers;
    use super::*;

    #[test]
    fn a_pair_turns_by_its_angle() {
        let (heads, half) = (3, 5);
        let frequencies: Vec<f32> = (0..half).map(|i| 0.3_f32.powi(i)).collect();
        let half = frequencies.len();
        let positions = [0, 1, 7, 300];
        let pool = Pool::new(2);
        let mut angles = Angles::default();
        angles.set(positions, &frequencies);
        assert_eq!(angles.rows(), positions.len());
        let x = numbers(positions.len() * heads * half * 2, 1);
        let mut y = x.clone();
        rope(&pool, &mut y, heads, &angles);
        for (row, &position) in positions.iter().enumerate() {
            for head in 0..heads {
                for (i, frequency) in frequencies.iter().enumerate() {
                    let at = (row * heads + head) * half * 2 + i;
                    let angle = f64::from(position as f32 * frequency);
                    let (a, b) = (f64::from(x[at]), f64::from(x[at + half]));
                    let expected = [
                        a * angle.cos() - b * angle.sin(),
                        b * angle.cos() + a * angle.sin(),
                    ];
                    for (got, expected) in [y[at], y[at + half]].into_iter().zip(expected) {
                        assert!((f64::from(got) - expected).abs() < 1e-6, "{row} {head} {i}");
                    }
                }
            }
        }
    }
}
