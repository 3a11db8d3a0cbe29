//! The arithmetic of Silero's voice activity detector at 16 kHz, for many listeners at once. A hot
//! path: nothing is allocated once its buffers have grown.
//!
//! ```text
//! 64 samples before ─┐
//! a frame of 512 ────┴─▶ [576] ─▶ mirrored at its end by 64 ─▶ [640]
//!   ─▶ magnitudes of a short-time Fourier transform, 256 wide, every 128    [4, 129]
//!   ─▶ convolutions over 3, ReLU:  128, every 1 │ 64, every 2 │ 64, every 2 │ 128, every 1    [1, 128]
//!   ─▶ LSTM cell with 128 numbers of memory ─▶ ReLU ─▶ one number ─▶ sigmoid: the probability
//! ```
//!
//! Buffers hold time before channels, `[listeners, times, channels]`, with a row of zeros at
//! either end of the times where a convolution follows. So what a convolution sees at one time is
//! one piece of memory, and its weights are stored as a matrix over such pieces.
//!
//! Always holds: what one listener is told depends on that listener's samples alone, to the bit,
//! because a row of a product does not depend on the others ([`kernels::matrix`]).

use std::path::Path;

use kernels::{Matrix, Pool, matmul};

use crate::onnx::{Error, Onnx, Result};

/// Samples per second that the network hears.
pub(super) const RATE: u32 = 16_000;
/// Samples of a frame: 32 ms.
pub(super) const FRAME: usize = 512;
/// Samples before a frame that it is heard with.
pub(super) const CONTEXT: usize = 64;
/// Samples by which the end of what is heard is mirrored.
const MIRRORED: usize = 64;
const HEARD: usize = CONTEXT + FRAME + MIRRORED;
/// Samples of a window of the transform, and from one to the next.
const WINDOW: usize = 256;
const HOP: usize = 128;
/// Windows in what is heard.
const TIMES: usize = (HEARD - WINDOW) / HOP + 1;
/// Frequencies of the transform.
const BINS: usize = WINDOW / 2 + 1;
/// Numbers of the cell's memory.
const HIDDEN: usize = 128;
/// Times that a convolution sees at once.
const WIDTH: usize = 3;
/// Channels and stride of each convolution.
const CONVOLUTIONS: [(usize, usize); 4] = [(128, 1), (64, 2), (64, 2), (HIDDEN, 1)];

/// The weights. Shared by whoever listens.
pub(super) struct Network {
    /// `[2 * BINS, WINDOW]`: cosines, then sines.
    basis: Matrix,
    convolutions: Vec<Convolution>,
    /// `[4 * HIDDEN, 2 * HIDDEN]`: the gates in, forget, cell, out, of input and memory side by
    /// side.
    gates: Matrix,
    gate_bias: Vec<f32>,
    output: Vec<f32>,
    output_bias: f32,
}

struct Convolution {
    /// `[channels, WIDTH * inputs]`.
    weight: Matrix,
    bias: Vec<f32>,
    inputs: usize,
    stride: usize,
}

/// What is remembered of one listener.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Memory {
    context: [f32; CONTEXT],
    hidden: [f32; HIDDEN],
    cell: [f32; HIDDEN],
}

impl Default for Memory {
    /// Before anything was heard.
    fn default() -> Self {
        Self {
            context: [0.0; CONTEXT],
            hidden: [0.0; HIDDEN],
            cell: [0.0; HIDDEN],
        }
    }
}

/// What is used again from one call to the next.
#[derive(Default)]
pub(super) struct Scratch {
    rows: Vec<f32>,
    product: Vec<f32>,
    padded: Vec<f32>,
}

impl Network {
    /// The weights in an ONNX file of the 16 kHz network.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let onnx = Onnx::read(path)?;
        let matrix = |rows: usize, cols: usize, name: &str, weight: &[f32]| {
            Matrix::from_f32(rows, cols, weight).map_err(|error| Error::NoWeight {
                name: name.to_owned(),
                problem: error.to_string(),
            })
        };
        let name = "model.stft.forward_basis_buffer";
        let basis = onnx.weight(name, &[2 * BINS, 1, WINDOW])?;
        let basis = matrix(2 * BINS, WINDOW, name, &basis)?;
        let mut inputs = BINS;
        let mut convolutions = Vec::new();
        for (index, (channels, stride)) in CONVOLUTIONS.into_iter().enumerate() {
            let name = |part| format!("model.encoder.{index}.reparam_conv.{part}");
            let weight = onnx.weight(&name("weight"), &[channels, inputs, WIDTH])?;
            let weight = time_first(&weight, inputs);
            convolutions.push(Convolution {
                weight: matrix(channels, WIDTH * inputs, &name("weight"), &weight)?,
                bias: onnx.weight(&name("bias"), &[channels])?,
                inputs,
                stride,
            });
            inputs = channels;
        }
        let cell =
            |part: &str, shape: &[usize]| onnx.weight(&format!("model.decoder.rnn.{part}"), shape);
        let of_input = cell("weight_ih", &[4 * HIDDEN, HIDDEN])?;
        let of_memory = cell("weight_hh", &[4 * HIDDEN, HIDDEN])?;
        let rows = of_input.chunks(HIDDEN).zip(of_memory.chunks(HIDDEN));
        let gates: Vec<f32> = rows.flat_map(|(a, b)| a.iter().chain(b)).copied().collect();
        let biases = cell("bias_ih", &[4 * HIDDEN])?;
        let biases = biases.iter().zip(cell("bias_hh", &[4 * HIDDEN])?);
        let bias = onnx.weight("model.decoder.decoder.2.bias", &[1])?;
        Ok(Self {
            basis,
            convolutions,
            gates: matrix(4 * HIDDEN, 2 * HIDDEN, "model.decoder.rnn", &gates)?,
            gate_bias: biases.map(|(a, b)| a + b).collect(),
            output: onnx.weight("model.decoder.decoder.2.weight", &[1, HIDDEN, 1])?,
            output_bias: bias.first().copied().unwrap_or_default(),
        })
    }

    /// The probability, for each listener, that someone speaks in the frame that it hears next.
    /// `probabilities` becomes one for each of `listeners`, in their order.
    pub(super) fn hear(
        &self,
        pool: &Pool,
        scratch: &mut Scratch,
        listeners: &mut [(&mut Memory, &[f32; FRAME])],
        probabilities: &mut Vec<f32>,
    ) {
        let count = listeners.len();
        take_windows(listeners, &mut scratch.rows);
        let product = resized(&mut scratch.product, count * TIMES * 2 * BINS);
        matmul(pool, &scratch.rows, &[&self.basis], &mut [product]);
        magnitudes(&scratch.product, &mut scratch.padded);
        let mut times = TIMES;
        for convolution in &self.convolutions {
            times = convolution.run(pool, scratch, count, times);
        }
        // One time is left, between two rows of zeros.
        let features = scratch.padded.chunks_exact(3 * HIDDEN);
        scratch.rows.clear();
        for (features, (memory, _)) in features.zip(listeners.iter()) {
            scratch
                .rows
                .extend_from_slice(&features[HIDDEN..2 * HIDDEN]);
            scratch.rows.extend_from_slice(&memory.hidden);
        }
        let gates = resized(&mut scratch.product, count * 4 * HIDDEN);
        matmul(pool, &scratch.rows, &[&self.gates], &mut [gates]);
        probabilities.clear();
        let gates = scratch.product.chunks_exact(4 * HIDDEN);
        probabilities.extend(gates.zip(listeners).map(|(gates, (memory, _))| {
            memory.remember(gates, &self.gate_bias);
            let terms = self.output.iter().zip(&memory.hidden);
            let sum: f32 = terms.map(|(weight, hidden)| weight * hidden.max(0.0)).sum();
            sigmoid(sum + self.output_bias)
        }));
    }
}

impl Memory {
    /// One step of the cell: `gates` is in, forget, cell, out.
    fn remember(&mut self, gates: &[f32], bias: &[f32]) {
        let gate = |kind: usize, index: usize| {
            let at = kind * HIDDEN + index;
            gates[at] + bias[at]
        };
        let memory = self.cell.iter_mut().zip(&mut self.hidden).enumerate();
        for (index, (cell, hidden)) in memory {
            let kept = sigmoid(gate(1, index)) * *cell;
            *cell = kept + sigmoid(gate(0, index)) * gate(2, index).tanh();
            *hidden = sigmoid(gate(3, index)) * cell.tanh();
        }
    }
}

impl Convolution {
    /// From `padded` to `padded`, over so many times; says how many there are then.
    fn run(&self, pool: &Pool, scratch: &mut Scratch, count: usize, times: usize) -> usize {
        let after = (times - 1) / self.stride + 1;
        let channels = self.weight.rows();
        scratch.rows.clear();
        for one in scratch.padded.chunks_exact((times + 2) * self.inputs) {
            for time in 0..after {
                let from = time * self.stride * self.inputs;
                let seen = &one[from..from + WIDTH * self.inputs];
                scratch.rows.extend_from_slice(seen);
            }
        }
        let product = resized(&mut scratch.product, count * after * channels);
        matmul(pool, &scratch.rows, &[&self.weight], &mut [product]);
        let padded = &mut scratch.padded;
        padded.clear();
        for one in scratch.product.chunks_exact(after * channels) {
            padded.resize(padded.len() + channels, 0.0);
            for row in one.chunks_exact(channels) {
                let sums = row.iter().zip(&self.bias);
                padded.extend(sums.map(|(sum, bias)| (sum + bias).max(0.0)));
            }
            padded.resize(padded.len() + channels, 0.0);
        }
        after
    }
}

/// The windows of what each listener hears, `[listeners, TIMES, WINDOW]`. The end of each frame is
/// the context of its next one.
fn take_windows(listeners: &mut [(&mut Memory, &[f32; FRAME])], rows: &mut Vec<f32>) {
    rows.clear();
    let mut heard = [0.0; HEARD];
    for (memory, frame) in listeners {
        heard[..CONTEXT].copy_from_slice(&memory.context);
        heard[CONTEXT..CONTEXT + FRAME].copy_from_slice(*frame);
        memory.context.copy_from_slice(&frame[FRAME - CONTEXT..]);
        for index in 0..MIRRORED {
            heard[CONTEXT + FRAME + index] = frame[FRAME - 2 - index];
        }
        for time in 0..TIMES {
            rows.extend_from_slice(&heard[time * HOP..time * HOP + WINDOW]);
        }
    }
}

/// Magnitudes of `[listeners, TIMES, 2 * BINS]`, between rows of zeros.
fn magnitudes(product: &[f32], padded: &mut Vec<f32>) {
    padded.clear();
    for one in product.chunks_exact(TIMES * 2 * BINS) {
        padded.resize(padded.len() + BINS, 0.0);
        for row in one.chunks_exact(2 * BINS) {
            let (cosines, sines) = row.split_at(BINS);
            let parts = cosines.iter().zip(sines);
            padded.extend(parts.map(|(a, b)| (a * a + b * b).sqrt()));
        }
        padded.resize(padded.len() + BINS, 0.0);
    }
}

/// `[channels, inputs, WIDTH]` as `[channels, WIDTH, inputs]`.
fn time_first(weight: &[f32], inputs: usize) -> Vec<f32> {
    let rows = weight.chunks_exact(inputs * WIDTH);
    rows.flat_map(|row| {
        (0..WIDTH).flat_map(move |time| row.iter().skip(time).step_by(WIDTH).copied())
    })
    .collect()
}

fn resized(buffer: &mut Vec<f32>, length: usize) -> &mut [f32] {
    buffer.resize(length, 0.0);
    buffer
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}
