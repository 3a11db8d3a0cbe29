//! The vocoder's own operators, run without a graph runtime.
//!
//! The decoder of a voice is a chain of convolutions, transposed convolutions and a few pointwise
//! operators, and takes three quarters of a voice's time. [`Native`] runs such a chain on the
//! kernels of this tree. What it does not know, it declines, and the stage runs by the general
//! runtime: a voice of the family with another decoder is slower, not refused.
//!
//! Every value has a margin of zeros on both sides of each row, wide enough for the widest
//! padding in the chain. So a convolution reads its input where it lies, without a padded copy. A
//! sum behind a convolution is added while its tiles are written. Memory is used again from step
//! to step of a run.

use std::collections::HashMap;

use kernels::{
    Conv1d, Rows, RowsMut,
    ops::conv1d::{OUT, SLACK},
};
use rayon::prelude::*;
use rten_onnx::onnx::NodeProto;
use rten_tensor::{NdTensor, prelude::*};

use super::{
    part::Threads,
    reach::{Kernel, Segment, nodes_between},
    stage::Frames,
};
use crate::onnx::{Onnx, attribute, operator, resolve};

/// A chain of operators with its weights.
pub(super) struct Native {
    steps: Vec<Step>,
    /// By step, the slots that nothing needs any more behind it.
    spent: Vec<Vec<usize>>,
    slots: usize,
    output: usize,
    margin: usize,
    threads: Threads,
}

struct Step {
    operation: Operation,
    from: usize,
    to: usize,
}

enum Operation {
    Convolution {
        conv: Conv1d,
        before: usize,
        more: Option<usize>,
    },
    Transposed {
        phases: Vec<Phase>,
        stride: usize,
    },
    LeakyRelu {
        slope: f32,
    },
    Add {
        other: usize,
    },
    Divide {
        by: f32,
    },
    Tanh,
}

/// Every `stride`-th sample of a transposed convolution is a convolution of its own.
struct Phase {
    conv: Conv1d,
    /// Samples before a sample's own place where its window starts.
    before: usize,
}

/// Rows of samples with zeros around them.
struct Grid {
    channels: usize,
    len: usize,
    row: usize,
    data: Vec<f32>,
}

impl Native {
    /// The chain of a segment, if all of it is known here.
    pub(super) fn of(
        onnx: &Onnx,
        segment: &Segment,
        same: &HashMap<String, String>,
        threads: &Threads,
    ) -> Option<Self> {
        let nodes = nodes_between(onnx, &segment.input, &segment.output, same);
        let mut chain = Chain::new(onnx, same, &segment.input);
        for (index, node) in nodes.iter().enumerate() {
            chain.take(node, &nodes[index + 1..])?;
        }
        let output = chain.slot(&segment.output)?;
        let spent = spent(&chain.steps, chain.slots, output);
        let Chain {
            steps,
            slots,
            margin,
            ..
        } = chain;
        Some(Self {
            steps,
            spent,
            slots,
            output,
            margin,
            threads: threads.clone(),
        })
    }

    /// Runs the chain on `[1, channels, frames]`; none where the input has other channels.
    pub(super) fn run(&self, input: &Frames) -> Option<Frames> {
        self.threads.run(|| {
            let mut slots: Vec<Option<Grid>> = Vec::new();
            slots.resize_with(self.slots, || None);
            let mut spare = Vec::new();
            *slots.first_mut()? = Some(Grid::of(input, self.margin));
            for (step, spent) in self.steps.iter().zip(&self.spent) {
                let made = step.run(&slots, self.margin, &mut spare, self.threads.count())?;
                slots[step.to] = Some(made);
                let done = spent.iter().filter_map(|&slot| slots[slot].take());
                spare.extend(done.map(|grid| grid.data));
            }
            slots[self.output]
                .take()
                .map(|grid| grid.frames(self.margin))
        })
    }
}

/// By step, the slots that it is the last one to read.
fn spent(steps: &[Step], slots: usize, output: usize) -> Vec<Vec<usize>> {
    let mut spent = vec![Vec::new(); steps.len()];
    for slot in (0..slots).filter(|&slot| slot != output) {
        if let Some(last) = steps.iter().rposition(|step| step.reads(slot)) {
            spent[last].push(slot);
        }
    }
    spent
}

/// A chain while it is put together.
struct Chain<'a> {
    onnx: &'a Onnx,
    same: &'a HashMap<String, String>,
    known: HashMap<String, usize>,
    /// Sums that were taken together with a convolution.
    taken: Vec<String>,
    steps: Vec<Step>,
    slots: usize,
    margin: usize,
}

impl<'a> Chain<'a> {
    fn new(onnx: &'a Onnx, same: &'a HashMap<String, String>, input: &str) -> Self {
        let known = HashMap::from([(input.to_owned(), 0)]);
        Self {
            onnx,
            same,
            known,
            taken: Vec::new(),
            steps: Vec::new(),
            slots: 1,
            margin: 0,
        }
    }

    fn slot(&self, value: &str) -> Option<usize> {
        self.known.get(&resolve(self.same, value)).copied()
    }

    fn push(&mut self, operation: Operation, from: usize, output: &str) {
        self.steps.push(Step {
            operation,
            from,
            to: self.slots,
        });
        self.known.insert(output.to_owned(), self.slots);
        self.slots += 1;
    }

    /// Adds a node; `rest` are those that follow it. None where it is not known here.
    fn take(&mut self, node: &NodeProto, rest: &[&NodeProto]) -> Option<()> {
        let output = node.output.first()?;
        if self.taken.contains(output) {
            return Some(());
        }
        let from = self.slot(node.input.first()?);
        let operation = match operator(node) {
            "Conv" => return self.convolution(node, rest),
            "ConvTranspose" => self.transposed(node)?,
            "LeakyRelu" => Operation::LeakyRelu {
                slope: attribute(node, "alpha")
                    .and_then(|alpha| alpha.f)
                    .unwrap_or(0.01),
            },
            "Add" => Operation::Add {
                other: self.slot(node.input.get(1)?)?,
            },
            "Div" => match self.onnx.floats(node.input.get(1)?)?.as_slice() {
                &[by] => Operation::Divide { by },
                _ => return None,
            },
            "Tanh" => Operation::Tanh,
            // One batch with one channel stays what it is.
            "Unsqueeze" | "Identity" => {
                self.known.insert(output.clone(), from?);
                return Some(());
            }
            _ => return None,
        };
        self.push(operation, from?, output);
        Some(())
    }

    fn convolution(&mut self, node: &NodeProto, rest: &[&NodeProto]) -> Option<()> {
        let from = self.slot(node.input.first()?)?;
        let (weights, bias, shape) = self.weights(node)?;
        let kernel = Kernel::of(node, self.onnx).ok()?;
        let conv = Conv1d::new(&weights, bias.as_deref(), shape, kernel.dilation)?;
        self.margin = self.margin.max(kernel.before).max(kernel.after);
        let output = node.output.first()?;
        let (more, output) = match self.sum_behind(output, rest) {
            Some((more, sum)) => (Some(more), sum),
            None => (None, output.clone()),
        };
        if more.is_some() {
            self.taken.push(output.clone());
        }
        self.push(
            Operation::Convolution {
                conv,
                before: kernel.before,
                more,
            },
            from,
            &output,
        );
        Some(())
    }

    /// The sum that is all that becomes of `value`, with what is added, if that is known by now.
    fn sum_behind(&self, value: &str, rest: &[&NodeProto]) -> Option<(usize, String)> {
        let takes = |node: &&&NodeProto| {
            node.input
                .iter()
                .any(|name| resolve(self.same, name) == value)
        };
        let mut takers = rest.iter().filter(takes);
        let (only, None) = (takers.next()?, takers.next()) else {
            return None;
        };
        let ([a, b], [sum]) = (only.input.as_slice(), only.output.as_slice()) else {
            return None;
        };
        let other = if resolve(self.same, a) == value { b } else { a };
        let known = self.slot(other)?;
        (operator(only) == "Add").then(|| (known, sum.clone()))
    }

    fn transposed(&mut self, node: &NodeProto) -> Option<Operation> {
        let (weights, bias, [inputs, outputs, size]) = self.weights(node)?;
        let kernel = Kernel::of(node, self.onnx).ok()?;
        let stride = kernel.stride;
        let mut phases = Vec::new();
        for phase in 0..stride {
            // Sample `q * stride + phase` takes tap `first + m * stride` of input `q + shift - m`.
            let (shift, first) = (
                (phase + kernel.before) / stride,
                (phase + kernel.before) % stride,
            );
            let taps: Vec<usize> = (first..size).step_by(stride).collect();
            let mut own = Vec::with_capacity(outputs * inputs * taps.len());
            for output in 0..outputs {
                for input in 0..inputs {
                    let taps = taps.iter().rev();
                    own.extend(taps.map(|tap| weights[(input * outputs + output) * size + tap]));
                }
            }
            let conv = Conv1d::new(&own, bias.as_deref(), [outputs, inputs, taps.len()], 1)?;
            let before = (taps.len() - 1).checked_sub(shift)?;
            self.margin = self.margin.max(before).max(shift);
            phases.push(Phase { conv, before });
        }
        Some(Operation::Transposed { phases, stride })
    }

    /// Weights, bias and shape of a convolution over all channels at once.
    fn weights(&self, node: &NodeProto) -> Option<Weights> {
        let groups = attribute(node, "group")
            .and_then(|group| group.i)
            .unwrap_or(1);
        let name = node.input.get(1)?;
        let &[a, b, size] = self.onnx.weight_shape(name)? else {
            return None;
        };
        let shape = [a, b, size].map(|size| usize::try_from(size).unwrap_or(0));
        let weights = self.onnx.floats(name)?;
        let whole = weights.len() == shape.iter().product::<usize>();
        let bias = match node.input.get(2).filter(|name| !name.is_empty()) {
            Some(name) => Some(self.onnx.floats(name)?),
            None => None,
        };
        (groups == 1 && whole).then_some((weights, bias, shape))
    }
}

/// The weights of a convolution, its bias and its shape.
type Weights = (Vec<f32>, Option<Vec<f32>>, [usize; 3]);

impl Step {
    fn reads(&self, slot: usize) -> bool {
        let also = match self.operation {
            Operation::Convolution { more, .. } => more,
            Operation::Add { other } => Some(other),
            _ => None,
        };
        self.from == slot || also == Some(slot)
    }

    fn run(
        &self,
        slots: &[Option<Grid>],
        margin: usize,
        spare: &mut Vec<Vec<f32>>,
        threads: usize,
    ) -> Option<Grid> {
        let x = slots[self.from].as_ref()?;
        match &self.operation {
            Operation::Convolution { conv, before, more } => {
                let more = match more {
                    Some(slot) => Some(slots[*slot].as_ref()?),
                    None => None,
                };
                (conv.inputs() == x.channels).then_some(())?;
                let mut out = Grid::empty(conv.outputs(), x.len, margin, spare);
                let rows = share(conv.outputs(), threads);
                let (row, len) = (out.row, x.len);
                out.shares(rows).for_each(|(first, data)| {
                    let more = more.map(|more| Rows {
                        data: &more.data[first * row..],
                        row,
                    });
                    let out = RowsMut {
                        data,
                        row,
                        offset: margin,
                        stride: 1,
                    };
                    conv.run(x.from(margin - before), len, first, out, more);
                });
                Some(out)
            }
            Operation::Transposed { phases, stride } => {
                let conv = &phases.first()?.conv;
                (conv.inputs() == x.channels).then_some(())?;
                let mut out = Grid::empty(conv.outputs(), x.len * stride, margin, spare);
                let rows = share(conv.outputs(), threads);
                let row = out.row;
                out.shares(rows).for_each(|(first, data)| {
                    for (phase, Phase { conv, before }) in phases.iter().enumerate() {
                        let offset = margin + phase;
                        let out = RowsMut {
                            data: &mut *data,
                            row,
                            offset,
                            stride: *stride,
                        };
                        conv.run(x.from(margin - before), x.len, first, out, None);
                    }
                });
                Some(out)
            }
            Operation::LeakyRelu { slope } => {
                Some(x.map(spare, |sample| sample.max(0.0) + slope * sample.min(0.0)))
            }
            Operation::Divide { by } => Some(x.map(spare, |sample| sample / by)),
            Operation::Tanh => Some(x.map(spare, f32::tanh)),
            Operation::Add { other } => {
                let other = slots[*other].as_ref()?;
                (other.data.len() == x.data.len()).then_some(())?;
                let mut out = x.map(spare, |sample| sample);
                out.data
                    .iter_mut()
                    .zip(&other.data)
                    .for_each(|(sum, sample)| *sum += sample);
                Some(out)
            }
        }
    }
}

/// How many output channels each thread takes: whole tiles of them.
fn share(channels: usize, threads: usize) -> usize {
    channels.div_ceil(threads.max(1)).next_multiple_of(OUT)
}

impl Grid {
    fn of(frames: &Frames, margin: usize) -> Self {
        let mut grid = Self::empty(frames.size(1), frames.size(2), margin, &mut Vec::new());
        let len = grid.len;
        for (channel, row) in grid.data.chunks_exact_mut(grid.row).enumerate() {
            let to = &mut row[margin..margin + len];
            let from = frames.slice((0, channel));
            match from.data() {
                Some(from) => to.copy_from_slice(from),
                None => to
                    .iter_mut()
                    .zip(from.iter())
                    .for_each(|(to, from)| *to = *from),
            }
        }
        grid
    }

    fn empty(channels: usize, len: usize, margin: usize, spare: &mut Vec<Vec<f32>>) -> Self {
        let row = len + 2 * margin + SLACK;
        let fits = spare
            .iter()
            .position(|data| data.capacity() >= channels * row);
        let mut data = fits
            .map(|index| spare.swap_remove(index))
            .unwrap_or_default();
        data.resize(channels * row, 0.0);
        for row in data.chunks_exact_mut(row) {
            row[..margin].fill(0.0);
            row[margin + len..].fill(0.0);
        }
        Self {
            channels,
            len,
            row,
            data,
        }
    }

    /// The rows from `skip` samples on.
    fn from(&self, skip: usize) -> Rows<'_> {
        Rows {
            data: &self.data[skip..],
            row: self.row,
        }
    }

    /// Rows for each thread, with the channel that they begin with.
    fn shares(&mut self, rows: usize) -> impl IndexedParallelIterator<Item = (usize, &mut [f32])> {
        let shares = self.data.par_chunks_mut(rows * self.row).enumerate();
        shares.map(move |(index, data)| (index * rows, data))
    }

    /// A pointwise function that maps zero to zero, so that margins stay zeros.
    fn map(&self, spare: &mut Vec<Vec<f32>>, function: impl Fn(f32) -> f32) -> Self {
        let fits = spare
            .iter()
            .position(|data| data.capacity() >= self.data.len());
        let mut data = fits
            .map(|index| spare.swap_remove(index))
            .unwrap_or_default();
        data.clear();
        data.extend(self.data.iter().map(|&sample| function(sample)));
        Self { data, ..*self }
    }

    fn frames(&self, margin: usize) -> Frames {
        let mut data = Vec::with_capacity(self.channels * self.len);
        for row in self.data.chunks_exact(self.row) {
            data.extend_from_slice(&row[margin..margin + self.len]);
        }
        NdTensor::from_data([1, self.channels, self.len], data)
    }
}
