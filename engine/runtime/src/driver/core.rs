//! What both drivers do alike: set the machines up, and let requests in.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use graph::{PartitionId, stream::Time};
use parking_lot::Mutex;

use super::Config;
use crate::{
    Error, Feed, MAX_WORKERS, Model, Options, Outputs, RequestId, RequestInfo, Result, WorkerId,
    client::{Bell, Lane, Outlet, Shared},
    conductor::{Conductor, Hosted},
    cost::CostModel,
    placement::Placed,
    route::Routes,
    worker::{Board, Worker},
};

/// Models that were placed, and how requests of them begin.
pub(super) struct Core {
    pub(super) hosted: Arc<[Hosted]>,
    pub(super) config: Config,
    /// What steps cost, as all workers have seen it.
    pub(super) costs: Arc<Mutex<CostModel>>,
    next_request: AtomicU64,
}

impl Core {
    /// # Errors
    /// [`Error::Setup`] where the models cannot be placed as the configuration says.
    pub(super) fn new(models: Vec<Arc<dyn Model>>, config: Config) -> Result<Self> {
        if config.workers == 0 || config.workers > MAX_WORKERS {
            let got = config.workers;
            return Err(Error::Setup {
                problem: format!("{got} workers, accepted: 1 to {MAX_WORKERS}"),
            });
        }
        let hosted = models
            .into_iter()
            .map(|model| host(model, &config))
            .collect::<Result<Arc<[Hosted]>>>()?;
        let graphs = hosted.iter().map(|host| &**host.model.graph());
        Ok(Self {
            costs: Arc::new(Mutex::new(CostModel::new(graphs, config.workers))),
            hosted,
            config,
            next_request: AtomicU64::new(1),
        })
    }

    /// Checks a request's options and makes its two ends. No work is done yet.
    pub(super) fn prepare(
        &self,
        model: usize,
        options: Options,
        bell: Arc<dyn Bell>,
    ) -> Result<(RequestInfo, Arc<Shared>, Feed, Outputs)> {
        let missing = || Error::Setup {
            problem: format!("there is no model with index {model}"),
        };
        let host = self.hosted.get(model).ok_or_else(missing)?;
        host.model.info().check(&options)?;
        let admitted = host.model.admit(&options)?;
        let id = RequestId(self.next_request.fetch_add(1, Ordering::Relaxed));
        let seed = options
            .seed
            .unwrap_or_else(|| mix(self.config.seed ^ mix(id.0)));
        let info = RequestInfo {
            id,
            model: host.model.info().id.as_str().into(),
            seed,
            options,
            admitted,
        };
        let limits = &self.config.limits;
        let lanes = host.model.graph().client_streams().map(|stream| {
            let home = host.placed.worker(stream.to());
            Lane::new(
                home,
                stream.name().into(),
                stream.stream().capacity,
                limits.input_items,
            )
        });
        let shared = Arc::new(Shared::new(
            id,
            lanes.collect(),
            Outlet::new(limits.outputs),
            bell,
        ));
        Ok((
            info,
            Arc::clone(&shared),
            Feed::new(Arc::clone(&shared)),
            Outputs::new(shared),
        ))
    }

    /// How many messages may be under way to one worker: see [`link`](crate::link).
    pub(super) fn link_capacity(&self) -> usize {
        let grants = |host: &Hosted| {
            let graph = host.model.graph();
            let streams = graph
                .connections()
                .iter()
                .map(|connection| connection.stream().capacity + 2);
            // Open, Close, a bell; Start and Finish for each partition.
            3 + 2 * graph.partitions().len() + 2 * streams.sum::<usize>()
        };
        let each = self.hosted.iter().map(grants).max().unwrap_or(0);
        // A request that ended may still have messages under way while the next one begins.
        each.saturating_mul(
            self.config
                .limits
                .requests
                .saturating_mul(2)
                .saturating_add(1),
        )
    }

    pub(super) fn conductor(&self) -> Conductor {
        Conductor::new(
            Arc::clone(&self.hosted),
            &self.config,
            Arc::clone(&self.costs),
        )
    }

    /// A worker with the submodules that are placed on it.
    ///
    /// # Errors
    /// Those of the models that make them.
    pub(super) fn worker(&self, id: WorkerId, board: Arc<Mutex<Board>>) -> Result<Worker> {
        let (hosted, costs) = (Arc::clone(&self.hosted), Arc::clone(&self.costs));
        Worker::new(id, hosted, &self.config, costs, board)
    }

    pub(super) fn workers(&self) -> impl Iterator<Item = WorkerId> {
        (0..self.config.workers).map(WorkerId::new)
    }
}

fn host(model: Arc<dyn Model>, config: &Config) -> Result<Hosted> {
    let graph = Arc::clone(model.graph());
    let names: Vec<String> = graph
        .partitions()
        .iter()
        .map(|partition| partition.name().to_owned())
        .collect();
    // A set of partitions is the bits of a word.
    if names.len() > 64 || names.len() < 2 {
        let problem = format!(
            "model `{}` has {} partitions, accepted: 1 to 63",
            model.info().id,
            names.len() - 1
        );
        return Err(Error::Setup { problem });
    }
    let here = config
        .placement
        .get(&model.info().id)
        .cloned()
        .unwrap_or_default();
    let placed = Placed::new(&here, &model.placement(), &names, config.workers)?;
    let over_workers = graph
        .walks()
        .iter()
        .find(|walk| walk.partition() == PartitionId::REQUESTER);
    match over_workers {
        Some(walk) => Err(Error::Setup {
            problem: format!("walk `{}` belongs to the requester", walk.name()),
        }),
        None => Ok(Hosted {
            routes: Arc::new(Routes::new(&graph)),
            model,
            placed,
        }),
    }
}

/// A well-mixed number from any number (splitmix64, Steele et al. 2014).
pub(crate) fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The moment that many nanoseconds after the start.
pub(super) fn time_from(elapsed: std::time::Duration) -> Time {
    Time::ZERO.after(elapsed)
}
