//! Where the parts of a VITS voice lie in its graph.
//!
//! Exports of the family name their values differently, so the parts are found by what they do:
//!
//! ```text
//! ids ─► encoder ─► [noise] ─► durations = Ceil ─► spread over frames ─► [noise] ─► flow ─► decoder ─► samples
//!                                        │                                     │
//!                              frames per id, seen                 `frames`: from here on all
//!                                                                  works along time alone
//! ```
//!
//! * the **durations** are the one `Ceil` on which a `CumSum` and the output hang;
//! * a **noise** is a `RandomNormalLike`: one that the durations hang on, one that hangs on them;
//! * the **frames** are what the second noise is added to; a chain of `Mul` and `Add` leads there;
//! * the **decoder's input** enters the last convolution before the first `ConvTranspose`;
//! * a **mask** is a factor after the frames that hangs on the durations but not on the frames.
//!   For one utterance without padding it is one everywhere, so it is left out.

use std::collections::{HashMap, HashSet};

use super::{
    error::{Error, Result},
    reach::{Segment, segments},
};
use crate::onnx::{self, Cut, Onnx, operator, resolve};

/// The named parts of a voice's graph.
pub(super) struct Anatomy {
    /// The phoneme numbers, `[1, ids]`.
    pub(super) ids: String,
    /// How many ids there are, `[1]`.
    pub(super) lengths: String,
    /// Noise scale, length scale, noise scale of the durations, `[3]`.
    pub(super) scales: String,
    /// The speaker's number, `[1]`, where the voice has several.
    pub(super) speaker: Option<String>,
    /// The noise of the durations, `[1, 2, ids]`, where they are drawn at all.
    pub(super) duration_noise: Option<String>,
    /// Frames per id, whole numbers as floats, `[1, 1, ids]`.
    pub(super) durations: String,
    /// What is computed on the way to the durations and used after it.
    pub(super) carried: Vec<String>,
    /// The noise of the frames, `[1, channels, frames]`.
    pub(super) frame_noise: String,
    /// The frames as drawn, `[1, channels, frames]`, before the flow.
    pub(super) frames: String,
    /// How many channels a frame has.
    pub(super) channels: usize,
    /// What stands for what once the masks are left out.
    pub(super) same: HashMap<String, String>,
    /// The flow, in pieces; empty where it does not work along time alone.
    pub(super) flow: Vec<Segment>,
    /// The decoder, in pieces.
    pub(super) decoder: Vec<Segment>,
}

impl Anatomy {
    /// Finds the parts, or says which one is not there.
    pub(super) fn of(onnx: &Onnx) -> Result<Self> {
        let inputs = Inputs::of(onnx)?;
        let output = output_of(onnx)?;
        let durations = durations(onnx, output)?;
        let (duration_noise, frame_noise) = noises(onnx, &durations)?;
        let drawn = drawn_frames(onnx, &frame_noise)?;
        let (decoder_input, channels) = decoder_input(onnx)?;
        let same = masks(onnx, &durations, &drawn);
        let entry = resolve(&same, &decoder_input);
        let (frames, same, flow, entry) = match segments(onnx, &drawn, &entry, &same) {
            Ok(flow) => (drawn, same, flow, entry),
            // A flow that looks at the whole utterance, as one with attention does, is run whole:
            // then the frames are taken after it.
            Err(_) => {
                let same = masks(onnx, &durations, &decoder_input);
                (decoder_input.clone(), same, Vec::new(), decoder_input)
            }
        };
        let decoder = segments(onnx, &entry, output, &same)?;
        let carried = carried(
            onnx,
            &durations,
            &frames,
            duration_noise.as_deref(),
            &frame_noise,
        );
        Ok(Self {
            ids: inputs.ids,
            lengths: inputs.lengths,
            scales: inputs.scales,
            speaker: inputs.speaker,
            duration_noise,
            durations,
            carried,
            frame_noise,
            frames,
            channels,
            same,
            flow,
            decoder,
        })
    }

    /// The part from ids to durations, as a model.
    pub(super) fn encoder(&self, onnx: &Onnx) -> onnx::Result<Vec<u8>> {
        let mut inputs = self.given();
        inputs.extend(self.duration_noise.as_ref().map(Cut::float));
        let mut outputs = vec![self.durations.clone()];
        outputs.extend(self.carried.iter().cloned());
        onnx.extract("encoder", &inputs, &outputs, &HashMap::new())
    }

    /// The part from durations to frames, as a model.
    pub(super) fn spreader(&self, onnx: &Onnx) -> onnx::Result<Vec<u8>> {
        let mut inputs = self.given();
        inputs.push(Cut::float(&self.durations));
        inputs.push(Cut::float(&self.frame_noise));
        let carried = self.carried.iter();
        inputs.extend(carried.map(|name| Cut {
            name: name.clone(),
            float: false,
        }));
        onnx.extract(
            "spreader",
            &inputs,
            std::slice::from_ref(&self.frames),
            &HashMap::new(),
        )
    }

    /// One piece of the flow or the decoder, as a model.
    pub(super) fn stage(&self, onnx: &Onnx, segment: &Segment) -> onnx::Result<Vec<u8>> {
        let mut inputs = vec![Cut::float(&segment.input)];
        inputs.extend(self.speaker.iter().map(|name| Cut {
            name: name.clone(),
            float: false,
        }));
        let outputs = std::slice::from_ref(&segment.output);
        onnx.extract("decoder", &inputs, outputs, &self.same)
    }

    fn given(&self) -> Vec<Cut> {
        let names = [&self.ids, &self.lengths, &self.scales];
        let names = names.into_iter().chain(self.speaker.as_ref());
        names
            .map(|name| Cut {
                name: name.clone(),
                float: *name == self.scales,
            })
            .collect()
    }
}

struct Inputs {
    ids: String,
    lengths: String,
    scales: String,
    speaker: Option<String>,
}

impl Inputs {
    /// The inputs keep their names in all exports: they are the family's interface.
    fn of(onnx: &Onnx) -> Result<Self> {
        let names: Vec<&str> = onnx.inputs().collect();
        let wanted = |name: &str| {
            names.iter().find(|&&input| input == name).map(|&name| name.to_owned()).ok_or_else(|| {
                Error::Graph {
                    looked_for: "the inputs `input`, `input_lengths` and `scales`, with `sid` where there are several speakers",
                    found: format!("its inputs are {names:?}"),
                }
            })
        };
        Ok(Self {
            ids: wanted("input")?,
            lengths: wanted("input_lengths")?,
            scales: wanted("scales")?,
            speaker: wanted("sid").ok(),
        })
    }
}

fn output_of(onnx: &Onnx) -> Result<&str> {
    let outputs: Vec<&str> = onnx.outputs().collect();
    match outputs.as_slice() {
        [only] => Ok(only),
        others => Err(Error::Graph {
            looked_for: "one output, the samples",
            found: format!("its outputs are {others:?}"),
        }),
    }
}

fn durations(onnx: &Onnx, output: &str) -> Result<String> {
    let speaks = onnx.producer(output);
    let ceils = values_of(onnx, "Ceil");
    let found: Vec<&String> = ceils
        .iter()
        .filter(|value| {
            let after = onnx.descendants(value);
            let spreads = after
                .iter()
                .any(|&index| operator(&onnx.nodes()[index]) == "CumSum");
            spreads && speaks.is_some_and(|index| after.contains(&index))
        })
        .collect();
    match found.as_slice() {
        [only] => Ok((*only).clone()),
        others => Err(Error::Graph {
            looked_for: "the durations: one `Ceil` on which a `CumSum` and the output hang",
            found: format!("{} such nodes among {} `Ceil`", others.len(), ceils.len()),
        }),
    }
}

/// The noise that the durations hang on, if any, and the one that hangs on them.
fn noises(onnx: &Onnx, durations: &str) -> Result<(Option<String>, String)> {
    let before = onnx.ancestors(&[durations], &HashSet::new());
    let after = onnx.descendants(durations);
    let noises = values_of(onnx, "RandomNormalLike");
    let among = |nodes: &HashSet<usize>| -> Vec<String> {
        let within = |value: &&String| onnx.producer(value).is_some_and(|i| nodes.contains(&i));
        noises.iter().filter(within).cloned().collect()
    };
    match (among(&before).as_slice(), among(&after).as_slice()) {
        ([], [frames]) => Ok((None, frames.clone())),
        ([durations], [frames]) => Ok((Some(durations.clone()), frames.clone())),
        (before, after) => Err(Error::Graph {
            looked_for: "one `RandomNormalLike` after the durations and at most one before",
            found: format!("{} after and {} before", after.len(), before.len()),
        }),
    }
}

/// Follows the noise of the frames through its scaling to the sum with the mean.
fn drawn_frames(onnx: &Onnx, noise: &str) -> Result<String> {
    let mut value = noise;
    while let [next] = onnx.consumers(value) {
        let node = &onnx.nodes()[*next];
        let Some(output) = node.output.first() else {
            break;
        };
        match operator(node) {
            "Mul" => value = output,
            "Add" => return Ok(output.clone()),
            _ => break,
        }
    }
    Err(Error::Graph {
        looked_for: "the frames: the noise after the durations, scaled by `Mul` and added to a mean by `Add`",
        found: format!("the way from `{noise}` ends at `{value}`"),
    })
}

/// What enters the last convolution before the first transposed one, and its channels.
fn decoder_input(onnx: &Onnx) -> Result<(String, usize)> {
    const LOOKED_FOR: &str =
        "the decoder's first convolution: the last `Conv` before the first `ConvTranspose`";
    let fail = |found: String| Error::Graph {
        looked_for: LOOKED_FOR,
        found,
    };
    let nodes = onnx.nodes();
    let first_up = nodes.iter().find(|node| operator(node) == "ConvTranspose");
    let first_up = first_up.ok_or_else(|| fail("it has no `ConvTranspose`".to_owned()))?;
    let mut waiting: Vec<&str> = first_up.input.iter().take(1).map(String::as_str).collect();
    let mut seen = HashSet::new();
    let mut convolutions = Vec::new();
    while let Some(value) = waiting.pop() {
        let Some(index) = onnx.producer(value).filter(|&index| seen.insert(index)) else {
            continue;
        };
        let node = &nodes[index];
        let shape = node
            .input
            .get(1)
            .and_then(|weight| onnx.weight_shape(weight));
        match (operator(node), shape, node.input.first()) {
            // A kernel of one is the speaker's condition, which is added beside.
            ("Conv", Some(&[_, channels, kernel]), Some(input)) if kernel > 1 => {
                convolutions.push((input.clone(), channels));
            }
            ("Conv", _, _) => {}
            _ => waiting.extend(node.input.iter().map(String::as_str)),
        }
    }
    match convolutions.as_slice() {
        [(input, channels)] => {
            let channels = usize::try_from(*channels).unwrap_or_default();
            Ok((input.clone(), channels))
        }
        others => Err(fail(format!("{} convolutions lead there", others.len()))),
    }
}

/// Maps each product with a mask to its other factor.
fn masks(onnx: &Onnx, durations: &str, frames: &str) -> HashMap<String, String> {
    let timed = onnx.descendants(durations);
    let after = onnx.descendants(frames);
    let made_in = |value: &str, nodes: &HashSet<usize>| {
        onnx.producer(value)
            .is_some_and(|index| nodes.contains(&index))
    };
    let is_mask =
        |value: &str| value != frames && made_in(value, &timed) && !made_in(value, &after);
    let mut same = HashMap::new();
    for (index, node) in onnx.nodes().iter().enumerate() {
        if !after.contains(&index) || operator(node) != "Mul" {
            continue;
        }
        if let ([a, b], [output]) = (node.input.as_slice(), node.output.as_slice()) {
            if is_mask(b) {
                same.insert(output.clone(), a.clone());
            } else if is_mask(a) {
                same.insert(output.clone(), b.clone());
            }
        }
    }
    same
}

/// Values made on the way to the durations that are needed on the way from there to the frames.
fn carried(
    onnx: &Onnx,
    durations: &str,
    frames: &str,
    duration_noise: Option<&str>,
    frame_noise: &str,
) -> Vec<String> {
    let noise: HashSet<String> = duration_noise.into_iter().map(str::to_owned).collect();
    let before = onnx.ancestors(&[durations], &noise);
    let stops = HashSet::from([frame_noise.to_owned(), durations.to_owned()]);
    let after = onnx.ancestors(&[frames], &stops);
    let mut names: Vec<String> = after
        .difference(&before)
        .flat_map(|&index| onnx.nodes()[index].input.iter())
        .filter(|name| name.as_str() != durations && !onnx.is_constant(name))
        .filter(|name| {
            onnx.producer(name)
                .is_some_and(|index| before.contains(&index))
        })
        .cloned()
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn values_of(onnx: &Onnx, wanted: &str) -> Vec<String> {
    let nodes = onnx.nodes().iter().filter(|node| operator(node) == wanted);
    nodes
        .filter_map(|node| node.output.first().cloned())
        .collect()
}
