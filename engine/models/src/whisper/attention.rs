//! Attention over states that are all there: each row sees every other.
//!
//! Keys and values of a head are made into matrices, so that both products run as fast as any.

use kernels::{Matrix, Pool, matmul, ops};

/// Keys `[rows, size]` and values `[size, rows]` of each head.
pub(super) struct Heads(Vec<(Matrix, Matrix)>);

impl Heads {
    /// Cuts keys and values `[rows, heads * size]` into heads; none where there are no rows.
    pub(super) fn new(keys: &[f32], values: &[f32], heads: usize, size: usize) -> Option<Self> {
        let width = heads * size;
        let rows = keys.len() / width;
        let head = |head: usize| {
            let columns = head * size..(head + 1) * size;
            let own: Vec<f32> = keys
                .chunks_exact(width)
                .flat_map(|row| &row[columns.clone()])
                .copied()
                .collect();
            let turned: Vec<f32> = columns
                .clone()
                .flat_map(|column| values.iter().skip(column).step_by(width))
                .copied()
                .collect();
            let keys = Matrix::from_f32(rows, size, &own).ok()?;
            Some((keys, Matrix::from_f32(size, rows, &turned).ok()?))
        };
        (0..heads).map(head).collect::<Option<_>>().map(Self)
    }

    /// What queries `[rows, heads * size]` get, of the same shape.
    pub(super) fn attend(&self, pool: &Pool, queries: &[f32]) -> Vec<f32> {
        let Some(size) = self.0.first().map(|(keys, _)| keys.cols()) else {
            return Vec::new();
        };
        let width = self.0.len() * size;
        let rows = queries.len() / width;
        #[expect(clippy::cast_precision_loss, reason = "a head's size is exact in f32")]
        let scale = (size as f32).sqrt().recip();
        let mut out = vec![0.0; queries.len()];
        let mut own = vec![0.0; rows * size];
        let mut got = vec![0.0; rows * size];
        for (head, (keys, values)) in self.0.iter().enumerate() {
            let columns = head * size..(head + 1) * size;
            for (own, row) in own.chunks_exact_mut(size).zip(queries.chunks_exact(width)) {
                for (own, query) in own.iter_mut().zip(&row[columns.clone()]) {
                    *own = query * scale;
                }
            }
            let mut scores = vec![0.0; rows * keys.rows()];
            matmul(pool, &own, &[keys], &mut [&mut scores]);
            ops::softmax(pool, &mut scores, keys.rows());
            matmul(pool, &scores, &[values], &mut [&mut got]);
            for (out, got) in out.chunks_exact_mut(width).zip(got.chunks_exact(size)) {
                out[columns.clone()].copy_from_slice(got);
            }
        }
        out
    }
}

/// What one query `[heads * size]` gets from keys and values `[rows, heads * size]` that grow by a
/// row at a time; adds it to `out`, which is zero.
pub(super) fn attend_row(
    query: &[f32],
    keys: &[f32],
    values: &[f32],
    heads: usize,
    out: &mut [f32],
) {
    let width = query.len();
    let size = width / heads;
    #[expect(clippy::cast_precision_loss, reason = "a head's size is exact in f32")]
    let scale = (size as f32).sqrt().recip();
    let rows = keys.len() / width;
    let mut scores = vec![0.0; rows];
    for head in 0..heads {
        let columns = head * size..(head + 1) * size;
        let query = &query[columns.clone()];
        for (score, key) in scores.iter_mut().zip(keys.chunks_exact(width)) {
            *score = dot(query, &key[columns.clone()]) * scale;
        }
        ops::softmax(&super::network::INLINE, &mut scores, rows.max(1));
        let out = &mut out[columns.clone()];
        for (score, value) in scores.iter().zip(values.chunks_exact(width)) {
            for (out, value) in out.iter_mut().zip(&value[columns.clone()]) {
                *out += score * value;
            }
        }
    }
}

/// In eight sums, which a compiler keeps in vector registers.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a
        .remainder()
        .iter()
        .zip(b.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a.zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_at_a_time_and_all_rows_agree() {
        let number = |n: usize| ((n * 37 + 11) % 29) as f32 / 29.0 - 0.5;
        let numbers =
            |from: usize, count: usize| (from..from + count).map(number).collect::<Vec<_>>();
        let (keys, values, queries) = (numbers(0, 5 * 24), numbers(500, 5 * 24), numbers(90, 48));
        let whole = Heads::new(&keys, &values, 2, 12)
            .unwrap()
            .attend(&Pool::new(1), &queries);
        for (query, whole) in queries.chunks_exact(24).zip(whole.chunks_exact(24)) {
            let mut out = vec![0.0; 24];
            attend_row(query, &keys, &values, 2, &mut out);
            for (a, b) in out.iter().zip(whole) {
                assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
        }
        assert!(Heads::new(&[], &[], 2, 12).is_none());
    }
}
