//! The weights of a dense model, as the kernels take them.

use kernels::{Format, Matrix};

use super::checkpoint::Checkpoint;
use super::config::Architecture;
use super::weights::names::{Layout, Part, ROPE_FACTORS, Role};
use super::weights::{Bytes, Storage, Tensors};
use super::{Error, Result};

/// All weights of a model. The kernels keep matrices in an order of their own, in the format of the
/// file, so that the file is read once and not needed afterwards.
pub(super) struct Network {
    pub(super) architecture: Architecture,
    /// `[vocabulary, width]`.
    pub(super) embedding: Matrix,
    /// `[vocabulary, width]`; none where the embedding serves.
    head: Option<Matrix>,
    pub(super) layers: Vec<Layer>,
    /// `[width]`.
    pub(super) final_norm: Vec<f32>,
    /// The angle that each pair of a head turns by per position, `[head_dim / 2]`.
    pub(super) frequencies: Vec<f32>,
    /// What scores are multiplied with: `1 / sqrt(head_dim)`.
    pub(super) scale: f32,
}

/// One block's weights; the shapes are those of [`Part`].
pub(super) struct Layer {
    pub(super) attention_norm: Vec<f32>,
    pub(super) query: Matrix,
    pub(super) key: Matrix,
    pub(super) value: Matrix,
    pub(super) output: Matrix,
    /// Over each query head, and over each key head.
    pub(super) head_norms: Option<[Vec<f32>; 2]>,
    pub(super) mlp_norm: Vec<f32>,
    pub(super) gate: Matrix,
    pub(super) up: Matrix,
    pub(super) down: Matrix,
}

impl Network {
    /// Takes the weights out of a checkpoint, each checked against the architecture.
    pub(super) fn load(checkpoint: &Checkpoint) -> Result<Self> {
        let Checkpoint {
            architecture: shape,
            layout,
            tensors,
            ..
        } = checkpoint;
        let from = From {
            tensors,
            layout: *layout,
        };
        tensors.only(&layout.names(shape), |name| layout.is_aside(name))?;
        let layers = (0..shape.layers).map(|index| from.layer(index, shape));
        let head = |()| from.matrix(Role::Head, shape.vocabulary, shape.width);
        Ok(Self {
            embedding: from.matrix(Role::Embedding, shape.vocabulary, shape.width)?,
            head: (!shape.tied).then_some(()).map(head).transpose()?,
            layers: layers.collect::<Result<_>>()?,
            final_norm: from.vector(Role::FinalNorm, shape.width)?,
            frequencies: from.frequencies(shape)?,
            #[expect(clippy::cast_precision_loss, reason = "a head's size is exact in f32")]
            scale: (shape.head_dim as f32).sqrt().recip(),
            architecture: shape.clone(),
        })
    }

    /// What makes logits of hidden states, `[vocabulary, width]`.
    pub(super) fn head(&self) -> &Matrix {
        self.head.as_ref().unwrap_or(&self.embedding)
    }
}

/// Where weights are taken from.
struct From<'a> {
    tensors: &'a Tensors,
    layout: Layout,
}

impl From<'_> {
    fn layer(&self, index: usize, shape: &Architecture) -> Result<Layer> {
        let (width, hidden, head_dim) = (shape.width, shape.hidden, shape.head_dim);
        let (queries, keys) = (shape.query_width(), shape.kv_width());
        let matrix = |part, rows, cols| self.matrix(Role::Layer(index, part), rows, cols);
        let vector = |part, length| self.vector(Role::Layer(index, part), length);
        let head_norms = match shape.head_norms() {
            true => Some([
                vector(Part::QueryNorm, head_dim)?,
                vector(Part::KeyNorm, head_dim)?,
            ]),
            false => None,
        };
        Ok(Layer {
            attention_norm: vector(Part::AttentionNorm, width)?,
            query: self.turned(Role::Layer(index, Part::Query), shape.heads, shape)?,
            key: self.turned(Role::Layer(index, Part::Key), shape.kv_heads, shape)?,
            value: matrix(Part::Value, keys, width)?,
            output: matrix(Part::Output, width, queries)?,
            head_norms,
            mlp_norm: vector(Part::MlpNorm, width)?,
            gate: matrix(Part::Gate, hidden, width)?,
            up: matrix(Part::Up, hidden, width)?,
            down: matrix(Part::Down, width, hidden)?,
        })
    }

    fn matrix(&self, role: Role, rows: usize, cols: usize) -> Result<Matrix> {
        let name = self.layout.name(role);
        let (storage, bytes) = self.tensors.get(&name, &[rows, cols])?;
        self.made(&name, storage, rows, cols, &bytes)
    }

    /// A matrix of queries or keys. Llama's in GGUF files have the rows of each head in another
    /// order, the two mates of a rotated pair side by side; here the second half of a head are
    /// the mates of the first, as in every other file. Rows are whole blocks, so they can be
    /// moved as they are.
    fn turned(&self, role: Role, heads: usize, shape: &Architecture) -> Result<Matrix> {
        let (rows, cols) = (heads * shape.head_dim, shape.width);
        if self.layout != Layout::Gguf || shape.head_norms() {
            return self.matrix(role, rows, cols);
        }
        let name = self.layout.name(role);
        let (storage, bytes) = self.tensors.get(&name, &[rows, cols])?;
        let bytes = apart(bytes.as_ref(), rows, shape.head_dim);
        self.made(&name, storage, rows, cols, &bytes.into())
    }

    fn made(
        &self,
        name: &str,
        storage: Storage,
        rows: usize,
        cols: usize,
        bytes: &Bytes,
    ) -> Result<Matrix> {
        let format = match storage {
            Storage::F32 => Format::F32,
            Storage::F16 => Format::F16,
            Storage::Bf16 => Format::Bf16,
            Storage::Q8_0 => Format::Q8_0,
            Storage::Q4_0 => Format::Q4_0,
            Storage::Q4_1 => Format::Q4_1,
        };
        Matrix::new(format, rows, cols, bytes.as_ref()).map_err(|error| {
            Error::malformed(self.tensors.path(), format!("tensor `{name}`: {error}"))
        })
    }

    fn vector(&self, role: Role, length: usize) -> Result<Vec<f32>> {
        self.numbers(&self.layout.name(role), length)
    }

    fn numbers(&self, name: &str, length: usize) -> Result<Vec<f32>> {
        let (storage, bytes) = self.tensors.get(name, &[length])?;
        let row = self.made(name, storage, 1, length, &bytes)?;
        let mut numbers = vec![0.0; length];
        row.row(0, &mut numbers);
        Ok(numbers)
    }

    /// The frequencies of the configuration, divided by what a GGUF file says beside it.
    fn frequencies(&self, shape: &Architecture) -> Result<Vec<f32>> {
        let mut frequencies = shape.rope.frequencies(shape.head_dim);
        if self.layout == Layout::Gguf && self.tensors.has(ROPE_FACTORS) {
            let factors = self.numbers(ROPE_FACTORS, frequencies.len())?;
            for (frequency, factor) in frequencies.iter_mut().zip(factors) {
                *frequency /= factor;
            }
        }
        Ok(frequencies)
    }
}

/// The rows of each head with the even ones first, then the odd ones.
fn apart(bytes: &[u8], rows: usize, head_dim: usize) -> Vec<u8> {
    let row_bytes = bytes.len() / rows.max(1);
    let mut moved = Vec::with_capacity(bytes.len());
    for head in bytes.chunks(row_bytes * head_dim) {
        for first in 0..2 {
            for row in head.chunks(row_bytes).skip(first).step_by(2) {
                moved.extend_from_slice(row);
            }
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mates_are_put_apart_head_by_head() {
        // Two heads of four rows of two bytes.
        let rows: Vec<u8> = (0..8).flat_map(|row| [row, row]).collect();
        let moved = apart(&rows, 8, 4);
        let order: Vec<u8> = moved.chunks(2).map(|row| row[0]).collect();
        assert_eq!(order, [0, 2, 1, 3, 4, 6, 5, 7]);
    }
}
