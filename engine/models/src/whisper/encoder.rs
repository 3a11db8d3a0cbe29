//! The half that hears: log-mel frames to states, two frames each.
//!
//! ```text
//! frames ─▶ conv 3 ─▶ gelu ─▶ conv 3, every second ─▶ gelu ─▶ + positions ─▶ layers ─▶ norm
//! ```

use kernels::{Pool, ops};

use super::attention::Heads;
use super::network::EncoderWeights;

/// A place between two operations, for who compares intermediates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// The first or the second convolution, before its GELU.
    Convolution(usize),
    /// What goes into the layer of this index.
    Hidden(usize),
}

impl EncoderWeights {
    /// States `[frames / 2, width]` of log-mel frames `[frames, bins]`; none for no frames, or
    /// more than there are positions for.
    pub(crate) fn run(&self, pool: &Pool, frames: &[f32]) -> Option<Vec<f32>> {
        self.run_watched(pool, frames, &mut |_, _| {})
    }

    pub(super) fn run_watched(
        &self,
        pool: &Pool,
        frames: &[f32],
        watch: &mut dyn FnMut(Point, &[f32]),
    ) -> Option<Vec<f32>> {
        let [first, second] = &self.convolutions;
        let mut x = first.run(pool, &unfold(frames, self.bins, 1));
        watch(Point::Convolution(0), &x);
        ops::gelu(pool, &mut x);
        let mut x = second.run(pool, &unfold(&x, self.width, 2));
        watch(Point::Convolution(1), &x);
        ops::gelu(pool, &mut x);
        let positions = self.positions.get(..x.len()).filter(|p| !p.is_empty())?;
        ops::add(pool, &mut x, positions);
        for (index, layer) in self.layers.iter().enumerate() {
            watch(Point::Hidden(index), &x);
            let normed = layer.norm.run(pool, &x);
            let keys = layer.attention.key.run(pool, &normed);
            let values = layer.attention.value.run(pool, &normed);
            let heads = Heads::new(&keys, &values, self.heads, self.width / self.heads)?;
            let attended = heads.attend(pool, &layer.attention.query.run(pool, &normed));
            ops::add(pool, &mut x, &layer.attention.output.run(pool, &attended));
            let added = layer.mlp.run(pool, &x);
            ops::add(pool, &mut x, &added);
        }
        Some(self.norm.run(pool, &x))
    }
}

/// Three neighbours side by side, around every `stride`-th row of `x` `[rows, width]`; zeros
/// beyond the ends.
fn unfold(x: &[f32], width: usize, stride: usize) -> Vec<f32> {
    let rows = x.len() / width;
    let mut out = vec![0.0; rows.div_ceil(stride) * 3 * width];
    for (index, out) in out.chunks_exact_mut(3 * width).enumerate() {
        let middle = index * stride;
        for (tap, out) in out.chunks_exact_mut(width).enumerate() {
            let row = (middle + tap).checked_sub(1).filter(|&row| row < rows);
            if let Some(row) = row {
                out.copy_from_slice(&x[row * width..(row + 1) * width]);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_stand_side_by_side() {
        let x = [1.0, 2.0, 3.0];
        assert_eq!(
            unfold(&x, 1, 1),
            [0.0, 1.0, 2.0, 1.0, 2.0, 3.0, 2.0, 3.0, 0.0]
        );
        assert_eq!(unfold(&x, 1, 2), [0.0, 1.0, 2.0, 2.0, 3.0, 0.0]);
    }
}
