//! Smart Turn: is who spoke done, or only breathing? Asked at a pause, answered by a probability.
//!
//! ```text
//! a recording at 16 kHz ─▶ [judge: ear] ─complete: a probability─▶
//! ```
//!
//! What always holds: the answer depends on the last 8 s of the recording alone, and to the bit not
//! on who else asks.
//!
//! The network and its weights are Smart Turn v3.2, out of the ONNX file; `network.rs` tells what is
//! done with its 8 bits.

mod network;

#[cfg(test)]
mod tests;

use std::{path::PathBuf, sync::Arc, time::Duration};

use graph::{
    Call, Element, EngineKind, Graph, GraphBuilder, InputId, Kind, Modality, NodeId, NodeSpec,
    PartitionId, PortType, WalkId,
};
use kernels::Pool;
use runtime::{
    Admitted, Cause, Input, Member, Model, ModelInfo, Next, Options, Payload, Progress, Sound,
    Source, Submodule,
};
use tensor::Tensor;

use self::network::{Network, RATE};
use crate::{Error, Result, weights};

/// The id of the model, and of its weights in the catalog.
pub const DEFAULT_ID: &str = "smart-turn";

/// What a judgement is waited for: who spoke waits for it, in silence.
const DUE: Duration = Duration::from_millis(100);

/// Which judge to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The id by which requests ask for it.
    pub id: String,
    /// An ONNX file of the network. None is the installed one.
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

/// A judge that is served.
pub struct SmartTurn {
    graph: Arc<Graph>,
    info: ModelInfo,
    entry: Option<(WalkId, NodeId, InputId)>,
    network: Arc<Network>,
    pool: Arc<Pool>,
}

impl SmartTurn {
    /// Loads the weights; a step may use up to `threads` threads.
    ///
    /// # Errors
    /// [`Error::Load`] where the file is missing, damaged, or of another network.
    pub fn load(config: &Config, threads: usize) -> Result<Self> {
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
        let entry = graph.walk_named("judge").and_then(|walk| {
            let entry = walk.entries().next()?;
            Some((walk.id(), entry.node, entry.input))
        });
        Ok(Self {
            info: info(config),
            entry,
            network: Arc::new(network),
            pool: Arc::new(Pool::new(threads)),
            graph: Arc::new(graph),
        })
    }
}

/// The declaration that the picture above shows.
fn declared() -> GraphBuilder {
    let complete = PortType::of(Kind::Scalar)
        .element(Element::F32)
        .shape([Some(1)]);
    let ear = NodeSpec::new("ear", EngineKind::Stateless)
        .input("begin", PortType::of(Kind::Text))
        .output("complete", complete);
    Graph::builder("smart_turn")
        .node(ear)
        .walk("judge", Call::new("ear").emit("complete", Modality::Scalar))
}

fn info(config: &Config) -> ModelInfo {
    ModelInfo {
        id: config.id.clone(),
        kind: "smart-turn".to_owned(),
        description: "Says at a pause how likely it is that who spoke is done".to_owned(),
        inputs: vec![Modality::Audio],
        outputs: vec![Modality::Scalar],
        hears: Some(RATE),
        licence: weights::licence_of(DEFAULT_ID, config.weights.as_ref()),
        weights: "real: Smart Turn v3.2".to_owned(),
        ..ModelInfo::default()
    }
}

impl Model for SmartTurn {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, options: &Options) -> runtime::Result<Admitted> {
        options.only(&[])?;
        options.voice_among(&[], 0)?;
        let sound = options.audio.as_ref();
        match sound.filter(|sound| !sound.samples.is_empty()) {
            Some(sound) => Ok(Arc::new(sound.clone())),
            None => Err(runtime::Error::InvalidOption {
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
        Ok(Box::new(Ear {
            network: Arc::clone(&self.network),
            pool: Arc::clone(&self.pool),
        }))
    }
}

/// The node.
struct Ear {
    network: Arc<Network>,
    pool: Arc<Pool>,
}

impl Ear {
    fn judge(&self, member: &mut Member<'_>) -> std::result::Result<(), Cause> {
        let request = member.request();
        let samples = &request.admitted::<Sound>()?.samples;
        let judgement = self.network.judge(&self.pool, samples);
        let judgement = judgement
            .ok_or_else(|| Cause::Failed("the recording has samples that are no numbers".into()))?;
        let complete = Tensor::f32([1], vec![judgement.probability]);
        member.put("complete", complete.map_err(|error| Cause::failed(&error))?);
        Ok(())
    }
}

impl Submodule for Ear {
    fn due_within(&self) -> Option<Duration> {
        Some(DUE)
    }

    fn step(&mut self, batch: &mut [Member<'_>]) {
        for member in batch {
            if let Err(cause) = self.judge(member) {
                member.fail(cause);
            }
        }
    }
}
