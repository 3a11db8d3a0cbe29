//! A model without weights: every letter is a short tone. It needs no download, costs next to
//! nothing, and makes every path testable: streams, batches, word times, failures, load.
//!
//! ```text
//! requester ─text: characters, cut at clauses─▶ [read: reader] ─notes: one a letter, Ramp─▶ [sound: tone] ─▶ audio
//!                                                     └─▶ words, echo
//! ```
//!
//! What always holds: the audio of a text depends on the text, the voice, the speed and the seed
//! alone, not on how the text was split, batched or timed.

pub mod chat;
mod config;
pub mod hearing;
mod submodules;

pub use config::{Config, mishap};

use std::sync::Arc;

use graph::{
    Call, ConnectionSpec, Element, EngineKind, Graph, Kind, Modality, NodeId, NodeSpec,
    PartitionId, PartitionSpec, PortType, Ratio, WalkId,
    stream::{ChunkPolicy, Config as Stream},
};
use runtime::{
    Admitted, Model, ModelInfo, Next, Options, Placement, Progress, Submodule, VoiceInfo,
};

use self::{
    config::VOICES,
    submodules::{Reader, Tone},
};
use crate::{Error, Result};

/// Samples per second of a toy's audio.
const SAMPLE_RATE: u32 = 24_000;

/// A model without weights.
pub struct Toy {
    config: Config,
    graph: Arc<Graph>,
    info: ModelInfo,
    /// By partition; none for the requester.
    walks: Vec<Option<WalkId>>,
    reader: Option<NodeId>,
}

impl Toy {
    /// A toy of this configuration.
    ///
    /// # Errors
    /// [`Error::Declaration`] never happens for the graph that is built here.
    pub fn new(config: Config) -> Result<Self> {
        let graph = graph().build().map_err(|findings| Error::Declaration {
            model: config.id.clone(),
            problem: findings.to_string(),
        })?;
        let walks = graph
            .partitions()
            .iter()
            .map(graph::Partition::initial)
            .collect();
        Ok(Self {
            info: info(&config),
            reader: graph.node_named("reader"),
            walks,
            graph: Arc::new(graph),
            config,
        })
    }
}

/// The declaration that the picture above shows.
fn graph() -> graph::GraphBuilder {
    let note = PortType::of(Kind::Features)
        .element(Element::F32)
        .shape([Some(2)]);
    let reader = NodeSpec::new("reader", EngineKind::Streaming)
        .input("text", PortType::of(Kind::Text).element(Element::Char))
        .output("notes", note.clone())
        .output("words", PortType::of(Kind::Text))
        .output("echo", PortType::of(Kind::Text));
    let tone = NodeSpec::new("tone", EngineKind::Stateless)
        .input("notes", note)
        .output("audio", PortType::of(Kind::Samples).element(Element::F32));
    let read = Call::new("reader")
        .stream("notes", "tone", "notes")
        .emit("words", Modality::Text)
        .emit("echo", Modality::Text);
    Graph::builder("toy")
        .node(reader)
        .node(tone)
        .walk("read", read)
        .walk("sound", Call::new("tone").emit("audio", Modality::Audio))
        .partition(PartitionSpec::new("text", ["read"]))
        .partition(PartitionSpec::new("wave", ["sound"]))
        .connection(ConnectionSpec::from_requester(
            "text",
            "reader",
            "text",
            Stream::new(TEXT).capacity(4_096),
        ))
        .connection(ConnectionSpec::new(
            "text",
            "wave",
            "tone",
            "notes",
            Stream::new(notes()).capacity(256),
        ))
}

/// A first clause of 8 letters is worth speaking, later ones are longer.
const TEXT: ChunkPolicy = ChunkPolicy::Boundary {
    first_min: 8,
    min: 24,
    max: 120,
    max_wait: None,
};

/// From a quarter of a second of tones to one second.
fn notes() -> ChunkPolicy {
    Ratio::new(2, 1).map_or(ChunkPolicy::Fixed { chunk: 4 }, |double| {
        ChunkPolicy::ramp(4, double, 16)
    })
}

fn info(config: &Config) -> ModelInfo {
    let voice = |(id, description): (&str, &str)| VoiceInfo {
        id: id.to_owned(),
        description: description.to_owned(),
        language: "und".to_owned(),
    };
    ModelInfo {
        id: config.id.clone(),
        kind: "toy".to_owned(),
        description: "A tone for each letter, to try things without a download".to_owned(),
        converses: false,
        inputs: vec![Modality::Text],
        outputs: vec![Modality::Audio, Modality::Text],
        hears: None,
        hears_streams: false,
        sample_rate: Some(SAMPLE_RATE),
        voices: VOICES
            .into_iter()
            .zip(["a soft tone", "a hard tone"])
            .map(voice)
            .collect(),
        default_voice: Some(VOICES[0].to_owned()),
        licence: "none needed: it has no weights".to_owned(),
        weights: "none: computed tones, no speech".to_owned(),
    }
}

impl Model for Toy {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, options: &Options) -> runtime::Result<Admitted> {
        config::Admitted::new(options).map(|admitted| Arc::new(admitted) as Admitted)
    }

    /// Reading and sounding side by side.
    fn placement(&self) -> Placement {
        Placement {
            partitions: [("text".to_owned(), 0), ("wave".to_owned(), 1)].into(),
        }
    }

    fn next(&self, partition: PartitionId, progress: &Progress<'_>) -> Next {
        match self.walks.get(partition.index()).copied().flatten() {
            Some(walk) if !progress.streams_over => Next::Stream { walk },
            _ => Next::Done,
        }
    }

    fn submodule(&self, node: NodeId) -> runtime::Result<Box<dyn Submodule>> {
        let Config {
            step_cost: cost,
            max_batch,
            ..
        } = self.config;
        if Some(node) == self.reader {
            Ok(Box::new(Reader { cost, max_batch }))
        } else {
            Ok(Box::new(Tone { cost, max_batch }))
        }
    }
}
