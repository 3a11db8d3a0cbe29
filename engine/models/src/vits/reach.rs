//! How far a value of the graph looks, and where the graph can be cut.
//!
//! A part of a voice that is made of convolutions and pointwise operators can be run in pieces:
//! each output sample hangs on a few input frames only. [`Reach`] says on which, and is derived
//! from the operators' own attributes (kernel, dilation, stride, padding), so voices of any size
//! fit. [`segments`] finds the values through which everything passes, and measures what lies
//! between two of them.
//!
//! With time as the last axis, a sample `t` of a value of rate `r` (samples per input frame),
//! left reach `L` and right reach `R` (both in samples) hangs on the input frames
//! `floor((t - L) / r) ..= floor((t + R) / r)`, and on nothing else:
//!
//! | operator | rate | `L` | `R` |
//! | --- | --- | --- | --- |
//! | input | 1 | 0 | 0 |
//! | pointwise | that of its inputs | their largest | their largest |
//! | convolution, kernel `k`, dilation `d`, padding `p` and `q` | `r` | `L + p` | `R + q` |
//! | transposed, stride `s`, kernel `k`, padding `p` | `r s` | `L s + k - 1 - p` | `R s + p` |
//!
//! A convolution has to keep the length (`p + q = (k - 1) d`), a transposed one has to multiply
//! it by its stride; anything else is refused by name.

use std::collections::{HashMap, HashSet};

use rten_onnx::onnx::NodeProto;

use super::error::{Error, Result};
use crate::onnx::{Onnx, attribute, operator, resolve};

const LOOKED_FOR: &str = "a part made of 1-D convolutions and pointwise operators";

/// On which input frames a value hangs; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    /// Samples per input frame.
    pub(super) rate: usize,
    left: usize,
    right: usize,
}

impl Reach {
    const INPUT: Self = Self {
        rate: 1,
        left: 0,
        right: 0,
    };

    /// Input frames before the first one of a range that its samples hang on.
    pub(super) fn frames_before(self) -> usize {
        self.left.div_ceil(self.rate)
    }

    /// Input frames after the last one of a range that its samples hang on.
    pub(super) fn frames_after(self) -> usize {
        self.right.div_ceil(self.rate)
    }

    fn pointwise(self) -> bool {
        self == Self::INPUT
    }

    fn widest(self, other: Self) -> Option<Self> {
        (self.rate == other.rate).then(|| Self {
            rate: self.rate,
            left: self.left.max(other.left),
            right: self.right.max(other.right),
        })
    }
}

/// What lies between two values through which everything passes.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// The value that enters, `[1, channels, frames]`.
    pub(super) input: String,
    /// The value that leaves, `[1, channels, frames * rate]`.
    pub(super) output: String,
    /// How the one hangs on the other.
    pub(super) reach: Reach,
}

/// Cuts the part of the graph from `start` to `end` wherever a single value carries everything,
/// leaving out cuts that would save nothing.
///
/// Values in `same` stand for others, as in [`Onnx::extract`].
pub(super) fn segments(
    onnx: &Onnx,
    start: &str,
    end: &str,
    same: &HashMap<String, String>,
) -> Result<Vec<Segment>> {
    let part = Part::between(onnx, start, end, same);
    let cuts = part.cuts(start, end)?;
    let mut segments: Vec<Segment> = Vec::new();
    for pair in cuts.windows(2) {
        let [input, output] = pair else { continue };
        let reach = part.reach(input, output)?;
        match segments.last_mut() {
            // What looks nowhere but at its own place costs nothing to run with its neighbour.
            Some(last) if reach.pointwise() => last.output.clone_from(output),
            Some(last) if last.reach.pointwise() => {
                last.output.clone_from(output);
                last.reach = reach;
            }
            _ => segments.push(Segment {
                input: input.clone(),
                output: output.clone(),
                reach,
            }),
        }
    }
    Ok(segments)
}

/// The nodes between two values, in the graph's order, without those that `same` skips.
pub(super) fn nodes_between<'a>(
    onnx: &'a Onnx,
    start: &str,
    end: &str,
    same: &'a HashMap<String, String>,
) -> Vec<&'a NodeProto> {
    Part::between(onnx, start, end, same).nodes
}

struct Part<'a> {
    nodes: Vec<&'a NodeProto>,
    onnx: &'a Onnx,
    same: &'a HashMap<String, String>,
}

/// What is known of a value while the reach is followed through the nodes.
#[derive(Clone, Copy)]
enum Known {
    /// It runs along time.
    Along(Reach),
    /// It is the shape of such a value, of this rate.
    ShapeOf(usize),
}

impl<'a> Part<'a> {
    fn between(onnx: &'a Onnx, start: &str, end: &str, same: &'a HashMap<String, String>) -> Self {
        let stop = HashSet::from([start.to_owned()]);
        let before_end = onnx.ancestors(&[end], &stop);
        let after_start = onnx.descendants(start);
        let nodes = onnx.nodes().iter().enumerate();
        let nodes = nodes.filter(|(index, node)| {
            let skipped = node
                .output
                .first()
                .is_some_and(|output| same.contains_key(output));
            before_end.contains(index) && after_start.contains(index) && !skipped
        });
        Self {
            nodes: nodes.map(|(_, node)| node).collect(),
            onnx,
            same,
        }
    }

    /// The values that everything passes through, from `start` to `end`.
    fn cuts(&self, start: &str, end: &str) -> Result<Vec<String>> {
        let mut uses: HashMap<String, usize> = HashMap::new();
        for name in self.nodes.iter().flat_map(|node| &node.input) {
            *uses.entry(resolve(self.same, name)).or_default() += 1;
        }
        let end = resolve(self.same, end);
        *uses.entry(end.clone()).or_default() += 1;
        let mut live: HashMap<String, usize> = HashMap::new();
        live.insert(
            start.to_owned(),
            uses.get(start).copied().unwrap_or_default(),
        );
        let mut cuts = vec![start.to_owned()];
        for node in &self.nodes {
            for name in &node.input {
                let name = resolve(self.same, name);
                if let Some(left) = live.get_mut(&name) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        live.remove(&name);
                    }
                }
            }
            for output in &node.output {
                if let Some(&count) = uses.get(output) {
                    live.insert(output.clone(), count);
                }
            }
            let mut values = live.keys();
            if let (Some(only), None) = (values.next(), values.next()) {
                cuts.push(only.clone());
            }
        }
        cuts.dedup();
        match cuts.last() {
            Some(last) if *last == end && cuts.len() > 1 => Ok(cuts),
            _ => Err(refused(format!("no way from `{start}` to `{end}`"))),
        }
    }

    /// How `output` hangs on `input`.
    fn reach(&self, input: &str, output: &str) -> Result<Reach> {
        let mut known = HashMap::from([(input.to_owned(), Known::Along(Reach::INPUT))]);
        for node in &self.nodes {
            let inputs: Vec<Known> = node
                .input
                .iter()
                .filter_map(|name| known.get(&resolve(self.same, name)).copied())
                .collect();
            if inputs.is_empty() {
                continue;
            }
            let made = self.through(node, &inputs)?;
            known.extend(node.output.iter().map(|name| (name.clone(), made)));
            if let Some(&Known::Along(reach)) = known.get(output) {
                return Ok(reach);
            }
        }
        Err(refused(format!("no way from `{input}` to `{output}`")))
    }

    /// What a node makes of what it takes.
    fn through(&self, node: &NodeProto, inputs: &[Known]) -> Result<Known> {
        let along = || widest(node, inputs);
        match operator(node) {
            "LeakyRelu" | "Relu" | "Tanh" | "Sigmoid" | "Neg" | "Exp" | "Erf" | "Sqrt" | "Abs"
            | "Sin" | "Identity" | "Softplus" | "Add" | "Sub" | "Mul" | "Div" | "Pow" => {
                along().map(Known::Along)
            }
            "Conv" => self.convolution(node, along()?).map(Known::Along),
            "ConvTranspose" => self.transposed(node, along()?).map(Known::Along),
            "Concat" | "Split" | "Gather" if channel_axis(integer(node, "axis", 0)) => {
                along().map(Known::Along)
            }
            "Slice"
                if self
                    .axes(node, 3)
                    .is_some_and(|axes| axes.iter().all(|&a| channel_axis(a))) =>
            {
                along().map(Known::Along)
            }
            "Unsqueeze" | "Squeeze"
                if self
                    .axes(node, 1)
                    .is_some_and(|axes| axes.iter().all(|&a| (0..=1).contains(&a))) =>
            {
                along().map(Known::Along)
            }
            "Shape" => Ok(Known::ShapeOf(along()?.rate)),
            "ConstantOfShape" => match inputs {
                [Known::ShapeOf(rate)] => Ok(Known::Along(Reach {
                    rate: *rate,
                    left: 0,
                    right: 0,
                })),
                _ => Err(misfit(node, "makes a shape of its own")),
            },
            _ => Err(misfit(node, "does not work along time alone")),
        }
    }

    fn convolution(&self, node: &NodeProto, from: Reach) -> Result<Reach> {
        let shape = Kernel::of(node, self.onnx)?;
        let span = (shape.size - 1) * shape.dilation;
        if shape.stride != 1 || shape.before + shape.after != span {
            return Err(misfit(node, "changes the length"));
        }
        Ok(Reach {
            left: from.left + shape.before,
            right: from.right + shape.after,
            ..from
        })
    }

    fn transposed(&self, node: &NodeProto, from: Reach) -> Result<Reach> {
        let shape = Kernel::of(node, self.onnx)?;
        let extra = usize::try_from(
            integers(node, "output_padding")
                .first()
                .copied()
                .unwrap_or(0),
        )
        .map_err(|_| misfit(node, "has a negative output padding"))?;
        let grows_by_stride = shape.dilation == 1
            && shape.size + extra == shape.stride + shape.before + shape.after
            && shape.before < shape.size;
        if !grows_by_stride {
            return Err(misfit(node, "does not multiply the length by its stride"));
        }
        Ok(Reach {
            rate: from.rate * shape.stride,
            left: from.left * shape.stride + shape.size - 1 - shape.before,
            right: from.right * shape.stride + shape.before,
        })
    }

    /// The axes that a node works on, from its input `position` or from its attribute.
    fn axes(&self, node: &NodeProto, position: usize) -> Option<Vec<i64>> {
        match node.input.get(position).filter(|name| !name.is_empty()) {
            Some(name) => self.onnx.integers(name),
            None => Some(integers(node, "axes").to_vec()).filter(|axes| !axes.is_empty()),
        }
    }
}

/// The window of a convolution along time.
pub(super) struct Kernel {
    pub(super) size: usize,
    pub(super) dilation: usize,
    pub(super) stride: usize,
    /// Zeros before the first sample, or samples cut off there by a transposed one.
    pub(super) before: usize,
    /// The same behind the last one.
    pub(super) after: usize,
}

impl Kernel {
    pub(super) fn of(node: &NodeProto, onnx: &Onnx) -> Result<Self> {
        let weight = node.input.get(1).and_then(|name| onnx.weight_shape(name));
        let Some(&[_, _, size]) = weight else {
            return Err(misfit(node, "is not a 1-D convolution with fixed weights"));
        };
        let automatic = attribute(node, "auto_pad").and_then(|a| a.s.as_deref());
        if automatic.is_some_and(|mode| mode != "NOTSET") {
            return Err(misfit(node, "pads by a rule instead of by numbers"));
        }
        let number = |name, index, default| {
            let value = integers(node, name).get(index).copied().unwrap_or(default);
            usize::try_from(value).map_err(|_| misfit(node, "has a negative attribute"))
        };
        let kernel = Self {
            size: usize::try_from(size).map_err(|_| misfit(node, "has a negative size"))?,
            dilation: number("dilations", 0, 1)?,
            stride: number("strides", 0, 1)?,
            before: number("pads", 0, 0)?,
            after: number("pads", 1, 0)?,
        };
        if kernel.size == 0 || kernel.stride == 0 {
            return Err(misfit(node, "has an empty window"));
        }
        Ok(kernel)
    }
}

fn widest(node: &NodeProto, inputs: &[Known]) -> Result<Reach> {
    let mut all: Option<Reach> = None;
    for input in inputs {
        let Known::Along(reach) = *input else {
            return Err(misfit(node, "computes with a shape"));
        };
        all = match all {
            None => Some(reach),
            Some(so_far) => Some(
                so_far
                    .widest(reach)
                    .ok_or_else(|| misfit(node, "joins two different rates"))?,
            ),
        };
    }
    all.ok_or_else(|| misfit(node, "takes nothing"))
}

/// Whether an axis of `[batch, channels, time]` is not time.
fn channel_axis(axis: i64) -> bool {
    matches!(axis, 0 | 1 | -2 | -3)
}

fn integer(node: &NodeProto, name: &str, default: i64) -> i64 {
    attribute(node, name)
        .and_then(|attribute| attribute.i)
        .unwrap_or(default)
}

fn integers<'a>(node: &'a NodeProto, name: &str) -> &'a [i64] {
    attribute(node, name).map_or(&[], |attribute| attribute.ints.as_slice())
}

fn misfit(node: &NodeProto, what: &str) -> Error {
    let name = node.name.as_deref().unwrap_or("without a name");
    refused(format!("node `{name}` ({}) {what}", operator(node)))
}

fn refused(found: String) -> Error {
    Error::Graph {
        looked_for: LOOKED_FOR,
        found,
    }
}
