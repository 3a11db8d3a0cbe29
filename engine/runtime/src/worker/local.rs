//! What one request has on one worker, and what it is told: its partitions that live here, the
//! states of their nodes, what was kept for later walks.

use std::{fmt::Display, sync::Arc, time::Duration};

use graph::{ConnectionId, Graph, NodeId, Partition, PartitionId, Payloads, WalkRun, stream::Time};

use super::{
    Outbound,
    desk::Desk,
    here::{Active, Here},
    streams::{Incoming, Origin, StreamEnd},
};
use crate::{
    Cause, Error, Payload, RequestInfo, Source, State, Usage, WorkerId,
    client::Shared,
    conductor::Hosted,
    message::{Command, Opening, Pass, Report},
    metrics::WorkerGauges,
    route::Routes,
};

/// One request's share of a worker.
pub(super) struct Local {
    pub(super) info: Arc<RequestInfo>,
    pub(super) shared: Arc<Shared>,
    pub(super) model: usize,
    pub(super) graph: Arc<Graph>,
    pub(super) routes: Arc<Routes>,
    /// Samples per second of its audio; none where the model has no audio.
    pub(super) rate: Option<u32>,
    pub(super) opened: Time,
    /// How much audio it has emitted from this worker.
    pub(super) heard: Duration,
    /// By how many nanoseconds what the last step emitted came before its listener ran dry.
    pub(super) slacks: Vec<i64>,
    pub(super) usage: Usage,
    /// By partition; none for those that live elsewhere.
    pub(super) partitions: Vec<Option<Here>>,
    /// By node.
    pub(super) states: Vec<Option<State>>,
    pub(super) kept: Vec<(Arc<str>, Payloads<Payload>)>,
    /// Partitions to look at, a bit each.
    pub(super) dirty: u64,
    pub(super) life: Life,
    /// Members of a step that is being executed.
    pub(super) in_step: usize,
}

/// How a request stands on a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Its nodes may run.
    Running,
    /// The conductor was told that it cannot go on; it waits to be closed.
    Stalled,
    /// It goes as soon as it is in no step.
    Closing,
}

impl Local {
    pub(super) fn new(opening: Opening, host: &Hosted, worker: WorkerId, opened: Time) -> Self {
        let (graph, placed) = (host.model.graph(), &host.placed);
        let here = |partition: &Partition| {
            let lives_here = !partition.is_requester() && placed.worker(partition.id()) == worker;
            lives_here.then(|| Here::new(partition, graph, placed, worker))
        };
        Self {
            model: opening.model,
            usage: Usage::default(),
            partitions: graph.partitions().iter().map(here).collect(),
            states: (0..graph.nodes().len()).map(|_| None).collect(),
            kept: Vec::new(),
            dirty: 0,
            life: Life::Running,
            in_step: 0,
            graph: Arc::clone(graph),
            routes: Arc::clone(&host.routes),
            rate: host.model.info().sample_rate,
            opened,
            heard: Duration::ZERO,
            slacks: Vec::new(),
            info: opening.info,
            shared: opening.shared,
        }
    }

    /// A partition takes a walk.
    pub(super) fn start(&mut self, partition: PartitionId, pass: Pass, desk: &mut Desk<'_>) {
        let started = self.try_start(partition, pass);
        match started {
            Ok(()) => self.touch(partition, desk),
            Err(error) => self.stall(error, desk),
        }
    }

    fn try_start(&mut self, partition: PartitionId, pass: Pass) -> Result<(), Error> {
        let walk = pass.walk();
        let unknown = |problem: String| Error::Model {
            model: Arc::clone(&self.info.model),
            problem,
        };
        let plan = self
            .graph
            .walk(walk)
            .ok_or_else(|| unknown(format!("there is no {walk:?}")))?;
        let here = self
            .partitions
            .get_mut(partition.index())
            .and_then(Option::as_mut);
        let here = here.ok_or_else(|| unknown(format!("{partition:?} does not live here")))?;
        let run = match here.runs.iter().position(|run| run.walk().id() == walk) {
            Some(run) => {
                here.runs[run].reset();
                run
            }
            None => {
                here.runs.push(WalkRun::new(Arc::clone(plan)));
                here.runs.len() - 1
            }
        };
        here.active = Some(Active {
            run,
            repeats: matches!(pass, Pass::Stream { .. }),
            passes: 0,
        });
        let Pass::Once { inputs, .. } = pass else {
            return Ok(());
        };
        for input in inputs {
            let payloads = match input.source {
                Source::Given(payloads) => payloads.into_iter().collect(),
                Source::Kept(name) => {
                    let kept = self.kept.iter().find(|(known, _)| *known == name);
                    let missing = || {
                        unknown(format!(
                            "walk `{}` asks for `{name}`, which was not kept",
                            plan.name()
                        ))
                    };
                    kept.map(|(_, payloads)| payloads.clone())
                        .ok_or_else(missing)?
                }
            };
            let delivered = here.runs[run].deliver(input.node, input.input, payloads);
            delivered.map_err(|error| unknown(error.to_string()))?;
        }
        Ok(())
    }

    /// A partition is done: its streams end once their backlogs are gone.
    pub(super) fn finish(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        if let Some(here) = self.here(partition) {
            here.active = None;
            for outgoing in here
                .outgoing
                .iter_mut()
                .filter(|outgoing| outgoing.end == StreamEnd::Open)
            {
                outgoing.end = StreamEnd::Due;
            }
        }
        self.touch(partition, desk);
    }

    /// The requester fed something in or made room.
    pub(super) fn rung(&mut self, desk: &mut Desk<'_>) {
        self.shared.answered(desk.worker);
        self.look_at_all(desk);
    }

    /// Whether any of its nodes waits for what others hold.
    pub(super) fn waits(&self) -> bool {
        let parked = self
            .partitions
            .iter()
            .flatten()
            .flat_map(|here| &here.parked);
        parked.into_iter().any(|(_, turn)| turn.waits)
    }

    pub(super) fn look_at_all(&mut self, desk: &mut Desk<'_>) {
        for (index, _) in self
            .partitions
            .iter()
            .enumerate()
            .filter(|(_, here)| here.is_some())
        {
            self.dirty |= 1 << index;
        }
        self.settle(desk);
    }

    /// Items arrive from another worker.
    pub(super) fn items(
        &mut self,
        connection: ConnectionId,
        items: Vec<Payload>,
        desk: &mut Desk<'_>,
    ) {
        let mut refused = None;
        let Some((partition, incoming)) = self.incoming(connection) else {
            return;
        };
        if let Origin::There { granted, .. } = &mut incoming.from {
            *granted = granted.saturating_sub(items.len());
        }
        for item in items {
            refused = refused.or(incoming.push(item).err());
        }
        let (grant, from) = (incoming.grant(), incoming.home());
        if let (1.., Some(worker)) = (grant, from) {
            let credit = Command::Credit {
                request: self.info.id,
                connection,
                count: grant,
            };
            desk.outbox.push_back(Outbound::Send(worker, credit));
        }
        match refused {
            None => self.touch(partition, desk),
            Some(error) => self.stall_internal(&error, desk),
        }
    }

    /// A stream from another worker ends.
    pub(super) fn end_stream(&mut self, connection: ConnectionId, desk: &mut Desk<'_>) {
        if let Some((partition, incoming)) = self.incoming(connection) {
            incoming.buffer.end();
            self.touch(partition, desk);
        }
    }

    /// Another worker has room for more items of a stream.
    pub(super) fn credit(&mut self, connection: ConnectionId, count: usize, desk: &mut Desk<'_>) {
        let Some(from) = self
            .graph
            .connection(connection)
            .map(graph::Connection::from)
        else {
            return;
        };
        let outgoing = self.here(from).and_then(|here| here.outgoing(connection));
        if let Some((_, credit)) = outgoing.and_then(|outgoing| outgoing.remote.as_mut()) {
            *credit += count;
        }
        self.touch(from, desk);
    }

    /// Looks at a partition and at whatever that sets in motion.
    pub(super) fn touch(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        self.dirty |= 1 << partition.index();
        self.settle(desk);
    }

    /// The request cannot go on; the conductor is told once.
    pub(super) fn stall(&mut self, error: Error, desk: &mut Desk<'_>) {
        if self.life == Life::Running {
            self.life = Life::Stalled;
            desk.outbox.push_back(Outbound::Report(Report::Failed {
                request: self.info.id,
                error,
            }));
        }
    }

    /// The request has had all the steps that it may have.
    pub(super) fn exhausted(&mut self, desk: &mut Desk<'_>) {
        if self.life == Life::Running {
            self.life = Life::Stalled;
            desk.outbox.push_back(Outbound::Report(Report::Exhausted {
                request: self.info.id,
            }));
        }
    }

    pub(super) fn stall_internal(&mut self, error: &dyn Display, desk: &mut Desk<'_>) {
        let error = Error::Model {
            model: Arc::clone(&self.info.model),
            problem: error.to_string(),
        };
        self.stall(error, desk);
    }

    pub(super) fn node_error(&self, node: NodeId, cause: Cause) -> Error {
        Error::node(
            &self.info.model,
            self.graph.node(node).map_or("?", |spec| &spec.name),
            cause,
        )
    }

    /// Counts what it holds.
    pub(super) fn count(&self, gauges: &mut WorkerGauges) {
        gauges.requests += 1;
        gauges.states += self.states.iter().flatten().count();
        gauges.kept += self.kept.len();
        for here in self.partitions.iter().flatten() {
            gauges.runs += usize::from(here.active.is_some());
            gauges.buffered += here
                .incoming
                .iter()
                .map(|incoming| incoming.buffer.len())
                .sum::<usize>();
            gauges.buffered += here
                .outgoing
                .iter()
                .map(|outgoing| outgoing.backlog.len())
                .sum::<usize>();
            gauges.buffered += here
                .chunks
                .iter()
                .map(|(.., chunk)| chunk.items.len())
                .sum::<usize>();
        }
    }

    /// The timers that are set for it.
    pub(super) fn timers(&self) -> impl Iterator<Item = (Time, ConnectionId)> {
        let incoming = self
            .partitions
            .iter()
            .flatten()
            .flat_map(|here| &here.incoming);
        incoming.filter_map(|incoming| Some((incoming.timer?, incoming.connection)))
    }

    /// The timer of a stream has run out.
    pub(super) fn timed_out(&mut self, connection: ConnectionId, desk: &mut Desk<'_>) {
        if let Some((partition, incoming)) = self.incoming(connection) {
            incoming.timer = None;
            self.touch(partition, desk);
        }
    }

    pub(super) fn here(&mut self, partition: PartitionId) -> Option<&mut Here> {
        self.partitions.get_mut(partition.index())?.as_mut()
    }

    fn incoming(&mut self, connection: ConnectionId) -> Option<(PartitionId, &mut Incoming)> {
        let to = self.graph.connection(connection)?.to();
        self.here(to)?
            .incoming(connection)
            .map(|incoming| (to, incoming))
    }
}
