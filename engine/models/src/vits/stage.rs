//! A part that works along time, run in pieces with exactly the result of one run.
//!
//! Each stage keeps the last frames that it was given. For a new piece it runs on those and the
//! new ones, gives out what no frame to come can change, and leaves out what it gave before:
//!
//! ```text
//!            given out ────────────────────►│◄── given out now ──►│ waits for more
//! frames  ──────────────┬───────────────────┼─────────────────────┼──────────────┐
//!                       │◄─ frames_before ─►│                     │◄─ frames_after ─►
//!                       └──────────────── one run ───────────────────────────────┘
//! ```
//!
//! At the edges of such a run the operators pad with zeros where there are frames in truth. That
//! changes only samples within reach of the edge, which are the ones that are not used. At the
//! beginning and at the end of an utterance the padding is what the whole graph does, too, so
//! nothing is left out there.

use rten::{NodeId, ValueOrView};
use rten_tensor::{NdTensor, Tensor, prelude::*};

use super::{
    error::{Error, Result},
    native::Native,
    part::Part,
    reach::{Reach, Segment},
};

/// Frames side by side: `[1, channels, frames]`.
pub(super) type Frames = NdTensor<f32, 3>;

/// A part that works along time.
pub(super) struct Stage {
    name: String,
    body: Body,
    reach: Reach,
}

/// What runs a stage.
enum Body {
    Native(Native),
    General(Box<General>),
}

/// A part of the graph on the general runtime.
struct General {
    part: Part,
    input: NodeId,
    speaker: Option<NodeId>,
}

/// What a stage remembers of the utterance that it is in.
#[derive(Default)]
pub(super) struct Held {
    /// The last frames that were given, as far as they are still needed.
    frames: Option<Frames>,
    /// How many of the held frames have given out their samples.
    done: usize,
}

impl Stage {
    /// A stage on our own kernels.
    pub(super) fn native(name: String, native: Native, segment: &Segment) -> Self {
        Self {
            name,
            body: Body::Native(native),
            reach: segment.reach,
        }
    }

    /// A stage on the general runtime; `speaker` is the name of the speaker's input.
    pub(super) fn general(
        name: String,
        part: Part,
        segment: &Segment,
        speaker: Option<&str>,
    ) -> Result<Self> {
        let body = Body::General(Box::new(General {
            input: part.value(&segment.input)?,
            speaker: speaker.and_then(|name| part.find(name)),
            part,
        }));
        Ok(Self {
            name,
            body,
            reach: segment.reach,
        })
    }

    /// Samples given out for each frame.
    pub(super) fn rate(&self) -> usize {
        self.reach.rate
    }

    /// Frames that have to follow one before its samples leave.
    pub(super) fn frames_after(&self) -> usize {
        self.reach.frames_after()
    }

    /// Takes the next frames of an utterance and gives out the samples that they settle,
    /// `[1, channels, frames * rate]`, if there are any.
    ///
    /// `ends` says that the utterance ends with these frames: then everything leaves, and what
    /// follows begins a new utterance.
    pub(super) fn step(
        &self,
        held: &mut Held,
        frames: Option<Frames>,
        ends: bool,
        speaker: i32,
    ) -> Result<Option<Frames>> {
        let Held {
            frames: before,
            done,
        } = std::mem::take(held);
        let window = match (before, frames) {
            (Some(before), Some(new)) => joined(&before, &new),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return Ok(None),
        };
        let count = window.size(2);
        let settled = if ends {
            count
        } else {
            count.saturating_sub(self.reach.frames_after())
        };
        if settled <= done {
            *held = Held {
                frames: (!ends).then_some(window),
                done,
            };
            return Ok(None);
        }
        let samples = self.run(&window, speaker)?;
        let rate = self.reach.rate;
        if samples.size(2) != count * rate {
            let got = samples.size(2);
            return Err(self.failed(&format!(
                "{count} frames gave {got} samples, not {rate} each"
            )));
        }
        if !ends {
            let keep = settled.saturating_sub(self.reach.frames_before());
            *held = Held {
                frames: Some(part_of(&window, keep, count)),
                done: settled - keep,
            };
        }
        Ok(Some(part_of(&samples, done * rate, settled * rate)))
    }

    fn run(&self, window: &Frames, speaker: i32) -> Result<Frames> {
        match &self.body {
            Body::Native(native) => native
                .run(window)
                .ok_or_else(|| self.failed("the input has other channels")),
            Body::General(general) => {
                let General {
                    part,
                    input,
                    speaker: takes,
                } = &**general;
                let speakers = NdTensor::from_data([1], vec![speaker]);
                let mut inputs = vec![(*input, ValueOrView::from(window.view()))];
                inputs.extend(takes.map(|id| (id, ValueOrView::from(speakers.view()))));
                let output = part.run(inputs)?.pop();
                let output = output.ok_or_else(|| self.failed("it gave nothing"))?;
                let output: Tensor<f32> = output
                    .try_into()
                    .map_err(|error| self.failed(&format!("{error:?}")))?;
                // The last stage may say `[1, 1, 1, samples]`.
                let time = output.shape().last().copied().unwrap_or_default();
                let channels = output.len().checked_div(time).unwrap_or_default();
                Ok(NdTensor::from_data([1, channels, time], output.into_data()))
            }
        }
    }

    fn failed(&self, problem: &str) -> Error {
        Error::Run {
            part: self.name.clone(),
            problem: problem.to_owned(),
        }
    }
}

fn joined(before: &Frames, new: &Frames) -> Frames {
    let (channels, old_count, new_count) = (before.size(1), before.size(2), new.size(2));
    let mut data = Vec::with_capacity(channels * (old_count + new_count));
    for channel in 0..channels {
        for frames in [before, new] {
            let row = frames.slice((0, channel));
            match row.data() {
                Some(row) => data.extend_from_slice(row),
                None => data.extend(row.iter()),
            }
        }
    }
    NdTensor::from_data([1, channels, old_count + new_count], data)
}

fn part_of(frames: &Frames, from: usize, to: usize) -> Frames {
    if from == 0 && to == frames.size(2) {
        return frames.clone();
    }
    frames.slice((.., .., from..to)).to_tensor()
}
