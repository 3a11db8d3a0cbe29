//! A model without weights that continues a conversation: it repeats the last message, a word at
//! a step. Everything around a language model can be tested with it in milliseconds.
//!
//! ```text
//! [prefill: parrot] ─▶ last, kept for ─▶ [decode, a loop: parrot] ─▶ text
//!   reads the conversation                 ▲       │ last, as a language model's last token
//!                                          └───────┘
//! ```
//!
//! What stands for a language model's notions, so that what a request asks for can be seen:
//!
//! - A **token** is a word with the white space behind it; its id is the word's length in
//!   characters. The prompt's tokens are the words of all messages, tool calls and tools.
//! - **Temperature** above 0, which is the default, makes words loud (upper case) by a coin that
//!   the seed throws.
//! - `logit_bias` below 0 leaves the words of that length out; `stop_ids`, `stop` and
//!   `max_tokens` end the answer as they always do. Other ways of sampling change nothing.
//!
//! What always holds: the answer depends on the conversation, the sampling and the seed alone.

mod admit;
mod parrot;
mod stops;

use std::{sync::Arc, time::Duration};

use graph::{
    Call, EngineKind, Graph, InputId, Kind, LoopSpec, Modality, NodeId, NodeSpec, PartitionId,
    PortType, WalkId,
};
use runtime::{
    Admitted, Input, Model, ModelInfo, Next, Options, Payload, Progress, Source, Submodule,
};

use self::parrot::Parrot;
use crate::{Error, Result};

/// The name of the loop that says the answer.
const LOOP: &str = "decode_loop";

/// How a conversing toy is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The id by which requests ask for it.
    pub id: String,
    /// How long each step keeps its worker busy, however many members it has.
    pub step_cost: Duration,
    /// The most members of one step.
    pub max_batch: usize,
    /// Tokens that a conversation may have.
    pub context: u64,
    /// The word of the answer at which every request fails, counted from 0; none fails none.
    pub fail_at: Option<usize>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            id: "toy-chat".into(),
            step_cost: Duration::ZERO,
            max_batch: 8,
            context: 8_192,
            fail_at: None,
        }
    }
}

/// A model that repeats what it was told. See the [module](self).
pub struct Chat {
    config: Config,
    graph: Arc<Graph>,
    info: ModelInfo,
    prefill: Walk,
    decode: Walk,
}

/// A walk and the input that it begins with.
#[derive(Clone, Copy)]
struct Walk {
    walk: WalkId,
    node: NodeId,
    input: InputId,
}

impl Chat {
    /// A conversing toy of this configuration.
    ///
    /// # Errors
    /// [`Error::Declaration`] never happens for the graph that is built here.
    pub fn new(config: Config) -> Result<Self> {
        let unsound = |problem: String| Error::Declaration {
            model: config.id.clone(),
            problem,
        };
        let graph = graph()
            .build()
            .map_err(|findings| unsound(findings.to_string()))?;
        let walk = |name: &str| {
            let walk = graph.walk_named(name)?;
            let entry = walk.entries().next()?;
            Some(Walk {
                walk: walk.id(),
                node: entry.node,
                input: entry.input,
            })
        };
        let both = walk("prefill").zip(walk("decode"));
        let (prefill, decode) = both.ok_or_else(|| unsound("a walk has no entry".into()))?;
        Ok(Self {
            info: info(&config),
            graph: Arc::new(graph),
            prefill,
            decode,
            config,
        })
    }
}

/// The declaration that the picture above shows.
fn graph() -> graph::GraphBuilder {
    let text = || PortType::of(Kind::Text);
    let parrot = NodeSpec::new("parrot", EngineKind::Streaming)
        .input("prompt", text())
        .input("last", text())
        .output("last", text())
        .output("text", text());
    let say = Call::new("parrot")
        .takes(["last"])
        .to("last", "parrot", "last")
        .emit("text", Modality::Text);
    Graph::builder("toy-chat")
        .node(parrot)
        .walk(
            "prefill",
            Call::new("parrot").takes(["prompt"]).keep("last"),
        )
        // The answer's own bound is `max_tokens`, or the message's length.
        .walk("decode", LoopSpec::new(LOOP, u32::MAX, say).dynamic())
}

fn info(config: &Config) -> ModelInfo {
    ModelInfo {
        id: config.id.clone(),
        kind: "toy-chat".to_owned(),
        description: "Repeats the last message, to try conversations without a download".to_owned(),
        converses: true,
        inputs: vec![Modality::Text],
        outputs: vec![Modality::Text],
        licence: "none needed: it has no weights".to_owned(),
        weights: "none: it repeats, it does not think".to_owned(),
        ..ModelInfo::default()
    }
}

impl Model for Chat {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn admit(&self, options: &Options) -> runtime::Result<Admitted> {
        let asked = admit::Asked::new(options, self.config.context)?;
        Ok(Arc::new(asked))
    }

    fn next(&self, _partition: PartitionId, progress: &Progress<'_>) -> Next {
        let (Walk { walk, node, input }, source) = match progress.passes {
            0 => (self.prefill, Source::Given(vec![Payload::from("")])),
            1 => (self.decode, Source::Kept("last".into())),
            _ => return Next::Done,
        };
        let inputs = vec![Input {
            node,
            input,
            source,
        }];
        Next::Walk { walk, inputs }
    }

    fn submodule(&self, _node: NodeId) -> runtime::Result<Box<dyn Submodule>> {
        Ok(Box::new(Parrot {
            cost: self.config.step_cost,
            max_batch: self.config.max_batch,
            fail_at: self.config.fail_at,
        }))
    }
}
