//! Silero's voice activity detector: does someone speak? Asked and answered every 32 ms.
//!
//! ```text
//! requester ─frames: 512 samples at 16 kHz─▶ [listen: vad] ─speech: a probability for each─▶
//! ```
//!
//! What always holds:
//!
//! * One number leaves for each frame, in order, and depends on that frame and those before it of
//!   the same request: not on how they arrived, nor on who else is listening.
//! * A frame is worked on as soon as its worker has finished the step that it is in, before
//!   whatever has time.
//!
//! The network and its weights are the 16 kHz half of Silero VAD 6.2, out of the ONNX file. (The
//! safetensors file in the same package is another checkpoint.)

mod listen;
mod network;

#[cfg(test)]
pub(crate) mod tests;

use std::{path::PathBuf, sync::Arc};

use graph::{
    Call, ConnectionSpec, Element, EngineKind, Graph, GraphBuilder, Kind, Modality, NodeId,
    NodeSpec, PartitionId, PartitionSpec, PortType, WalkId,
    stream::{ChunkPolicy, Config as Stream},
};
use runtime::{Admitted, Model, ModelInfo, Next, Options, Placement, Progress, Submodule};

use self::{
    listen::Listen,
    network::{FRAME, Network, RATE},
};
use crate::{Error, Result, weights};

/// The id of the model, and of its weights in the catalog.
pub const DEFAULT_ID: &str = "silero-vad";
/// Samples of one frame at 16 kHz; each is answered by one probability.
pub const FRAME_SAMPLES: usize = FRAME;

/// Frames that may wait: half a minute. Who listens live has one waiting at most.
const WAITING: usize = 1_024;
const PARTITION: &str = "ear";

/// Which detector to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The id by which requests ask for it.
    pub id: String,
    /// An ONNX file of the 16 kHz network. None is the installed one.
    pub weights: Option<PathBuf>,
    /// Where weights are installed. None is where the environment says.
    pub cache: Option<PathBuf>,
}

impl Default for Config {
    /// The installed one.
    fn default() -> Self {
        Self {
            id: DEFAULT_ID.to_owned(),
            weights: None,
            cache: None,
        }
    }
}

/// A detector that is served.
pub struct Silero {
    graph: Arc<Graph>,
    info: ModelInfo,
    walk: Option<WalkId>,
    network: Arc<Network>,
}

impl Silero {
    /// Loads the weights.
    ///
    /// # Errors
    /// [`Error::Load`] where the file is missing, damaged, or of another network.
    pub fn load(config: &Config) -> Result<Self> {
        let fail = |problem: String| Error::Load {
            model: config.id.clone(),
            problem,
        };
        let path = weights::file_of(DEFAULT_ID, config.weights.as_ref(), config.cache.as_ref());
        let path = path.map_err(|error| fail(error.to_string()))?;
        let network =
            Network::load(&path).map_err(|error| fail(format!("{}: {error}", path.display())))?;
        let graph = declared().build().map_err(|findings| Error::Declaration {
            model: config.id.clone(),
            problem: findings.to_string(),
        })?;
        Ok(Self {
            info: info(config),
            walk: graph.walk_named("listen").map(|walk| walk.id()),
            network: Arc::new(network),
            graph: Arc::new(graph),
        })
    }
}

/// The declaration that the picture above shows.
fn declared() -> GraphBuilder {
    let frame = PortType::of(Kind::Samples)
        .element(Element::F32)
        .shape([Some(FRAME)]);
    let speech = PortType::of(Kind::Scalar)
        .element(Element::F32)
        .shape([Some(1)]);
    let vad = NodeSpec::new("vad", EngineKind::Streaming)
        .input("frames", frame)
        .output("speech", speech);
    let frames = Stream::new(ChunkPolicy::Fixed { chunk: 1 }).capacity(WAITING);
    Graph::builder("silero")
        .node(vad)
        .walk("listen", Call::new("vad").emit("speech", Modality::Scalar))
        .partition(PartitionSpec::new(PARTITION, ["listen"]))
        .connection(ConnectionSpec::from_requester(
            PARTITION, "vad", "frames", frames,
        ))
}

fn info(config: &Config) -> ModelInfo {
    ModelInfo {
        id: config.id.clone(),
        kind: "silero".to_owned(),
        description: "Says every 32 ms how likely it is that someone speaks".to_owned(),
        inputs: vec![Modality::Audio],
        outputs: vec![Modality::Scalar],
        hears: Some(RATE),
        hears_streams: true,
        licence: weights::licence_of(DEFAULT_ID, config.weights.as_ref()),
        weights: "real: Silero VAD 6.2, 16 kHz".to_owned(),
        ..ModelInfo::default()
    }
}

impl Model for Silero {
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

    /// Apart from whatever takes long, where there is a worker for it.
    fn placement(&self) -> Placement {
        Placement {
            partitions: [(PARTITION.to_owned(), Placement::LAST)].into(),
        }
    }

    fn next(&self, _partition: PartitionId, progress: &Progress<'_>) -> Next {
        match self.walk {
            Some(walk) if !progress.streams_over => Next::Stream { walk },
            _ => Next::Done,
        }
    }

    fn submodule(&self, _node: NodeId) -> runtime::Result<Box<dyn Submodule>> {
        Ok(Box::new(Listen::new(Arc::clone(&self.network))))
    }
}
