//! A dense language model as a model: its graph, what it says about itself, and how it is loaded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use graph::{
    Call, EngineKind, Graph, GraphBuilder, InputId, Kind, LoopSpec, Modality, NodeId, NodeSpec,
    PartitionId, PortType, Section, WalkId,
};
use kernels::Pool;
use runtime::{
    Admitted, Input, Model, ModelInfo, Next, Options, Payload, Progress, RequestInfo, Sampling,
    Source, Submodule, kv,
};

use super::admit::{Asked, Terms};
use super::causal::Dense;
use super::checkpoint::{Checkpoint, Texts};
use super::config::Architecture;
use super::forward::Forward;
use super::network::Network;
use super::submodules::Detokenize;
use super::{DECODE_LOOP, DEFAULT_ID};
use crate::weights;
use crate::{Error, Result};

/// Which language model to serve.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The id by which requests ask for the model.
    pub id: String,
    /// A model of one's own: a `.gguf` file, or a folder with `config.json`, `tokenizer.json` and
    /// `model.safetensors`. None is the installed model of [`DEFAULT_ID`].
    pub weights: Option<PathBuf>,
    /// Where weights are installed. None is where the environment says.
    pub cache: Option<PathBuf>,
    /// Bytes for the keys and values of all conversations together. Pages are touched when they
    /// are first used.
    pub kv_bytes: usize,
    /// Tokens of all requests that one step may work on. More read a long prompt faster and make
    /// others wait longer.
    pub token_budget: usize,
    /// What a request does not say about its sampling.
    pub defaults: Sampling,
}

impl Default for Config {
    /// The installed model. What is sampled is cooled down as its makers advise: a small model is
    /// sure of little.
    fn default() -> Self {
        Self {
            id: DEFAULT_ID.to_owned(),
            weights: None,
            cache: None,
            kv_bytes: 512 << 20,
            token_budget: 128,
            defaults: Sampling {
                temperature: Some(0.2),
                top_p: Some(0.9),
                ..Sampling::default()
            },
        }
    }
}

impl Config {
    /// The model in the file or folder at `path`.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self {
            id: name.to_lowercase(),
            weights: Some(path),
            defaults: Sampling::default(),
            ..Self::default()
        }
    }

    /// The model's file or folder, and its licence as far as it is known.
    fn located(&self) -> weights::Result<(PathBuf, String)> {
        let path = weights::file_of(DEFAULT_ID, self.weights.as_ref(), self.cache.as_ref())?;
        let licence = weights::licence_of(DEFAULT_ID, self.weights.as_ref());
        Ok((path, licence))
    }
}

/// A language model that is served.
pub struct Language {
    graph: Arc<Graph>,
    info: ModelInfo,
    config: Config,
    texts: Arc<Texts>,
    network: Arc<Network>,
    pool: Arc<Pool>,
    llm: Option<NodeId>,
    prefill: Entry,
    decode: Entry,
    /// The most tokens of a conversation with its answer.
    context: usize,
    /// For keys and values.
    pages: u32,
}

/// A walk and the input that it begins with.
#[derive(Clone, Copy)]
struct Entry {
    walk: WalkId,
    node: NodeId,
    input: InputId,
}

impl Language {
    /// Loads a model; its steps may use up to `threads` threads.
    ///
    /// # Errors
    /// [`Error::Load`] where a file is missing, damaged or of a family that is not built.
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
        let (network, texts) = read(&path).map_err(|error| fail(error.to_string()))?;
        let shape = &network.architecture;
        let pages = pages(config.kv_bytes, shape);
        if pages == 0 {
            let least = page_bytes(shape);
            let problem = format!(
                "{} bytes for keys and values, at least {least}",
                config.kv_bytes
            );
            return Err(fail(problem));
        }
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
        let entries = entry("prefill").zip(entry("decode"));
        let (prefill, decode) = entries.ok_or_else(|| unsound("a walk has no entry".into()))?;
        Ok(Self {
            info: info(config, &path, licence, shape),
            llm: graph.node_named("llm"),
            prefill,
            decode,
            context: shape.context.min(pages as usize * PAGE_TOKENS),
            pages,
            config: config.clone(),
            texts: Arc::new(texts),
            network: Arc::new(network),
            pool: Arc::new(Pool::new(threads)),
            graph: Arc::new(graph),
        })
    }
}

/// Reads a model's files, and checks that its tokenizer and its tensors belong together.
fn read(path: &Path) -> super::Result<(Network, Texts)> {
    let checkpoint = Checkpoint::open(path)?;
    let texts = checkpoint.texts()?;
    let network = Network::load(&checkpoint)?;
    let (tokens, rows) = (
        texts.tokenizer.vocabulary(),
        network.architecture.vocabulary,
    );
    if tokens > rows {
        let problem = format!("the tokenizer has {tokens} tokens, the embedding has {rows}");
        return Err(super::Error::malformed(path, problem));
    }
    Ok((network, texts))
}

/// Tokens of a page: few are lost at the end of a conversation, and a table of pages is short.
const PAGE_TOKENS: usize = 16;

/// Bytes of a page: keys and values of all layers in f32.
fn page_bytes(shape: &Architecture) -> usize {
    let token = shape.layers * shape.kv_width() * 2 * size_of::<f32>();
    token * PAGE_TOKENS
}

/// Pages that so many bytes hold.
fn pages(bytes: usize, shape: &Architecture) -> u32 {
    u32::try_from(bytes / page_bytes(shape)).unwrap_or(u32::MAX)
}

/// The declaration that the module's picture shows.
fn graph() -> GraphBuilder {
    let tokens = || PortType::of(Kind::Tokens);
    let llm = NodeSpec::new("llm", EngineKind::Kv)
        .input("tokens", tokens())
        .output("token", tokens())
        .output("tokens", tokens());
    let detokenize = NodeSpec::new("detokenize", EngineKind::Streaming)
        .input("token", tokens())
        .output("text", PortType::of(Kind::Text));
    let choose = || Call::new("llm").to("token", "detokenize", "token");
    let write = || Call::new("detokenize").emit("text", Modality::Text);
    let read = Section::sequence([choose().keep("tokens"), write()]);
    let answer = Section::sequence([choose().to("tokens", "llm", "tokens"), write()]);
    Graph::builder("dense")
        .node(llm)
        .node(detokenize)
        .walk("prefill", read)
        // An answer's own bound is its number of tokens.
        .walk(
            "decode",
            LoopSpec::new(DECODE_LOOP, u32::MAX, answer).dynamic(),
        )
}

fn info(config: &Config, path: &Path, licence: String, shape: &Architecture) -> ModelInfo {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    ModelInfo {
        id: config.id.clone(),
        kind: "dense".to_owned(),
        description: format!(
            "A language model that continues a conversation of up to {} tokens",
            shape.context
        ),
        converses: true,
        inputs: vec![Modality::Text],
        outputs: vec![Modality::Text],
        licence,
        weights: format!("real: {file}"),
        ..ModelInfo::default()
    }
}

impl Model for Language {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, options: &Options) -> runtime::Result<Admitted> {
        let asked = Asked::new(
            options,
            &Terms {
                texts: &self.texts,
                context: self.context,
                vocabulary: self.network.architecture.vocabulary,
                ends: &self.network.architecture.ends,
                defaults: &self.config.defaults,
                now: now(),
            },
        )?;
        Ok(Arc::new(asked))
    }

    fn next(&self, _partition: PartitionId, progress: &Progress<'_>) -> Next {
        let (entry, source) = match progress.passes {
            0 => (self.prefill, Source::Given(prompt(progress.request))),
            1 => (self.decode, Source::Kept("tokens".into())),
            _ => return Next::Done,
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
        if Some(node) != self.llm {
            return Ok(Box::new(Detokenize::new(Arc::clone(&self.texts))));
        }
        let forward = Forward::new(
            Arc::clone(&self.network),
            Arc::clone(&self.pool),
            self.pages as usize,
            PAGE_TOKENS,
        );
        let forward = forward.ok_or_else(|| runtime::Error::Setup {
            problem: format!("{} bytes hold no keys and values", self.config.kv_bytes),
        })?;
        let pool = kv::Pool::new(kv::Config {
            pages: self.pages as usize,
            page_tokens: PAGE_TOKENS,
            token_budget: self.config.token_budget,
            ..kv::Config::default()
        });
        let vocabulary = self.network.architecture.vocabulary;
        Ok(Box::new(kv::Engine::new(
            Dense::new(forward, vocabulary),
            pool,
        )))
    }
}

/// The tokens that a request begins with.
fn prompt(request: &RequestInfo) -> Vec<Payload> {
    // A request that was admitted by another model has none, which its node says.
    let asked = request.admitted::<Asked>().ok();
    asked
        .map(|asked| asked.prompt.clone().into())
        .into_iter()
        .collect()
}

/// Seconds since 1970.
fn now() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the date that a template writes into a conversation; nothing is timed by it"
    )]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
