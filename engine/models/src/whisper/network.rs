//! The weights of a model, and their shapes.

use kernels::{Format, Matrix, Pool, matmul, ops};

use crate::dense::weights::{Storage, Tensors};
use crate::dense::{Error, Result};

/// What every norm divides by besides.
const EPSILON: f32 = 1e-5;

/// The sizes of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Mel bands.
    pub(crate) bins: usize,
    /// Width of hidden states.
    pub(crate) width: usize,
    /// Heads of the encoder's attention.
    pub(crate) encoder_heads: usize,
    /// Heads of the decoder's attention.
    pub(crate) decoder_heads: usize,
    /// Width between the two matrices of an encoder's layer.
    pub(crate) encoder_hidden: usize,
    /// Width between the two matrices of a decoder's layer.
    pub(crate) decoder_hidden: usize,
    /// Layers of the encoder.
    pub(crate) encoder_layers: usize,
    /// Layers of the decoder.
    pub(crate) decoder_layers: usize,
    /// Positions of the encoder: two frames each.
    pub(crate) positions: usize,
    /// Positions of the decoder: tokens.
    pub(crate) context: usize,
    /// Tokens.
    pub(crate) vocabulary: usize,
}

/// `y = x w^T + b`.
pub(crate) struct Linear {
    weight: Matrix,
    bias: Option<Vec<f32>>,
}

impl Linear {
    pub(crate) fn new(weight: Matrix, bias: Option<Vec<f32>>) -> Self {
        Self { weight, bias }
    }

    /// `[rows, inputs]` to `[rows, outputs]`.
    pub(crate) fn run(&self, pool: &Pool, x: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.weight.cols();
        let mut y = vec![0.0; rows * self.weight.rows()];
        matmul(pool, x, &[&self.weight], &mut [&mut y]);
        if let Some(bias) = &self.bias {
            for row in y.chunks_exact_mut(bias.len()) {
                ops::add(&INLINE, row, bias);
            }
        }
        y
    }
}

/// For what is too little work for more than one thread.
pub(crate) static INLINE: std::sync::LazyLock<Pool> = std::sync::LazyLock::new(|| Pool::new(1));

/// Centred and scaled rows.
pub(crate) struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Norm {
    pub(crate) fn new(weight: Vec<f32>, bias: Vec<f32>) -> Self {
        Self { weight, bias }
    }

    /// `[rows, width]` to the same.
    pub(crate) fn run(&self, pool: &Pool, x: &[f32]) -> Vec<f32> {
        let mut y = vec![0.0; x.len()];
        ops::layer_norm(pool, x, [&self.weight, &self.bias], EPSILON, &mut y);
        y
    }
}

/// What makes queries, keys and values of states, and states of what was attended to.
pub(crate) struct Attention {
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    pub(crate) output: Linear,
}

/// A layer's two matrices, with a GELU in between.
pub(crate) struct Mlp {
    pub(crate) norm: Norm,
    up: Linear,
    down: Linear,
}

impl Mlp {
    /// What is added to the states `x` `[rows, width]`.
    pub(crate) fn run(&self, pool: &Pool, x: &[f32]) -> Vec<f32> {
        let mut hidden = self.up.run(pool, &self.norm.run(pool, x));
        ops::gelu(pool, &mut hidden);
        self.down.run(pool, &hidden)
    }
}

/// A layer of the encoder.
pub(crate) struct EncoderLayer {
    pub(crate) norm: Norm,
    pub(crate) attention: Attention,
    pub(crate) mlp: Mlp,
}

/// The half that hears.
pub(crate) struct EncoderWeights {
    pub(crate) convolutions: [Linear; 2],
    /// `[positions, width]`.
    pub(crate) positions: Vec<f32>,
    pub(crate) layers: Vec<EncoderLayer>,
    pub(crate) norm: Norm,
    pub(crate) heads: usize,
    pub(crate) width: usize,
    pub(crate) bins: usize,
}

/// A layer of the decoder.
pub(super) struct DecoderLayer {
    pub(super) norm: Norm,
    pub(super) attention: Attention,
    pub(super) cross_norm: Norm,
    pub(super) cross: Attention,
    pub(super) mlp: Mlp,
}

/// The half that writes.
pub(super) struct DecoderWeights {
    /// `[vocabulary, width]`; makes logits, too.
    pub(super) embedding: Matrix,
    /// `[context, width]`.
    pub(super) positions: Vec<f32>,
    pub(super) layers: Vec<DecoderLayer>,
    pub(super) norm: Norm,
    pub(super) heads: usize,
    pub(super) width: usize,
    pub(super) context: usize,
}

/// Where weights are taken from, by names behind a prefix such as `model.encoder.`.
struct From<'a> {
    tensors: &'a Tensors,
    prefix: &'a str,
    /// Matrices in f32 whatever they are stored in: for long inputs the arithmetic counts, for
    /// single tokens the bytes.
    widened: bool,
}

impl EncoderWeights {
    /// # Errors
    /// Where a tensor is missing or of another shape.
    pub(crate) fn load(tensors: &Tensors, prefix: &str, shape: &Shape) -> Result<Self> {
        let from = From {
            tensors,
            prefix,
            widened: true,
        };
        let (width, bins) = (shape.width, shape.bins);
        let layer = |index: usize| {
            let name = |part: &str| format!("layers.{index}.{part}");
            Ok(EncoderLayer {
                norm: from.norm(&name("self_attn_layer_norm"), width)?,
                attention: from.attention(&name("self_attn"), width)?,
                mlp: from.mlp(&name(""), width, shape.encoder_hidden)?,
            })
        };
        Ok(Self {
            convolutions: [
                from.convolution("conv1", width, bins)?,
                from.convolution("conv2", width, width)?,
            ],
            positions: from.numbers("embed_positions.weight", &[shape.positions, width])?,
            layers: (0..shape.encoder_layers)
                .map(layer)
                .collect::<Result<_>>()?,
            norm: from.norm("layer_norm", width)?,
            heads: shape.encoder_heads,
            width,
            bins,
        })
    }
}

impl DecoderWeights {
    /// # Errors
    /// Where a tensor is missing or of another shape.
    pub(super) fn load(tensors: &Tensors, prefix: &str, shape: &Shape) -> Result<Self> {
        let from = From {
            tensors,
            prefix,
            widened: false,
        };
        let width = shape.width;
        let layer = |index: usize| {
            let name = |part: &str| format!("layers.{index}.{part}");
            Ok(DecoderLayer {
                norm: from.norm(&name("self_attn_layer_norm"), width)?,
                attention: from.attention(&name("self_attn"), width)?,
                cross_norm: from.norm(&name("encoder_attn_layer_norm"), width)?,
                cross: from.attention(&name("encoder_attn"), width)?,
                mlp: from.mlp(&name(""), width, shape.decoder_hidden)?,
            })
        };
        Ok(Self {
            embedding: from.matrix("embed_tokens.weight", shape.vocabulary, width)?,
            positions: from.numbers("embed_positions.weight", &[shape.context, width])?,
            layers: (0..shape.decoder_layers)
                .map(layer)
                .collect::<Result<_>>()?,
            norm: from.norm("layer_norm", width)?,
            heads: shape.decoder_heads,
            width,
            context: shape.context,
        })
    }
}

impl From<'_> {
    fn attention(&self, name: &str, width: usize) -> Result<Attention> {
        let linear = |part: &str| self.linear(&format!("{name}.{part}"), width, width, true);
        Ok(Attention {
            query: linear("q_proj")?,
            // A constant in all keys changes no probability: there is none.
            key: self.linear(&format!("{name}.k_proj"), width, width, false)?,
            value: linear("v_proj")?,
            output: linear("out_proj")?,
        })
    }

    fn mlp(&self, name: &str, width: usize, hidden: usize) -> Result<Mlp> {
        Ok(Mlp {
            norm: self.norm(&format!("{name}final_layer_norm"), width)?,
            up: self.linear(&format!("{name}fc1"), hidden, width, true)?,
            down: self.linear(&format!("{name}fc2"), width, hidden, true)?,
        })
    }

    fn norm(&self, name: &str, width: usize) -> Result<Norm> {
        Ok(Norm {
            weight: self.numbers(&format!("{name}.weight"), &[width])?,
            bias: self.numbers(&format!("{name}.bias"), &[width])?,
        })
    }

    fn linear(&self, name: &str, rows: usize, cols: usize, has_bias: bool) -> Result<Linear> {
        let bias = || self.numbers(&format!("{name}.bias"), &[rows]);
        Ok(Linear {
            weight: self.matrix(&format!("{name}.weight"), rows, cols)?,
            bias: has_bias.then(bias).transpose()?,
        })
    }

    /// A convolution over 3 frames, as the matrix that takes them side by side.
    fn convolution(&self, name: &str, outputs: usize, inputs: usize) -> Result<Linear> {
        let full = format!("{name}.weight");
        let weights = self.numbers(&full, &[outputs, inputs, 3])?;
        let mut unfolded = Vec::with_capacity(weights.len());
        for output in weights.chunks_exact(inputs * 3) {
            for tap in 0..3 {
                unfolded.extend(output.iter().skip(tap).step_by(3));
            }
        }
        let weight = Matrix::from_f32(outputs, inputs * 3, &unfolded);
        Ok(Linear {
            weight: weight.map_err(|error| self.malformed(&full, &error))?,
            bias: Some(self.numbers(&format!("{name}.bias"), &[outputs])?),
        })
    }

    fn matrix(&self, name: &str, rows: usize, cols: usize) -> Result<Matrix> {
        let made = if self.widened {
            Matrix::from_f32(rows, cols, &self.numbers(name, &[rows, cols])?)
        } else {
            let (storage, bytes) = self.stored(name, &[rows, cols])?;
            Matrix::new(format_of(storage), rows, cols, bytes.as_ref())
        };
        made.map_err(|error| self.malformed(name, &error))
    }

    /// All numbers of a tensor, in its own order.
    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (storage, bytes) = self.stored(name, shape)?;
        let length = shape.iter().product();
        let row = Matrix::new(format_of(storage), 1, length, bytes.as_ref());
        let mut numbers = vec![0.0; length];
        row.map_err(|error| self.malformed(name, &error))?
            .row(0, &mut numbers);
        Ok(numbers)
    }

    fn stored(
        &self,
        name: &str,
        shape: &[usize],
    ) -> Result<(Storage, crate::dense::weights::Bytes)> {
        self.tensors.get(&format!("{}{name}", self.prefix), shape)
    }

    fn malformed(&self, name: &str, error: &kernels::matrix::Error) -> Error {
        let problem = format!("tensor `{}{name}`: {error}", self.prefix);
        Error::malformed(self.tensors.path(), problem)
    }
}

fn format_of(storage: Storage) -> Format {
    match storage {
        Storage::F32 => Format::F32,
        Storage::F16 => Format::F16,
        Storage::Bf16 => Format::Bf16,
        Storage::Q8_0 => Format::Q8_0,
        Storage::Q4_0 => Format::Q4_0,
        Storage::Q4_1 => Format::Q4_1,
    }
}
