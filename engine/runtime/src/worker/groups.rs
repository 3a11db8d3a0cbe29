//! The (node, walk) pairs of all models that live on one worker, and the nodes behind them.

use std::{sync::Arc, time::Duration};

use graph::{ConnectionId, Exit, InputId, NodeId, Source, Walk, WalkId};

use crate::{
    Cause, Error, Model, Result, Submodule, WorkerId, conductor::Hosted, cost::Place, kv,
    metrics::NodeStats,
};

/// One node in one walk, or in all its walks where it mixes them: what a batch is made of.
pub(super) struct Group {
    pub(super) model: usize,
    /// The first of them.
    pub(super) walk: Arc<Walk>,
    /// What its steps cost is kept here.
    pub(super) place: Place,
    /// The place of the node among those that live here.
    pub(super) seat: usize,
    /// How long after it became ready a step is due that nobody hears, where the node says so.
    pub(super) due_within: Option<Duration>,
    /// Whether anything that leaves by the node goes to the requester.
    pub(super) emits: bool,
    /// The stream that it takes chunks of, if it does, and the input that takes them.
    pub(super) takes: Option<(InputId, ConnectionId)>,
    /// The streams that it feeds.
    pub(super) streams: Vec<ConnectionId>,
}

/// A node that lives here.
pub(super) struct NodeHere {
    pub(super) model: usize,
    pub(super) node: NodeId,
    pub(super) name: Arc<str>,
    pub(super) max_batch: usize,
    pub(super) mixes_walks: bool,
    pub(super) submodule: Box<dyn Submodule>,
}

/// Everything that lives on one worker.
pub(super) struct Groups {
    pub(super) list: Vec<Group>,
    pub(super) nodes: Vec<NodeHere>,
    /// By model, walk and node.
    table: Vec<Vec<Vec<Option<usize>>>>,
}

impl Groups {
    /// Makes the submodules of all nodes that the worker is home to.
    pub(super) fn new(hosted: &[Hosted], worker: WorkerId) -> Result<Self> {
        let mut groups = Self {
            list: Vec::new(),
            nodes: Vec::new(),
            table: Vec::new(),
        };
        for (index, host) in hosted.iter().enumerate() {
            let graph = host.model.graph();
            let none = vec![vec![None; graph.nodes().len()]; graph.walks().len()];
            groups.table.push(none);
            for walk in graph
                .walks()
                .iter()
                .filter(|walk| host.placed.worker(walk.partition()) == worker)
            {
                for node in walk.nodes() {
                    let seat = groups.seat(index, &*host.model, node)?;
                    groups.add(index, walk, node, seat);
                }
            }
        }
        Ok(groups)
    }

    fn seat(&mut self, model_index: usize, model: &dyn Model, node: NodeId) -> Result<usize> {
        let known = self
            .nodes
            .iter()
            .position(|here| here.model == model_index && here.node == node);
        if let Some(seat) = known {
            return Ok(seat);
        }
        let name: Arc<str> = model
            .graph()
            .node(node)
            .map_or("?", |spec| &spec.name)
            .into();
        let submodule = model.submodule(node).map_err(|error| Error::Node {
            model: model.info().id.as_str().into(),
            node: Arc::clone(&name),
            cause: Cause::failed(&error),
        })?;
        let max_batch = submodule.max_batch().max(1);
        self.nodes.push(NodeHere {
            model: model_index,
            node,
            name,
            max_batch,
            mixes_walks: submodule.mixes_walks(),
            submodule,
        });
        Ok(self.nodes.len() - 1)
    }

    fn add(&mut self, model: usize, walk: &Arc<Walk>, node: NodeId, seat: usize) {
        let leaving = walk
            .leaving()
            .filter(|&(from, ..)| from == node)
            .map(|(_, _, leaving)| leaving.to);
        let (mut emits, mut streams) = (false, Vec::new());
        for exit in leaving {
            match exit {
                Exit::Emit(_) => emits = true,
                Exit::Stream(connection) if !streams.contains(&connection) => {
                    streams.push(connection);
                }
                Exit::Stream(_) | Exit::Nowhere => {}
            }
        }
        let here = self.nodes.get(seat);
        let mixed = here.is_some_and(|here| here.mixes_walks);
        let due_within = here.and_then(|here| here.submodule.due_within());
        let mut known = self.list.iter();
        let known = known.position(|group| group.seat == seat).filter(|_| mixed);
        let entry = self
            .table
            .get_mut(model)
            .and_then(|walks| walks.get_mut(walk.id().index()));
        if let Some(entry) = entry.and_then(|nodes| nodes.get_mut(node.index())) {
            *entry = Some(known.unwrap_or(self.list.len()));
            if let Some(group) = known.and_then(|known| self.list.get_mut(known)) {
                group.emits |= emits;
                group.streams.extend(streams);
                return;
            }
            self.list.push(Group {
                model,
                walk: Arc::clone(walk),
                place: Place {
                    model,
                    walk: walk.id(),
                    node,
                },
                seat,
                due_within,
                takes: walk.inputs().find_map(|taken| match taken.source {
                    Source::Stream(connection) if taken.node == node => {
                        Some((taken.input, connection))
                    }
                    _ => None,
                }),
                emits,
                streams,
            });
        }
    }

    /// The group of a node in a walk.
    pub(super) fn of(&self, model: usize, walk: WalkId, node: NodeId) -> Option<usize> {
        *self
            .table
            .get(model)?
            .get(walk.index())?
            .get(node.index())?
    }

    /// The pages of those that have some, by their seats.
    pub(super) fn pages(&self) -> Vec<(usize, kv::Pool)> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter_map(|(seat, here)| Some((seat, here.submodule.pages()?)))
            .collect()
    }

    /// Counters for every node that lives here, all at zero.
    pub(super) fn stats(&self, hosted: &[Hosted]) -> Vec<NodeStats> {
        let id = |model: usize| {
            hosted
                .get(model)
                .map_or("?".into(), |host| host.model.info().id.as_str().into())
        };
        self.nodes
            .iter()
            .map(|here| NodeStats::new(id(here.model), Arc::clone(&here.name)))
            .collect()
    }
}
