//! A recogniser as a model: its graph, what it says about itself, and how it is loaded.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph::{
    Call, EngineKind, Graph, GraphBuilder, InputId, Kind, LoopSpec, Modality, NodeId, NodeSpec,
    PartitionId, PortType, Section, WalkId,
};
use kernels::Pool;
use runtime::{
    Admitted, Input, Model, ModelInfo, Next, Options, Payload, Progress, Source, Submodule,
};
use serde::Deserialize;
use tensor::Tensor;

use super::admit::{Asked, LONGEST};
use super::network::{DecoderWeights, EncoderWeights, Shape};
use super::submodules::{Decoder, Encoder};
use super::vocabulary::Vocabulary;
use super::{DEFAULT_ID, RATE, WRITE_LOOP, ct2, mel};
use crate::dense::tokenizer::Tokenizer;
use crate::dense::weights::{Tensors, safetensors};
use crate::weights::{self, Cache};
use crate::{Error, Result};

/// The largest JSON file that is read.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Which recogniser to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The id by which requests ask for the model.
    pub id: String,
    /// A model of one's own: a folder with `config.json`, `tokenizer.json` and
    /// `model.safetensors`, or with `CTranslate2`'s `model.bin`. None is the installed model of
    /// [`DEFAULT_ID`].
    pub weights: Option<PathBuf>,
    /// Where weights are installed. None is where the environment says.
    pub cache: Option<PathBuf>,
}

impl Default for Config {
    /// The installed model.
    fn default() -> Self {
        Self {
            id: DEFAULT_ID.to_owned(),
            weights: None,
            cache: None,
        }
    }
}

impl Config {
    /// The model in the folder at `path`.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self {
            id: name.to_lowercase(),
            weights: Some(path),
            cache: None,
        }
    }

    /// The model's folder, and its licence as far as it is known.
    fn located(&self) -> weights::Result<(PathBuf, String)> {
        let path = match &self.weights {
            Some(path) => path.clone(),
            None => Cache::at(self.cache.as_ref())?.locate(DEFAULT_ID)?,
        };
        let licence = weights::licence_of(DEFAULT_ID, self.weights.as_ref());
        Ok((path, licence))
    }
}

/// What both nodes work with.
pub(super) struct Shared {
    pub(super) shape: Shape,
    pub(super) encoder: EncoderWeights,
    pub(super) decoder: DecoderWeights,
    pub(super) vocabulary: Vocabulary,
    pub(super) pool: Pool,
}

/// A recogniser that is served.
pub struct Whisper {
    graph: Arc<Graph>,
    info: ModelInfo,
    shared: Arc<Shared>,
    encoder: Option<NodeId>,
    hear: Entry,
    write: Entry,
}

/// A walk and the input that it begins with.
#[derive(Clone, Copy)]
struct Entry {
    walk: WalkId,
    node: NodeId,
    input: InputId,
}

impl Whisper {
    /// Loads a model; its steps may use up to `threads` threads.
    ///
    /// # Errors
    /// [`Error::Load`] where a file is missing, damaged or not of this kind.
    pub fn load(config: &Config, threads: usize) -> Result<Self> {
        let fail = |problem: String| Error::Load {
            model: config.id.clone(),
            problem,
        };
        let unsound = |problem: String| Error::Declaration {
            model: config.id.clone(),
            problem,
        };
        let (path, licence) = config.located().map_err(|error| fail(error.to_string()))?;
        let shared = read(&path, threads).map_err(|error| fail(error.to_string()))?;
        let graph = graph()
            .build()
            .map_err(|findings| unsound(findings.to_string()))?;
        let entry = |name: &str| {
            let walk = graph.walk_named(name)?;
            let entry = walk.entries().next()?;
            Some(Entry {
                walk: walk.id(),
                node: entry.node,
                input: entry.input,
            })
        };
        let entries = entry("hear").zip(entry("write"));
        let (hear, write) = entries.ok_or_else(|| unsound("a walk has no entry".into()))?;
        Ok(Self {
            info: info(config, &path, licence, &shared),
            shared: Arc::new(shared),
            encoder: graph.node_named("encoder"),
            hear,
            write,
            graph: Arc::new(graph),
        })
    }
}

/// The declaration that the module's picture shows.
fn graph() -> GraphBuilder {
    let text = || PortType::of(Kind::Text);
    let states = || PortType::of(Kind::Features);
    let encoder = NodeSpec::new("encoder", EngineKind::Stateless)
        .input("window", PortType::of(Kind::Tokens))
        .output("states", states());
    let decoder = NodeSpec::new("decoder", EngineKind::Streaming)
        .input("states", states())
        .input("last", text())
        .output("last", text())
        .output("text", text())
        .output("segments", text());
    let write = |input: &str| {
        Call::new("decoder")
            .takes([input])
            .emit("text", Modality::Text)
            .emit("segments", Modality::Text)
    };
    let hear = Section::sequence([
        Call::new("encoder").to("states", "decoder", "states"),
        write("states").keep("last"),
    ]);
    let again = write("last").to("last", "decoder", "last");
    Graph::builder("whisper")
        .node(encoder)
        .node(decoder)
        .walk("hear", hear)
        // An answer's own bound is its number of tokens.
        .walk(
            "write",
            LoopSpec::new(WRITE_LOOP, u32::MAX, again).dynamic(),
        )
}

fn info(config: &Config, path: &Path, licence: String, shared: &Shared) -> ModelInfo {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let languages = match shared.vocabulary.languages.len() {
        0 => "English".to_owned(),
        count => format!("{count} languages"),
    };
    ModelInfo {
        id: config.id.clone(),
        kind: "whisper".to_owned(),
        description: format!("Writes down what is said, in {languages}"),
        inputs: vec![Modality::Audio],
        outputs: vec![Modality::Text],
        hears: Some(RATE),
        licence,
        weights: format!("real: {file}"),
        ..ModelInfo::default()
    }
}

impl Model for Whisper {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, options: &Options) -> runtime::Result<Admitted> {
        let longest = (self.shared.shape.positions * 2 * mel::HOP).min(LONGEST);
        Ok(Arc::new(Asked::new(
            options,
            &self.shared.vocabulary,
            longest,
        )?))
    }

    fn next(&self, _partition: PartitionId, progress: &Progress<'_>) -> Next {
        let windows = progress
            .request
            .admitted::<Asked>()
            .map_or(0, |asked| asked.windows.len());
        let window = progress.passes / 2;
        let (entry, source) = match (progress.passes % 2, window < windows as u64) {
            (0, true) => (
                self.hear,
                Source::Given(number(window).into_iter().collect()),
            ),
            (0, false) => return Next::Done,
            _ => (self.write, Source::Kept("last".into())),
        };
        let inputs = vec![Input {
            node: entry.node,
            input: entry.input,
            source,
        }];
        Next::Walk {
            walk: entry.walk,
            inputs,
        }
    }

    fn submodule(&self, node: NodeId) -> runtime::Result<Box<dyn Submodule>> {
        let shared = Arc::clone(&self.shared);
        Ok(if Some(node) == self.encoder {
            Box::new(Encoder::new(shared))
        } else {
            Box::new(Decoder::new(shared))
        })
    }
}

/// A window's number as a payload.
fn number(window: u64) -> Option<Payload> {
    let number = i64::try_from(window).ok()?;
    Tensor::i64([1], vec![number]).ok().map(Payload::Tensor)
}

/// Reads a model's files.
fn read(folder: &Path, threads: usize) -> crate::dense::Result<Shared> {
    let settings = Settings::read(&folder.join("config.json"))?;
    let packed = folder.join("model.bin");
    let tensors = if packed.is_file() {
        ct2::open(&packed)?
    } else {
        safetensors::open(folder)?
    };
    let shape = settings.shape(&tensors)?;
    let path = folder.join("tokenizer.json");
    let tokenizer = Tokenizer::from_json(&path, &contents(&path)?)?;
    let mut vocabulary = Vocabulary::new(&path, tokenizer, shape.vocabulary)?;
    vocabulary.suppressed = settings.suppress_tokens.unwrap_or_default();
    vocabulary.suppressed_first = settings.begin_suppress_tokens.unwrap_or_default();
    Ok(Shared {
        encoder: EncoderWeights::load(&tensors, "model.encoder.", &shape)?,
        decoder: DecoderWeights::load(&tensors, "model.decoder.", &shape)?,
        vocabulary,
        pool: Pool::new(threads),
        shape,
    })
}

/// What `config.json` says, as far as it is needed. `CTranslate2`'s says less: the rest is in the
/// tensors' shapes, with heads of 64.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Settings {
    encoder_attention_heads: Option<usize>,
    decoder_attention_heads: Option<usize>,
    #[serde(alias = "suppress_ids")]
    suppress_tokens: Option<Vec<u32>>,
    #[serde(alias = "suppress_ids_begin")]
    begin_suppress_tokens: Option<Vec<u32>>,
}

impl Settings {
    pub(super) fn read(path: &Path) -> crate::dense::Result<Self> {
        let text = contents(path)?;
        serde_json::from_slice(&text)
            .map_err(|error| crate::dense::Error::malformed(path, error.to_string()))
    }

    pub(super) fn shape(&self, tensors: &Tensors) -> crate::dense::Result<Shape> {
        let axes = |name: &str| tensors.shape::<2>(name);
        let [vocabulary, width] = axes("model.decoder.embed_tokens.weight")?;
        let [positions, _] = axes("model.encoder.embed_positions.weight")?;
        let [context, _] = axes("model.decoder.embed_positions.weight")?;
        let [_, bins, _] = tensors.shape("model.encoder.conv1.weight")?;
        let [encoder_hidden, _] = axes("model.encoder.layers.0.fc1.weight")?;
        let [decoder_hidden, _] = axes("model.decoder.layers.0.fc1.weight")?;
        let layers = |side: &str| {
            let has =
                |layer: &usize| tensors.has(&format!("model.{side}.layers.{layer}.fc1.weight"));
            (0..).take_while(has).count()
        };
        let heads = |given: Option<usize>| given.unwrap_or(width / 64);
        let shape = Shape {
            bins,
            width,
            encoder_heads: heads(self.encoder_attention_heads),
            decoder_heads: heads(self.decoder_attention_heads),
            encoder_hidden,
            decoder_hidden,
            encoder_layers: layers("encoder"),
            decoder_layers: layers("decoder"),
            positions,
            context,
            vocabulary,
        };
        for heads in [shape.encoder_heads, shape.decoder_heads] {
            if heads == 0 || !width.is_multiple_of(heads) {
                let problem = format!("{heads} heads share a width of {width}");
                return Err(crate::dense::Error::malformed(tensors.path(), problem));
            }
        }
        Ok(shape)
    }
}

/// All of a file that is not larger than it may be.
fn contents(path: &Path) -> crate::dense::Result<Vec<u8>> {
    let mut text = Vec::new();
    let file = File::open(path).map_err(crate::dense::Error::io(path))?;
    file.take(MAX_FILE_BYTES)
        .read_to_end(&mut text)
        .map_err(crate::dense::Error::io(path))?;
    Ok(text)
}
