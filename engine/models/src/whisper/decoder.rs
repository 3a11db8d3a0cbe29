//! The half that writes: tokens to logits, one after the other, with the states in view.
//!
//! All members' tokens go through each matrix together; each attends to its own past and to its
//! own states.

use kernels::{Pool, matmul, ops};

use super::attention::{Heads, attend_row};
use super::network::{DecoderWeights, INLINE};

/// What was read of one window: keys and values of the states, and of the tokens so far.
pub(super) struct Memory {
    cross: Vec<Heads>,
    /// For each layer, `[tokens, width]`.
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
    tokens: usize,
}

impl Memory {
    /// The same window, with no token read yet.
    pub(super) fn emptied(mut self) -> Self {
        self.keys.iter_mut().for_each(Vec::clear);
        self.values.iter_mut().for_each(Vec::clear);
        self.tokens = 0;
        self
    }

    /// Tokens read so far.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.tokens
    }
}

/// A place between two operations, for who compares intermediates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hidden(pub(super) usize);

/// One request's part of a step.
pub(super) struct Part<'a> {
    pub(super) memory: &'a mut Memory,
    /// At least one.
    pub(super) tokens: &'a [u32],
}

impl DecoderWeights {
    /// Makes ready for a window's states `[rows, width]`; none where there are none.
    pub(super) fn open(&self, pool: &Pool, states: &[f32]) -> Option<Memory> {
        let size = self.width / self.heads;
        let cross = self.layers.iter().map(|layer| {
            let keys = layer.cross.key.run(pool, states);
            let values = layer.cross.value.run(pool, states);
            Heads::new(&keys, &values, self.heads, size)
        });
        Some(Memory {
            cross: cross.collect::<Option<_>>()?,
            keys: vec![Vec::new(); self.layers.len()],
            values: vec![Vec::new(); self.layers.len()],
            tokens: 0,
        })
    }

    /// Reads each part's tokens and gives the logits behind every one of them,
    /// `[tokens, vocabulary]` where `all`, else behind each part's last, `[parts, vocabulary]`.
    ///
    /// Tokens beyond the vocabulary or the context are the caller's mistake: they read as zeros.
    pub(super) fn run(
        &self,
        pool: &Pool,
        parts: &mut [Part<'_>],
        all: bool,
        watch: &mut dyn FnMut(Hidden, &[f32]),
    ) -> Vec<f32> {
        let mut x = self.embed(parts);
        let width = self.width;
        for (index, layer) in self.layers.iter().enumerate() {
            watch(Hidden(index), &x);
            let normed = layer.norm.run(pool, &x);
            let queries = layer.attention.query.run(pool, &normed);
            let keys = layer.attention.key.run(pool, &normed);
            let values = layer.attention.value.run(pool, &normed);
            let mut attended = vec![0.0; x.len()];
            let mut at = 0;
            for part in parts.iter_mut() {
                let (own_keys, own_values) =
                    (&mut part.memory.keys[index], &mut part.memory.values[index]);
                for _ in part.tokens {
                    let row = at..at + width;
                    own_keys.extend_from_slice(&keys[row.clone()]);
                    own_values.extend_from_slice(&values[row.clone()]);
                    let out = &mut attended[row.clone()];
                    attend_row(&queries[row], own_keys, own_values, self.heads, out);
                    at += width;
                }
            }
            ops::add(pool, &mut x, &layer.attention.output.run(pool, &attended));
            let queries = layer.cross.query.run(pool, &layer.cross_norm.run(pool, &x));
            let mut attended = Vec::with_capacity(x.len());
            let mut at = 0;
            for part in parts.iter() {
                let rows = at..at + part.tokens.len() * width;
                at = rows.end;
                let heads = &part.memory.cross[index];
                attended.extend(heads.attend(pool, &queries[rows]));
            }
            ops::add(pool, &mut x, &layer.cross.output.run(pool, &attended));
            let added = layer.mlp.run(pool, &x);
            ops::add(pool, &mut x, &added);
        }
        for part in parts.iter_mut() {
            part.memory.tokens += part.tokens.len();
        }
        let x = self.norm.run(pool, &x);
        watch(Hidden(self.layers.len()), &x);
        let wanted = if all { x } else { last_rows(&x, parts, width) };
        let mut logits = vec![0.0; wanted.len() / width * self.embedding.rows()];
        matmul(pool, &wanted, &[&self.embedding], &mut [&mut logits]);
        logits
    }

    fn embed(&self, parts: &[Part<'_>]) -> Vec<f32> {
        let count: usize = parts.iter().map(|part| part.tokens.len()).sum();
        let mut x = vec![0.0; count * self.width];
        let mut rows = x.chunks_exact_mut(self.width);
        for part in parts {
            for (index, &token) in part.tokens.iter().enumerate() {
                let Some(row) = rows.next() else { break };
                let start = (part.memory.tokens + index) * self.width;
                let position = self.positions.get(start..start + self.width);
                if let Some(position) = position
                    && (token as usize) < self.embedding.rows()
                {
                    self.embedding.row(token as usize, row);
                    ops::add(&INLINE, row, position);
                }
            }
        }
        x
    }
}

fn last_rows(x: &[f32], parts: &[Part<'_>], width: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(parts.len() * width);
    let mut end = 0;
    for part in parts {
        end += part.tokens.len() * width;
        out.extend_from_slice(&x[end - width..end]);
    }
    out
}
