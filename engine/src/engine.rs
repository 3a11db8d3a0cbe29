//! A running engine: models behind one door.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use graph::{Graph, Kind};
use runtime::{Driver, Model, ModelInfo, Snapshot, Time};

use crate::{Config, Error, Feed, Handle, Job, Outputs, Result, handle::AudioInput};

/// Models that take requests. Clones are the same engine; when the last one goes, all requests
/// end.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    driver: Driver,
    models: Vec<ModelInfo>,
    /// By model.
    inputs: Vec<Inputs>,
}

/// Which of a model's client streams takes what.
#[derive(Clone, Copy, Debug)]
struct Inputs {
    /// Characters.
    text: Option<usize>,
    /// Samples.
    audio: Option<AudioInput>,
}

impl Engine {
    /// Loads the models and starts the workers. Returns when requests are taken.
    ///
    /// # Errors
    /// Where a model cannot be loaded, two have one id, or the limits cannot be.
    pub fn start(config: Config) -> Result<Self> {
        let load = |model: &crate::ModelConfig| model.load(config.threads);
        let models = config
            .models
            .iter()
            .map(load)
            .collect::<Result<Vec<_>, _>>()?;
        Self::with_models(models, config)
    }

    /// Starts the workers with models that were made by whoever calls; those of the configuration
    /// are left aside.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn with_models(models: Vec<Arc<dyn Model>>, config: Config) -> Result<Self> {
        let infos: Vec<ModelInfo> = models.iter().map(|model| model.info().clone()).collect();
        for (index, info) in infos.iter().enumerate() {
            if infos.iter().take(index).any(|other| other.id == info.id) {
                return Err(Error::TwoModels {
                    id: info.id.clone(),
                });
            }
        }
        let inputs = models.iter().map(|model| Inputs::of(model.graph()));
        let inputs = inputs.collect();
        let driver_config = runtime::Config {
            limits: config.limits,
            workers: config.workers,
            placement: config.placement,
            scheduling: config.scheduling,
            seed: config.seed.unwrap_or_else(seed_from_clock),
        };
        let driver = Driver::start(models, driver_config)?;
        Ok(Self {
            inner: Arc::new(Inner {
                driver,
                models: infos,
                inputs,
            }),
        })
    }

    /// What the models say about themselves.
    #[must_use]
    pub fn models(&self) -> &[ModelInfo] {
        &self.inner.models
    }

    /// The graph of a model, to be drawn; none for an id that is not served.
    #[must_use]
    pub fn graph(&self, model: &str) -> Option<Arc<Graph>> {
        let index = self.index(model).ok()?;
        self.inner
            .driver
            .models()
            .nth(index)
            .map(|model| Arc::clone(model.graph()))
    }

    /// Lets a request in, or refuses it before any work is done for it.
    ///
    /// # Errors
    /// Of the kind not found for a model or voice that is not there, invalid for options that
    /// make no sense, overloaded when as many requests are open as may be.
    pub fn submit(&self, job: Job) -> Result<Handle> {
        let index = self.index(&job.model)?;
        let (feed, outputs) = self.inner.driver.submit(index, job.options)?;
        let rate = self
            .inner
            .models
            .get(index)
            .and_then(|info| info.sample_rate)
            .unwrap_or(0);
        let Inputs { text, audio } = self.inner.inputs[index];
        Ok(Handle {
            id: feed.id(),
            feed: Feed::new(feed, text, audio),
            outputs: Outputs::new(outputs, rate),
        })
    }

    /// What was counted so far, as plain data. Labels are models and nodes.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.inner.driver.snapshot()
    }

    /// What the engine's clock says: the one that outputs are stamped with.
    #[must_use]
    pub fn now(&self) -> Time {
        self.inner.driver.now()
    }

    /// Ends all requests, lets no other one in, and waits for the workers: each ends the step that
    /// it is in.
    pub fn shutdown(&self) {
        self.inner.driver.shutdown();
    }

    fn index(&self, model: &str) -> Result<usize> {
        let position = self.inner.models.iter().position(|info| info.id == model);
        position.ok_or_else(|| Error::UnknownModel {
            id: model.to_owned(),
            known: self
                .inner
                .models
                .iter()
                .map(|info| info.id.clone())
                .collect(),
        })
    }
}

impl Inputs {
    fn of(graph: &Graph) -> Self {
        let (mut text, mut audio) = (None, None);
        for (index, stream) in graph.client_streams().enumerate() {
            let node = graph.node(stream.node());
            let Some(port) = node.and_then(|node| node.inputs.get(stream.input().index())) else {
                continue;
            };
            if matches!(port.ty.kind, Kind::Text | Kind::Any) {
                text.get_or_insert(index);
            }
            if let Some(&[Some(frame)]) = port.ty.shape.as_ref().map(graph::Shape::dims)
                && port.ty.kind == Kind::Samples
                && frame > 0
            {
                audio.get_or_insert(AudioInput { index, frame });
            }
        }
        Self { text, audio }
    }
}

/// A number that differs from start to start.
fn seed_from_clock() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the engine starts here; nothing is timed by it"
    )]
    let now = SystemTime::now();
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() ^ u64::from(since.subsec_nanos()).rotate_left(32)
}
