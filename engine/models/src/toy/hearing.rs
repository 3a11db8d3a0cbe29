//! Two models without weights that hear: one tells sound from silence, the other reads a toy's
//! tones as the letters that they are. With them a conversation by voice is held in milliseconds.
//!
//! ```text
//! requester ─sound: frames of 512 samples─▶ [listen: ear] ─▶ a probability for each
//! a recording ─▶ [write: scribe] ─▶ text
//! ```
//!
//! What always holds: what a toy says at its own pace, in lower-case letters, spaces, commas and
//! full stops, is written down as it was said, whatever silence stands before or behind it.

use std::{f32::consts::TAU, sync::Arc};

use graph::{
    Call, ConnectionSpec, Element, EngineKind, Graph, InputId, Kind, Modality, NodeId, NodeSpec,
    PartitionId, PartitionSpec, PortType, WalkId,
    stream::{ChunkPolicy, Config as Stream},
};
use runtime::{
    Admitted, Cause, Error, Input, Member, Model, ModelInfo, Next, Options, Payload, Progress,
    Sound, Source, Submodule,
};
use tensor::Tensor;

use super::submodules::pitch;
use crate::Result;

/// Samples per second of what is heard.
const RATE: u32 = 16_000;
/// Samples of a frame: 32 ms.
const FRAME: usize = 512;
/// Frames that may wait: 8 s.
const FRAMES: usize = 256;
/// Samples of a letter, 60 ms.
const LETTER: usize = 960;
/// A sample this loud is sound.
const AUDIBLE: f32 = 0.01;

/// Tells sound from silence.
pub struct Ear {
    graph: Arc<Graph>,
    info: ModelInfo,
    listen: Option<WalkId>,
}

impl Ear {
    /// The id by which requests ask for it.
    pub const ID: &'static str = "toy-vad";

    /// An ear.
    ///
    /// # Errors
    /// [`crate::Error::Declaration`] never happens for the graph that is built here.
    pub fn new() -> Result<Self> {
        let sound = PortType::of(Kind::Samples)
            .element(Element::F32)
            .shape([Some(FRAME)]);
        let ear = NodeSpec::new("ear", EngineKind::Stateless)
            .input("sound", sound)
            .output("speech", PortType::of(Kind::Features));
        let stream = Stream::new(ChunkPolicy::Fixed { chunk: 1 }).capacity(FRAMES);
        let graph = Graph::builder(Self::ID)
            .node(ear)
            .walk("listen", Call::new("ear").emit("speech", Modality::Scalar))
            .partition(PartitionSpec::new("ear", ["listen"]))
            .connection(ConnectionSpec::from_requester(
                "ear", "ear", "sound", stream,
            ));
        let graph = built(Self::ID, graph)?;
        Ok(Self {
            info: ModelInfo {
                id: Self::ID.to_owned(),
                kind: Self::ID.to_owned(),
                description: "Tells sound from silence, to try conversations without a download"
                    .to_owned(),
                inputs: vec![Modality::Audio],
                outputs: vec![Modality::Scalar],
                hears: Some(RATE),
                hears_streams: true,
                ..toy_info()
            },
            listen: graph.walk_named("listen").map(|walk| walk.id()),
            graph: Arc::new(graph),
        })
    }
}

fn toy_info() -> ModelInfo {
    ModelInfo {
        licence: "none needed: it has no weights".to_owned(),
        weights: "none: it measures, it does not understand".to_owned(),
        ..ModelInfo::default()
    }
}

fn built(model: &str, graph: graph::GraphBuilder) -> Result<Graph> {
    graph.build().map_err(|findings| crate::Error::Declaration {
        model: model.to_owned(),
        problem: findings.to_string(),
    })
}

impl Model for Ear {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, options: &Options) -> runtime::Result<Admitted> {
        options.only(&[])?;
        options.voice_among(&[], 0)?;
        Ok(Arc::new(()))
    }

    fn next(&self, _partition: PartitionId, progress: &Progress<'_>) -> Next {
        match self.listen {
            Some(walk) if !progress.streams_over => Next::Stream { walk },
            _ => Next::Done,
        }
    }

    fn submodule(&self, _node: NodeId) -> runtime::Result<Box<dyn Submodule>> {
        Ok(Box::new(Loudness))
    }
}

/// How loud a frame is, as a probability.
struct Loudness;

impl Submodule for Loudness {
    fn max_batch(&self) -> usize {
        64
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        for member in batch {
            let heard = probability(member);
            match heard {
                Ok(Some(probability)) => member.put("speech", probability),
                Ok(None) => {}
                Err(cause) => member.fail(cause),
            }
        }
    }
}

fn probability(member: &Member<'_>) -> std::result::Result<Option<Tensor>, Cause> {
    let Some(frame) = member.input("sound").first() else {
        return Ok(None);
    };
    let frame = frame
        .as_tensor()
        .ok_or_else(|| Cause::Failed("a frame is no tensor".into()))?;
    let samples = frame.as_f32().map_err(|error| Cause::failed(&error))?;
    let energy: f32 = samples.iter().map(|sample| sample * sample).sum();
    let level = (energy / FRAME as f32).sqrt();
    let probability = Tensor::f32([1], vec![level / (level + AUDIBLE)]);
    probability.map(Some).map_err(|error| Cause::failed(&error))
}

/// Reads tones as letters.
pub struct Scribe {
    graph: Arc<Graph>,
    info: ModelInfo,
    entry: Option<(WalkId, NodeId, InputId)>,
}

impl Scribe {
    /// The id by which requests ask for it.
    pub const ID: &'static str = "toy-scribe";

    /// A scribe.
    ///
    /// # Errors
    /// [`crate::Error::Declaration`] never happens for the graph that is built here.
    pub fn new() -> Result<Self> {
        let scribe = NodeSpec::new("scribe", EngineKind::Stateless)
            .input("begin", PortType::of(Kind::Text))
            .output("text", PortType::of(Kind::Text));
        let graph = Graph::builder(Self::ID)
            .node(scribe)
            .walk("write", Call::new("scribe").emit("text", Modality::Text));
        let graph = built(Self::ID, graph)?;
        let walk = graph.walk_named("write");
        let entry = walk.and_then(|walk| {
            let entry = walk.entries().next()?;
            Some((walk.id(), entry.node, entry.input))
        });
        Ok(Self {
            info: ModelInfo {
                id: Self::ID.to_owned(),
                kind: Self::ID.to_owned(),
                description: "Reads what a toy says, to try conversations without a download"
                    .to_owned(),
                inputs: vec![Modality::Audio],
                outputs: vec![Modality::Text],
                hears: Some(RATE),
                ..toy_info()
            },
            entry,
            graph: Arc::new(graph),
        })
    }
}

impl Model for Scribe {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, options: &Options) -> runtime::Result<Admitted> {
        options.only(&["language"])?;
        options.voice_among(&[], 0)?;
        match &options.audio {
            Some(sound) => Ok(Arc::new(sound.clone())),
            None => Err(Error::InvalidOption {
                name: "audio".to_owned(),
                got: "nothing".to_owned(),
                accepted: format!("a recording of {RATE} Hz"),
            }),
        }
    }

    fn next(&self, _partition: PartitionId, progress: &Progress<'_>) -> Next {
        match self.entry {
            Some((walk, node, input)) if progress.passes == 0 => Next::Walk {
                walk,
                inputs: vec![Input {
                    node,
                    input,
                    source: Source::Given(vec![Payload::from("")]),
                }],
            },
            _ => Next::Done,
        }
    }

    fn submodule(&self, _node: NodeId) -> runtime::Result<Box<dyn Submodule>> {
        Ok(Box::new(Reader {
            pitches: Pitches::new(),
        }))
    }
}

struct Reader {
    pitches: Pitches,
}

impl Submodule for Reader {
    fn max_batch(&self) -> usize {
        8
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        for member in batch {
            match member.request().admitted::<Sound>() {
                Ok(sound) => {
                    let text = self.pitches.read(&sound.samples);
                    if !text.is_empty() {
                        member.put("text", Payload::from(text.as_str()));
                    }
                }
                Err(cause) => member.fail(cause),
            }
        }
    }
}

/// What can be read, with its pitch in Hz.
struct Pitches(Vec<(char, f32)>);

impl Pitches {
    fn new() -> Self {
        let readable = ('a'..='z').chain(['.', ',']);
        // A seed detunes by up to two per cent: half of that is always near.
        Self(
            readable
                .map(|letter| (letter, pitch(letter) * 1.01))
                .collect(),
        )
    }

    /// The letters of a recording, which begin with its first sound.
    fn read(&self, samples: &[f32]) -> String {
        let Some(start) = samples.iter().position(|sample| sample.abs() >= AUDIBLE) else {
            return String::new();
        };
        let letters = samples[start..]
            .chunks(LETTER)
            .filter(|tone| tone.len() * 2 > LETTER);
        let text: String = letters.map(|tone| self.letter(tone)).collect();
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ")
    }

    fn letter(&self, tone: &[f32]) -> char {
        let energy: f32 = tone.iter().map(|sample| sample * sample).sum();
        if (energy / tone.len() as f32).sqrt() < AUDIBLE {
            return ' ';
        }
        let likest = self
            .0
            .iter()
            .max_by(|(_, a), (_, b)| strength(tone, *a).total_cmp(&strength(tone, *b)));
        likest.map_or(' ', |(letter, _)| *letter)
    }
}

/// How much of a tone is of one frequency.
fn strength(tone: &[f32], hertz: f32) -> f32 {
    let turn = TAU * hertz / RATE as f32;
    let (mut cosine, mut sine) = (0.0, 0.0);
    for (index, sample) in tone.iter().enumerate() {
        let angle = turn * index as f32;
        cosine += sample * angle.cos();
        sine += sample * angle.sin();
    }
    cosine * cosine + sine * sine
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A toy's tones at 16 kHz.
    fn say(text: &str, detune: f32) -> Vec<f32> {
        let letters = text.chars().flat_map(|letter| {
            let turn = TAU * pitch(letter) * detune / RATE as f32;
            let loud = if letter == ' ' { 0.0 } else { 0.3 };
            (0..LETTER).map(move |index| loud * (turn * index as f32).sin())
        });
        letters.collect()
    }

    #[test]
    fn letters_are_read_whatever_the_seed_and_the_silence() {
        let text = "the quick brown fox, jumps over a lazy dog.";
        for detune in [1.0, 1.01, 1.02] {
            let sound = [vec![0.0; 1234], say(text, detune), vec![0.0; 8000]].concat();
            assert_eq!(Pitches::new().read(&sound), text);
        }
        assert_eq!(Pitches::new().read(&[0.0; 4000]), "");
    }
}
