//! A VITS voice: phoneme numbers in, latent frames, samples out.
//!
//! [`Voice`] holds the weights and knows no request; [`Voice::draw`] makes the latent frames of
//! one utterance, [`Voice::vocode`] turns frames into samples as they come.

use std::{
    path::{Path, PathBuf},
    thread,
};

use rten::{NodeId, Value, ValueOrView};
use rten_tensor::{NdTensor, Tensor, prelude::*};

use super::{
    anatomy::Anatomy,
    config::Config,
    error::{Error, Result},
    native::Native,
    noise::{Noise, Purpose},
    part::{Part, Threads},
    reach::Segment,
    stage::{Frames, Held, Stage},
};
use crate::onnx::Onnx;

/// The most phoneme numbers of one utterance. The encoder's attention grows with the square: at
/// this length it takes about 8 MB a layer. The front end's sentences stay far below.
pub(super) const MAX_IDS: usize = 1024;

/// The most frames of one utterance: two and a half minutes at 22,050 Hz and 256 samples a frame.
/// The spreader's table of frames by ids is the largest thing made, 53 MB at both limits.
pub(super) const MAX_FRAMES: usize = 13_000;

/// A voice's weights, ready to run.
pub(super) struct Voice {
    /// What lies beside the weights.
    pub(super) config: Config,
    encoder: Encoder,
    spreader: Spreader,
    flow: Vec<Stage>,
    decoder: Vec<Stage>,
    channels: usize,
}

/// How one utterance is to be spoken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Manner {
    /// How strong the noise of the frames is.
    pub(super) noise_scale: f32,
    /// How long the voice speaks, by its description.
    pub(super) length_scale: f32,
    /// How fast it speaks, 1 being its own pace.
    pub(super) speed: f32,
    /// How strong the noise of the durations is.
    pub(super) noise_w: f32,
    /// The speaker's number; 0 where there is but one.
    pub(super) speaker: i32,
}

/// One utterance before it is made audible.
pub(super) struct Drawn {
    /// Latent frames, `[1, channels, frames]`.
    pub(super) frames: Frames,
    /// Frames of each phoneme number.
    pub(super) durations: Vec<usize>,
}

/// Where a request's audio stands: what each stage holds.
#[derive(Default)]
pub(super) struct Vocoding(Vec<Held>);

struct Encoder {
    part: Part,
    given: Given,
    noise: Option<NodeId>,
}

struct Spreader {
    part: Part,
    given: Given,
    durations: Option<NodeId>,
    noise: NodeId,
    /// In the order of the encoder's outputs after the durations.
    carried: Vec<NodeId>,
}

/// The graph's own inputs, as far as a part takes them.
struct Given {
    ids: Option<NodeId>,
    lengths: Option<NodeId>,
    scales: Option<NodeId>,
    speaker: Option<NodeId>,
}

impl Voice {
    /// Loads a voice from its `.onnx` file with the `.onnx.json` beside it.
    pub(super) fn load(weights: &Path, threads: usize) -> Result<Self> {
        let config = Config::read(&description_of(weights))?;
        let onnx = Onnx::read(weights)?;
        let anatomy = Anatomy::of(&onnx)?;
        let threads = Threads::new(threads);
        let speaker = anatomy.speaker.as_deref();
        let encoder = anatomy.encoder(&onnx)?;
        let (encoder, rest) = thread::scope(|scope| {
            let encoder = scope.spawn(|| Encoder::load(encoder, &anatomy, &threads));
            let rest = || -> Result<_> {
                let stages = |part: &str, segments: &[Segment]| -> Result<Vec<Stage>> {
                    let one = |(index, segment): (usize, &Segment)| {
                        let name = format!("{part}, stage {index}");
                        if let Some(native) = Native::of(&onnx, segment, &anatomy.same, &threads) {
                            return Ok(Stage::native(name, native, segment));
                        }
                        let graph = anatomy.stage(&onnx, segment)?;
                        let part = Part::load(name.clone(), graph, &threads)?;
                        Stage::general(name, part, segment, speaker)
                    };
                    segments.iter().enumerate().map(one).collect()
                };
                let flow = stages("flow", &anatomy.flow)?;
                let decoder = stages("decoder", &anatomy.decoder)?;
                let spreader = Spreader::load(anatomy.spreader(&onnx)?, &anatomy, &threads)?;
                Ok((spreader, flow, decoder))
            };
            let rest = rest();
            (encoder.join(), rest)
        });
        let encoder = encoder.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let (spreader, flow, decoder) = rest?;
        let channels = anatomy.channels;
        Ok(Self {
            config,
            encoder,
            spreader,
            flow,
            decoder,
            channels,
        })
    }

    /// The manner that the voice was made for.
    pub(super) fn manner(&self) -> Manner {
        Manner {
            noise_scale: self.config.noise_scale,
            length_scale: self.config.length_scale,
            speed: 1.0,
            noise_w: self.config.noise_w,
            speaker: 0,
        }
    }

    /// Channels of a latent frame.
    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    /// Samples of a latent frame.
    pub(super) fn hop(&self) -> usize {
        self.stages().map(Stage::rate).product()
    }

    /// Frames that have to follow one before its first sample leaves.
    pub(super) fn frames_ahead(&self) -> usize {
        let mut rate = 1;
        let mut ahead: f64 = 0.0;
        for stage in self.stages() {
            ahead += as_f64(stage.frames_after()) / as_f64(rate);
            rate *= stage.rate();
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "some tens"
        )]
        let ahead = ahead.ceil() as usize;
        ahead
    }

    /// Draws the latent frames of one utterance. `utterance` counts them within a request: each
    /// has its own noise.
    pub(super) fn draw(
        &self,
        ids: &[i64],
        manner: Manner,
        seed: u64,
        utterance: u64,
    ) -> Result<Drawn> {
        within("phonemes", ids.len(), MAX_IDS)?;
        let inputs = Inputs::of(ids, manner);
        let mut noise = Noise::of(seed, utterance, Purpose::Durations);
        let (durations, carried) = self.encoder.run(&inputs, &mut noise)?;
        let counts = paced(&self.encoder.counts(&durations, ids.len())?, manner.speed);
        let durations = Tensor::from_data(
            durations.shape(),
            counts.iter().map(|&n| float(n)).collect::<Vec<_>>(),
        );
        let frames = counts.iter().sum::<usize>();
        within("frames", frames, MAX_FRAMES)?;
        let noise = Noise::of(seed, utterance, Purpose::Frames).take(self.channels * frames);
        let noise = NdTensor::from_data([1, self.channels, frames], noise);
        let drawn = self.spreader.run(&inputs, &durations, carried, &noise)?;
        if drawn.shape() != [1, self.channels, frames] {
            let got = drawn.shape();
            return Err(self.spreader.part.failed(&format!(
                "frames of shape {got:?} in place of [1, {}, {frames}]",
                self.channels
            )));
        }
        Ok(Drawn {
            frames: drawn,
            durations: counts,
        })
    }

    /// Turns the next frames of an utterance into the samples that they settle.
    pub(super) fn vocode(
        &self,
        state: &mut Vocoding,
        frames: Option<Frames>,
        ends: bool,
        speaker: i32,
    ) -> Result<Vec<f32>> {
        state
            .0
            .resize_with(self.flow.len() + self.decoder.len(), Held::default);
        let mut flowing = frames;
        for (stage, held) in self.stages().zip(&mut state.0) {
            flowing = stage.step(held, flowing, ends, speaker)?;
        }
        Ok(flowing.map(NdTensor::into_data).unwrap_or_default())
    }

    fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.flow.iter().chain(&self.decoder)
    }
}

/// Where the description of some weights lies: the same name with `.json` behind it.
pub(super) fn description_of(weights: &Path) -> PathBuf {
    let mut name = weights.as_os_str().to_owned();
    name.push(".json");
    PathBuf::from(name)
}

struct Inputs {
    ids: NdTensor<i32, 2>,
    lengths: NdTensor<i32, 1>,
    scales: NdTensor<f32, 1>,
    speaker: NdTensor<i32, 1>,
}

impl Inputs {
    fn of(ids: &[i64], manner: Manner) -> Self {
        let Manner {
            noise_scale,
            length_scale,
            noise_w,
            speaker,
            ..
        } = manner;
        // Symbols are numbered from 0 to some hundreds; what is not a number of the voice is
        // refused by its embedding.
        let ids: Vec<i32> = ids
            .iter()
            .map(|&id| i32::try_from(id).unwrap_or(i32::MAX))
            .collect();
        let count = i32::try_from(ids.len()).unwrap_or(i32::MAX);
        Self {
            ids: NdTensor::from_data([1, ids.len()], ids),
            lengths: NdTensor::from_data([1], vec![count]),
            scales: NdTensor::from_data([3], vec![noise_scale, length_scale, noise_w]),
            speaker: NdTensor::from_data([1], vec![speaker]),
        }
    }
}

impl Given {
    fn of(part: &Part, anatomy: &Anatomy) -> Self {
        Self {
            ids: part.find(&anatomy.ids),
            lengths: part.find(&anatomy.lengths),
            scales: part.find(&anatomy.scales),
            speaker: anatomy.speaker.as_deref().and_then(|name| part.find(name)),
        }
    }

    fn inputs<'a>(&self, inputs: &'a Inputs) -> Vec<(NodeId, ValueOrView<'a>)> {
        let ids = self.ids.map(|id| (id, inputs.ids.view().into()));
        let lengths = self.lengths.map(|id| (id, inputs.lengths.view().into()));
        let scales = self.scales.map(|id| (id, inputs.scales.view().into()));
        let speaker = self.speaker.map(|id| (id, inputs.speaker.view().into()));
        [ids, lengths, scales, speaker]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl Encoder {
    fn load(graph: Vec<u8>, anatomy: &Anatomy, threads: &Threads) -> Result<Self> {
        let part = Part::load("encoder", graph, threads)?;
        let noise = anatomy
            .duration_noise
            .as_deref()
            .map(|name| part.value(name))
            .transpose()?;
        Ok(Self {
            given: Given::of(&part, anatomy),
            noise,
            part,
        })
    }

    /// The durations, and the values that are carried past them.
    fn run(&self, inputs: &Inputs, noise: &mut Noise) -> Result<(Tensor<f32>, Vec<Value>)> {
        // The duration predictor draws two numbers per id: one that becomes the duration, one
        // that the flow mixes with it.
        let count = inputs.ids.size(1);
        let noise = NdTensor::from_data([1, 2, count], noise.take(2 * count));
        let mut given = self.given.inputs(inputs);
        given.extend(self.noise.map(|id| (id, noise.view().into())));
        let mut outputs = self.part.run(given)?.into_iter();
        let durations = outputs
            .next()
            .ok_or_else(|| self.part.failed(&"it gave nothing"))?;
        let durations = durations
            .try_into()
            .map_err(|error| self.part.failed(&format!("{error:?}")))?;
        Ok((durations, outputs.collect()))
    }

    fn counts(&self, durations: &Tensor<f32>, ids: usize) -> Result<Vec<usize>> {
        let counts: Vec<usize> = durations
            .iter()
            .filter_map(|&frames| whole(frames))
            .collect();
        if counts.len() != ids {
            return Err(self
                .part
                .failed(&format!("{} durations for {ids} phonemes", counts.len())));
        }
        Ok(counts)
    }
}

impl Spreader {
    fn load(graph: Vec<u8>, anatomy: &Anatomy, threads: &Threads) -> Result<Self> {
        let part = Part::load("spreader", graph, threads)?;
        Ok(Self {
            given: Given::of(&part, anatomy),
            durations: part.find(&anatomy.durations),
            noise: part.value(&anatomy.frame_noise)?,
            carried: anatomy
                .carried
                .iter()
                .map(|name| part.value(name))
                .collect::<Result<_>>()?,
            part,
        })
    }

    fn run(
        &self,
        inputs: &Inputs,
        durations: &Tensor<f32>,
        carried: Vec<Value>,
        noise: &Frames,
    ) -> Result<Frames> {
        let mut given = self.given.inputs(inputs);
        given.extend(self.durations.map(|id| (id, durations.view().into())));
        given.push((self.noise, noise.view().into()));
        given.extend(
            self.carried
                .iter()
                .copied()
                .zip(carried.into_iter().map(ValueOrView::Value)),
        );
        let output = self.part.run(given)?.pop();
        let output = output.ok_or_else(|| self.part.failed(&"it gave nothing"))?;
        output
            .try_into()
            .map_err(|error| self.part.failed(&format!("{error:?}")))
    }
}

fn within(of: &'static str, got: usize, limit: usize) -> Result<()> {
    if got <= limit {
        Ok(())
    } else {
        Err(Error::TooLong { of, got, limit })
    }
}

/// The durations at another pace, with the rhythm kept and the sum exact.
///
/// The graph rounds each duration up to whole frames, so asking it for speech twice as fast makes
/// it half again as fast: there are two frames to most phonemes. Instead the durations of the
/// voice's own pace are divided, and the fractions carried from one phoneme to the next. At high
/// speeds a padding may have no frame at all. There is at least one frame in all.
fn paced(durations: &[usize], speed: f32) -> Vec<usize> {
    let (mut at, mut end) = (0_usize, 0_usize);
    let mut paced: Vec<usize> = durations
        .iter()
        .map(|duration| {
            at += duration;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at most a million frames for each of a thousand phonemes, times four"
            )]
            let next = (as_f64(at) / f64::from(speed)).round() as usize;
            std::mem::replace(&mut end, next).abs_diff(next)
        })
        .collect();
    if let (0, Some(first)) = (end, paced.first_mut()) {
        *first = 1;
    }
    paced
}

/// A count that a model wrote as a float; none where it is no count.
fn whole(value: f32) -> Option<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be small and positive"
    )]
    (0.0..1e6).contains(&value).then_some(value as usize)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "frames of one phoneme, far below 2^24"
)]
fn float(count: usize) -> f32 {
    count as f32
}

fn as_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_divides_the_sum_and_keeps_the_rhythm() {
        let cases: [(&[usize], f32, &[usize]); 5] = [
            (&[3, 1, 4], 1.0, &[3, 1, 4]),
            (&[2, 2, 2, 2], 2.0, &[1, 1, 1, 1]),
            (&[1, 1, 1, 1], 2.0, &[1, 0, 1, 0]),
            (&[3, 1], 0.5, &[6, 2]),
            (&[1], 4.0, &[1]),
        ];
        for (durations, speed, expected) in cases {
            assert_eq!(
                paced(durations, speed),
                expected,
                "{durations:?} at {speed}"
            );
        }
    }
}
