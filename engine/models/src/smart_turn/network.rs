//! The arithmetic of Smart Turn v3.2.
//!
//! ```text
//! the last 8 s of what was said, silence before it where there is less
//!   ─▶ centred, scaled to a variance of one ─▶ log-mel frames [800, 80]
//!   ─▶ Whisper's encoder of the smallest size, four layers        [400, 384]
//!   ─▶ which states count: 256, tanh ─▶ 1, softmax ─▶ their weighted sum      [384]
//!   ─▶ 256, norm, gelu ─▶ 64, gelu ─▶ 1, sigmoid: the probability
//! ```
//!
//! The file holds weights of 8 bits, and rounds what flows between them to 8 bits too, which gives other
//! answers on other processors. Here the weights are what their bits say, and nothing is rounded.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use kernels::{Matrix, Pool, ops};
use rten_onnx::onnx::NodeProto;

use crate::dense::weights::{Bytes, Storage, Stored, Tensors};
use crate::onnx::{Error, Onnx, Result, operator};
use crate::whisper::mel::{HOP, Mel};
use crate::whisper::network::{EncoderWeights, INLINE, Linear, Norm, Shape};

/// Samples per second that the network hears.
pub(super) const RATE: u32 = 16_000;
/// Samples that it hears at once: 8 s.
pub(super) const HEARD: usize = 8 * RATE as usize;
const FRAMES: usize = HEARD / HOP;
const BINS: usize = 80;
const WIDTH: usize = 384;
const LAYERS: usize = 4;
const HIDDEN: usize = 1_536;
const POOLED: usize = 256;
const LAST: usize = 64;
/// What the variance is kept above.
const QUIET: f64 = 1e-7;
/// What names in the file begin with.
const PREFIX: &str = "inner.";

/// The weights.
pub(super) struct Network {
    mel: Mel,
    encoder: EncoderWeights,
    /// Which states count.
    attention: [Linear; 2],
    classifier: [Linear; 3],
    norm: Norm,
}

/// What was made of a recording.
#[derive(Debug)]
pub(super) struct Judgement {
    /// How likely it is that who spoke is done, 0 to 1.
    pub(super) probability: f32,
    /// The weighted sum of the states, `[384]`.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests look at it"))]
    pub(super) pooled: Vec<f32>,
}

impl Network {
    /// The weights in the published ONNX file.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let file = File(Onnx::read(path)?);
        let shape = Shape {
            bins: BINS,
            width: WIDTH,
            encoder_heads: WIDTH / 64,
            decoder_heads: 0,
            encoder_hidden: HIDDEN,
            decoder_hidden: 0,
            encoder_layers: LAYERS,
            decoder_layers: 0,
            positions: FRAMES / 2,
            context: 0,
            vocabulary: 0,
        };
        let tensors = Tensors::new(path, file.encoder()?);
        let encoder = EncoderWeights::load(&tensors, "", &shape).map_err(|error| {
            let name = format!("{PREFIX}encoder");
            let problem = error.to_string();
            Error::NoWeight { name, problem }
        })?;
        Ok(Self {
            mel: Mel::new(BINS),
            encoder,
            attention: [
                file.linear("pool_attention.0", POOLED, WIDTH)?,
                file.linear("pool_attention.2", 1, POOLED)?,
            ],
            classifier: [
                file.gemm("classifier.0", POOLED, WIDTH)?,
                file.gemm("classifier.4", LAST, POOLED)?,
                file.gemm("classifier.6", 1, LAST)?,
            ],
            norm: Norm::new(
                file.numbers("classifier.1.weight", &[POOLED])?,
                file.numbers("classifier.1.bias", &[POOLED])?,
            ),
        })
    }

    /// Judges a recording by its last 8 s; none where it has no sample, or one that is no number.
    pub(super) fn judge(&self, pool: &Pool, samples: &[f32]) -> Option<Judgement> {
        let frames = self.mel.frames(&scaled(samples)?, FRAMES)?;
        let states = self.encoder.run(pool, &frames)?;
        let mut scores = self.attention[0].run(pool, &states);
        scores.iter_mut().for_each(|score| *score = score.tanh());
        let scores = softmax(self.attention[1].run(pool, &scores));
        let mut pooled = vec![0.0; WIDTH];
        for (state, score) in states.chunks_exact(WIDTH).zip(scores) {
            for (sum, value) in pooled.iter_mut().zip(state) {
                *sum += value * score;
            }
        }
        let [first, second, third] = &self.classifier;
        let mut x = self.norm.run(&INLINE, &first.run(&INLINE, &pooled));
        ops::gelu(&INLINE, &mut x);
        let mut x = second.run(&INLINE, &x);
        ops::gelu(&INLINE, &mut x);
        let logit = third.run(&INLINE, &x).first().copied()?;
        Some(Judgement {
            probability: 1.0 / (1.0 + (-logit).exp()),
            pooled,
        })
    }
}

/// The last 8 s, with silence before them where there is less; centred, of variance one.
fn scaled(samples: &[f32]) -> Option<Vec<f32>> {
    let samples = &samples[samples.len().saturating_sub(HEARD)..];
    if samples.is_empty() || samples.iter().any(|sample| !sample.is_finite()) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let count = HEARD as f64;
    let sum = |of: &dyn Fn(f64) -> f64| samples.iter().map(|s| of(f64::from(*s))).sum::<f64>();
    let mean = sum(&|s| s) / count;
    // What is silent counts, too.
    let variance = sum(&|s| s * s) / count - mean * mean;
    let scale = 1.0 / (variance.max(0.0) + QUIET).sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "the model takes f32")]
    let scaled = |sample: f32| ((f64::from(sample) - mean) * scale) as f32;
    let mut heard = vec![scaled(0.0); HEARD - samples.len()];
    heard.extend(samples.iter().map(|sample| scaled(*sample)));
    Some(heard)
}

fn softmax(mut scores: Vec<f32>) -> Vec<f32> {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores
        .iter_mut()
        .for_each(|score| *score = (*score - largest).exp());
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
    scores
}

/// The file. Its biases, norms and convolutions have names, its products do not: they are found by the
/// biases that are added to them.
struct File(Onnx);

impl File {
    /// The encoder's tensors by the names that a Whisper model gives them.
    fn encoder(&self) -> Result<BTreeMap<String, Stored>> {
        let mut tensors = BTreeMap::new();
        let mut put = |name: String, shape: &[usize], numbers: Vec<f32>| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
            let bytes = Bytes::new(Arc::new(bytes));
            tensors.insert(name, Stored::new(shape.to_vec(), Storage::F32, bytes));
        };
        let mut named = vec![
            ("conv1.weight".to_owned(), vec![WIDTH, BINS, 3]),
            ("conv1.bias".to_owned(), vec![WIDTH]),
            ("conv2.weight".to_owned(), vec![WIDTH, WIDTH, 3]),
            ("conv2.bias".to_owned(), vec![WIDTH]),
            ("embed_positions.weight".to_owned(), vec![FRAMES / 2, WIDTH]),
            ("layer_norm.weight".to_owned(), vec![WIDTH]),
            ("layer_norm.bias".to_owned(), vec![WIDTH]),
        ];
        for layer in 0..LAYERS {
            let name = |part: &str| format!("layers.{layer}.{part}");
            for norm in ["self_attn_layer_norm", "final_layer_norm"] {
                named.push((name(&format!("{norm}.weight")), vec![WIDTH]));
                named.push((name(&format!("{norm}.bias")), vec![WIDTH]));
            }
            for (linear, rows, cols) in [
                ("self_attn.q_proj", WIDTH, WIDTH),
                ("self_attn.v_proj", WIDTH, WIDTH),
                ("self_attn.out_proj", WIDTH, WIDTH),
                ("fc1", HIDDEN, WIDTH),
                ("fc2", WIDTH, HIDDEN),
            ] {
                let product = self.product(&format!("encoder.{}", name(linear)))?;
                let weight = self.factor(product, rows, cols)?;
                put(name(&format!("{linear}.weight")), &[rows, cols], weight);
                named.push((name(&format!("{linear}.bias")), vec![rows]));
            }
            let key = self.key(&format!("encoder.{}", name("self_attn.q_proj")))?;
            let weight = self.factor(key, WIDTH, WIDTH)?;
            put(name("self_attn.k_proj.weight"), &[WIDTH, WIDTH], weight);
        }
        for (name, shape) in named {
            let numbers = self.numbers(&format!("encoder.{name}"), &shape)?;
            put(name, &shape, numbers);
        }
        Ok(tensors)
    }

    /// A weight that has a name, whether or not it is stored in 8 bits.
    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let name = format!("{PREFIX}{name}");
        let widened = format!("{name}_DequantizeLinear_Output");
        let is_stored = self.0.producer(&widened).is_none();
        self.0
            .weight(if is_stored { &name } else { &widened }, shape)
    }

    /// A linear map whose bias has a name.
    fn linear(&self, name: &str, rows: usize, cols: usize) -> Result<Linear> {
        let weight = self.factor(self.product(name)?, rows, cols)?;
        self.map(name, rows, cols, &weight)
    }

    /// A linear map whose weight has a name, too.
    fn gemm(&self, name: &str, rows: usize, cols: usize) -> Result<Linear> {
        let weight = self.numbers(&format!("{name}.weight"), &[rows, cols])?;
        self.map(name, rows, cols, &weight)
    }

    fn map(&self, name: &str, rows: usize, cols: usize, weight: &[f32]) -> Result<Linear> {
        let matrix = Matrix::from_f32(rows, cols, weight);
        let matrix = matrix.map_err(|error| missing(name, error.to_string()))?;
        let bias = self.numbers(&format!("{name}.bias"), &[rows])?;
        Ok(Linear::new(matrix, Some(bias)))
    }

    /// The node whose product the bias of this name is added to.
    fn product(&self, name: &str) -> Result<usize> {
        let bias = format!("{PREFIX}{name}.bias");
        let sum = self.0.consumers(&bias).first();
        let sum = sum.ok_or_else(|| missing(name, "nothing takes its bias".into()))?;
        let inputs = &self.0.nodes()[*sum].input;
        let product = inputs.iter().find_map(|input| self.maker(input));
        product.ok_or_else(|| missing(name, "its bias is added to nothing".into()))
    }

    /// The node that makes keys of what the queries of this name are made of: it has no bias.
    fn key(&self, query: &str) -> Result<usize> {
        let query = &self.0.nodes()[self.product(query)?];
        let input = query.input.first().map(String::as_str).unwrap_or_default();
        let siblings = self.0.consumers(input).iter().copied();
        let mut keys =
            siblings.filter(|&index| !self.takers(index).any(|taker| self.adds_bias(taker)));
        keys.next()
            .ok_or_else(|| missing("k_proj", "there is none".into()))
    }

    /// Whether a node adds something that is called a bias.
    fn adds_bias(&self, node: usize) -> bool {
        let mut inputs = self.0.nodes()[node].input.iter();
        inputs.any(|input| input.ends_with(".bias"))
    }

    /// The node that makes a value, behind what rounds it.
    fn maker(&self, value: &str) -> Option<usize> {
        let mut index = self.0.producer(value)?;
        while let node = &self.0.nodes()[index]
            && is_rounding(node)
        {
            index = self.0.producer(node.input.first()?)?;
        }
        Some(index)
    }

    /// The nodes that take what a node makes, behind what rounds it.
    fn takers(&self, index: usize) -> impl Iterator<Item = usize> {
        let (mut waiting, mut found) = (vec![index], Vec::new());
        while let Some(index) = waiting.pop() {
            let outputs = self.0.nodes()[index].output.iter();
            for &taker in outputs.flat_map(|output| self.0.consumers(output)) {
                match is_rounding(&self.0.nodes()[taker]) {
                    true => waiting.push(taker),
                    false => found.push(taker),
                }
            }
        }
        found.into_iter()
    }

    /// The constant factor of a product, as rows of outputs.
    fn factor(&self, product: usize, rows: usize, cols: usize) -> Result<Vec<f32>> {
        let factor = self.0.nodes()[product].input.get(1);
        let factor = factor.map(String::as_str).unwrap_or_default();
        let stored = self.0.weight(factor, &[cols, rows])?;
        let row = |row: usize| stored.iter().skip(row).step_by(rows).copied();
        Ok((0..rows).flat_map(row).collect())
    }
}

fn is_rounding(node: &NodeProto) -> bool {
    matches!(operator(node), "QuantizeLinear" | "DequantizeLinear")
}

fn missing(name: &str, problem: String) -> Error {
    Error::NoWeight {
        name: format!("{PREFIX}{name}"),
        problem,
    }
}
