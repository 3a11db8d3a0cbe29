//! A VITS voice as a model: its graph, what it says about itself, and how it is loaded.

use std::{path::PathBuf, sync::Arc, thread};

use graph::{
    Call, ConnectionSpec, Element, EngineKind, Graph, GraphBuilder, Kind, Modality, NodeId,
    NodeSpec, PartitionId, PartitionSpec, PortType, Ratio, Section, WalkId,
    stream::{ChunkPolicy, Config as Stream},
};
use runtime::{
    Admitted, Model, ModelInfo, Next, Options, Placement, Progress, Submodule, VoiceInfo,
};

use super::{
    options,
    submodules::{Frontend, Latents, Vocoder},
    voice::{MAX_FRAMES, Voice, description_of},
};
use crate::{
    Error, Result, text,
    weights::{self, Cache},
};

/// The id of the default voice, which is also the name of its folder.
pub const DEFAULT_ID: &str = "voice-en-us-joe";

/// Which voice to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The id by which requests ask for the model.
    pub id: String,
    /// A voice of one's own: its `<name>.onnx`, with `<name>.onnx.json` beside it. None is the
    /// default voice, installed.
    pub weights: Option<PathBuf>,
    /// Where weights are installed. None is where the environment says.
    pub cache: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            id: DEFAULT_ID.to_owned(),
            weights: None,
            cache: None,
        }
    }
}

/// The files that a configuration stands for.
#[derive(Clone, Debug)]
pub(super) struct Files {
    /// The voice's graph with its weights.
    pub(super) weights: PathBuf,
    /// What the front end reads.
    pub(super) text: text::Paths,
    /// The licence of the weights, as far as it is known.
    licence: String,
}

impl Files {
    /// Finds what is installed; the error says what to run.
    pub(super) fn of(config: &Config) -> weights::Result<Self> {
        let cache = Cache::at(config.cache.as_ref())?;
        let (lexicon, letters) = (cache.locate("lexicon-en")?, cache.locate("g2p-en")?);
        let (weights, licence) = match &config.weights {
            Some(path) => {
                let voice = weights::Voice::at(path)?;
                (
                    voice.weights,
                    "not known here: see what came with the voice".to_owned(),
                )
            }
            None => {
                let entry = weights::entry(DEFAULT_ID)?;
                let mut names = entry.files.iter().map(|file| file.name);
                let name = names
                    .find(|name| name.ends_with(".onnx"))
                    .unwrap_or_default();
                let licence = format!("{}; {}", entry.licence, entry.note);
                (cache.locate(DEFAULT_ID)?.join(name), licence)
            }
        };
        let text = text::Paths {
            gold: lexicon.join("us_gold.json"),
            silver: lexicon.join("us_silver.json"),
            g2p: letters.join("checkpoint20.npz"),
            homographs: letters.join("homographs.en"),
        };
        Ok(Self {
            weights,
            text,
            licence,
        })
    }
}

/// A voice that is served.
pub struct Vits {
    graph: Arc<Graph>,
    info: ModelInfo,
    voice: Arc<Voice>,
    frontend: text::Frontend,
    phonemes: Arc<text::PhonemeMap>,
    /// The names by which requests choose a speaker.
    voices: Vec<(String, i32)>,
    /// By partition; none for the requester.
    walks: Vec<Option<WalkId>>,
    nodes: [Option<NodeId>; 2],
}

impl Vits {
    /// Loads a voice; its steps may use up to `threads` threads.
    ///
    /// # Errors
    /// [`Error::Load`] where a file is missing, damaged or not of this family.
    pub fn load(config: &Config, threads: usize) -> Result<Self> {
        let fail = |problem: String| Error::Load {
            model: config.id.clone(),
            problem,
        };
        let files = Files::of(config).map_err(|error| fail(error.to_string()))?;
        // The lexicon takes as long as the weights, and neither needs the other.
        let (voice, words) = thread::scope(|scope| {
            let words = scope.spawn(|| text::Frontend::load(&files.text));
            let voice = Voice::load(&files.weights, threads);
            (voice, words.join())
        });
        let voice = voice.map_err(|error| fail(error.to_string()))?;
        let frontend = words
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .map_err(|error| fail(error.to_string()))?;
        let phonemes = text::PhonemeMap::load(&description_of(&files.weights))
            .map_err(|error| fail(error.to_string()))?;
        let graph = graph(voice.channels(), voice.frames_ahead());
        let graph = graph.build().map_err(|findings| Error::Declaration {
            model: config.id.clone(),
            problem: findings.to_string(),
        })?;
        let voices = voices(&voice, &files);
        Ok(Self {
            info: info(&voice, config, &files, &voices),
            walks: graph
                .partitions()
                .iter()
                .map(graph::Partition::initial)
                .collect(),
            nodes: ["frontend", "latents"].map(|name| graph.node_named(name)),
            graph: Arc::new(graph),
            voice: Arc::new(voice),
            frontend,
            phonemes: Arc::new(phonemes),
            voices,
        })
    }
}

/// Sentences keep their melody when they are drawn whole. Only the first piece of a request may
/// be a short clause, so that something is heard soon; later ones are whole sentences, unless one
/// is longer than three hundred characters.
const TEXT: ChunkPolicy = ChunkPolicy::Boundary {
    first_min: 24,
    min: 160,
    max: 300,
    max_wait: None,
};

/// Characters of text that may wait.
const TEXT_CAPACITY: usize = 8_192;

/// How many frames leave together, when `ahead` of them only look ahead in the first chunk.
///
/// The first chunk gives 28 frames of sound, a third of a second: as much as the second one takes
/// to compute on a busy core. Behind it chunks grow by a half up to 128 frames. Measured on one
/// thread of an EPYC (Zen 3) that others shared, in CPU seconds per second of audio:
///
/// | frames in a chunk | 12 | 24 | 48 | 96 | 192 | all 390 at once |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | flow and decoder | 0.199 | 0.161 | 0.150 | 0.148 | 0.154 | 0.169 |
///
/// Each chunk computes about ten frames of the flow and two of the decoder twice; from 24 frames
/// on that is less than what smaller buffers save by staying in the cache. Chunks larger than 128
/// frames gain nothing and make other requests wait.
fn ramp(ahead: usize) -> ChunkPolicy {
    let first = ahead + 28;
    let max = first.max(128);
    Ratio::new(3, 2).map_or(ChunkPolicy::Fixed { chunk: first }, |grow| {
        ChunkPolicy::ramp(first, grow, max)
    })
}

/// The declaration that the module's picture shows.
fn graph(channels: usize, ahead: usize) -> GraphBuilder {
    let phonemes = || PortType::of(Kind::Tokens).element(Element::I64);
    let frame = || {
        PortType::of(Kind::Latents)
            .element(Element::F32)
            .shape([Some(channels)])
    };
    let words = || PortType::of(Kind::Text);
    let pause = || PortType::of(Kind::Scalar);
    let frontend = NodeSpec::new("frontend", EngineKind::Stateless)
        .input("text", PortType::of(Kind::Text).element(Element::Char))
        .output("phonemes", phonemes())
        .output("words", words())
        .output("pause", pause());
    let latents = NodeSpec::new("latents", EngineKind::Streaming)
        .input("phonemes", phonemes())
        .input("words", words())
        .input("pause", pause())
        .output("frames", frame())
        .output("words", words());
    let vocoder = NodeSpec::new("vocoder", EngineKind::Streaming)
        .input("frames", frame())
        .output("audio", PortType::of(Kind::Samples).element(Element::F32));
    let synthesize = Section::sequence([
        Call::new("frontend")
            .to("phonemes", "latents", "phonemes")
            .to("words", "latents", "words")
            .to("pause", "latents", "pause"),
        Call::new("latents")
            .stream("frames", "vocoder", "frames")
            .emit("words", Modality::Text),
    ]);
    Graph::builder("vits")
        .node(frontend)
        .node(latents)
        .node(vocoder)
        .walk("synthesize", synthesize)
        .walk(
            "vocode",
            Call::new("vocoder").emit("audio", Modality::Audio),
        )
        .partition(PartitionSpec::new("text", ["synthesize"]))
        .partition(PartitionSpec::new("wave", ["vocode"]))
        .connection(ConnectionSpec::from_requester(
            "text",
            "frontend",
            "text",
            Stream::new(TEXT).capacity(TEXT_CAPACITY),
        ))
        .connection(ConnectionSpec::new(
            "text",
            "wave",
            "vocoder",
            "frames",
            // One utterance of the greatest length: a sentence is drawn when the one before it is
            // on its way to the listener.
            Stream::new(ramp(ahead)).capacity(MAX_FRAMES + 1),
        ))
}

/// A voice with several speakers is chosen by their names, one with a single speaker by its own:
/// `joe` of `en_US-joe-medium.onnx`.
fn voices(voice: &Voice, files: &Files) -> Vec<(String, i32)> {
    let speakers = &voice.config.speakers;
    if !speakers.is_empty() {
        return speakers
            .iter()
            .map(|(name, &id)| (name.clone(), id))
            .collect();
    }
    let file = files
        .weights
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let name = file.split('-').nth(1).unwrap_or(&file);
    vec![(name.to_owned(), 0)]
}

fn info(voice: &Voice, config: &Config, files: &Files, voices: &[(String, i32)]) -> ModelInfo {
    let language = tag(&voice.config.language);
    let one = |(name, _): &(String, i32)| VoiceInfo {
        id: name.clone(),
        description: format!("{name}, a VITS voice"),
        language: language.clone(),
    };
    let file = files
        .weights
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    ModelInfo {
        id: config.id.clone(),
        kind: "vits".to_owned(),
        description: "A VITS voice that speaks as text arrives".to_owned(),
        converses: false,
        inputs: vec![Modality::Text],
        outputs: vec![Modality::Audio, Modality::Text],
        hears: None,
        hears_streams: false,
        sample_rate: Some(voice.config.sample_rate),
        voices: voices.iter().map(one).collect(),
        default_voice: voices.first().map(|(name, _)| name.clone()),
        licence: files.licence.clone(),
        weights: format!("real: {file}"),
    }
}

/// A language tag of espeak-ng's name: `en-US` of `en-us`.
fn tag(language: &str) -> String {
    match language.split_once('-') {
        Some((language, region)) if region.len() == 2 => {
            format!("{language}-{}", region.to_ascii_uppercase())
        }
        _ if language.is_empty() => "und".to_owned(),
        _ => language.to_owned(),
    }
}

impl Model for Vits {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, options: &Options) -> runtime::Result<Admitted> {
        let admitted = options::Admitted::new(options, &self.voices, self.voice.manner())?;
        Ok(Arc::new(admitted))
    }

    /// Text and wave side by side where there are two workers: the next sentence is drawn while
    /// this one sounds.
    fn placement(&self) -> Placement {
        let partitions = [("text".to_owned(), 0), ("wave".to_owned(), 1)];
        Placement {
            partitions: partitions.into(),
        }
    }

    fn next(&self, partition: PartitionId, progress: &Progress<'_>) -> Next {
        match self.walks.get(partition.index()).copied().flatten() {
            Some(walk) if !progress.streams_over => Next::Stream { walk },
            _ => Next::Done,
        }
    }

    fn submodule(&self, node: NodeId) -> runtime::Result<Box<dyn Submodule>> {
        let voice = Arc::clone(&self.voice);
        let [frontend, latents] = self.nodes;
        if Some(node) == frontend {
            let phonemes = Arc::clone(&self.phonemes);
            return Ok(Box::new(Frontend::new(self.frontend.clone(), phonemes)));
        }
        if Some(node) == latents {
            return Ok(Box::new(Latents::new(voice)));
        }
        Ok(Box::new(Vocoder::new(voice)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_is_sound() {
        let graph = graph(192, 43).build().unwrap();
        assert_eq!(graph.partitions().len(), 3, "the requester, text and wave");
        assert!(graph.walk_named("synthesize").is_some() && graph.walk_named("vocode").is_some());
    }

    #[test]
    fn languages_have_tags() {
        for (espeak, expected) in [
            ("en-us", "en-US"),
            ("de", "de"),
            ("", "und"),
            ("es-419", "es-419"),
        ] {
            assert_eq!(tag(espeak), expected);
        }
    }
}
