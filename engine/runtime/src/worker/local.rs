//! What one request has on one worker: its partitions that live here, with their streams, runs
//! and states. A hot path.

use std::{collections::VecDeque, fmt::Display, sync::Arc};

use graph::{
    Connection, ConnectionId, Departure, Exit, Graph, InputId, NodeId, OutputId, Partition,
    PartitionId, Payloads, WalkRun, Wanting,
    stream::{Chunk, Event, Time},
};

use super::{
    Desk, Outbound, Seat,
    streams::{Incoming, Origin, Outgoing, StreamEnd},
};
use crate::{
    Cause, Emitted, Error, Payload, RequestInfo, Source, State, Usage, WorkerId,
    client::{Arrival, Shared},
    member::Turn,
    message::{Command, Opening, Pass, Report},
    metrics::WorkerGauges,
    placement::Placed,
};

/// One request's share of a worker.
pub(super) struct Local {
    pub(super) info: Arc<RequestInfo>,
    pub(super) shared: Arc<Shared>,
    pub(super) model: usize,
    pub(super) graph: Arc<Graph>,
    pub(super) usage: Usage,
    /// By partition; none for those that live elsewhere.
    pub(super) partitions: Vec<Option<Here>>,
    /// By node.
    pub(super) states: Vec<Option<State>>,
    kept: Vec<(Arc<str>, Payloads<Payload>)>,
    /// Partitions to look at, a bit each.
    dirty: u64,
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

/// A partition that lives here.
pub(super) struct Here {
    /// The runs of its walks, each made once and used again.
    runs: Vec<WalkRun<Payload>>,
    active: Option<Active>,
    incoming: Vec<Incoming>,
    outgoing: Vec<Outgoing>,
    /// Chunks that were taken for a step that has not begun.
    chunks: Vec<(NodeId, InputId, Chunk<Payload>)>,
    /// Nodes that are queued for a step, or in one.
    queued: Vec<NodeId>,
}

/// The walk that a partition is in.
#[derive(Clone, Copy)]
struct Active {
    run: usize,
    repeats: bool,
    passes: u64,
}

impl Local {
    pub(super) fn new(
        opening: Opening,
        graph: &Arc<Graph>,
        placed: &Placed,
        worker: WorkerId,
    ) -> Self {
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
        let Some(from) = self.graph.connection(connection).map(Connection::from) else {
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

    /// Whether the node may start: whatever it feeds has room.
    pub(super) fn has_credit(
        &mut self,
        group: usize,
        partition: PartitionId,
        desk: &Desk<'_>,
    ) -> bool {
        let Some(group) = desk.groups.list.get(group) else {
            return false;
        };
        if group.emits && !self.shared.outlet.has_room(desk.worker) {
            return false;
        }
        group
            .streams
            .iter()
            .all(|&connection| self.stream_has_room(partition, connection))
    }

    fn stream_has_room(&mut self, partition: PartitionId, connection: ConnectionId) -> bool {
        let Some(outgoing) = self
            .here(partition)
            .and_then(|here| here.outgoing(connection))
        else {
            return false;
        };
        let (to, is_clear) = (outgoing.to, outgoing.backlog.is_empty());
        match outgoing.remote {
            _ if !is_clear => false,
            Some((_, credit)) => credit > 0,
            None => {
                let incoming = self.here(to).and_then(|here| here.incoming(connection));
                incoming.is_some_and(|incoming| incoming.buffer.credit() > 0)
            }
        }
    }

    /// Takes what a node needs for its step. None where it is not ready after all.
    pub(super) fn take_turn(
        &mut self,
        seat: Seat,
        inputs: &mut Vec<(InputId, Payloads<Payload>)>,
        turn: &mut Turn,
    ) -> Option<()> {
        let here = self.partitions.get_mut(seat.partition.index())?.as_mut()?;
        let active = here.active?;
        inputs.clear();
        here.runs
            .get_mut(active.run)?
            .take_inputs(seat.node, inputs)
            .ok()?;
        for (input, payloads) in inputs.drain(..) {
            *turn.inputs.get_mut(input.index())? = payloads;
        }
        while let Some(index) = here.chunks.iter().position(|&(node, ..)| node == seat.node) {
            let (_, input, chunk) = here.chunks.swap_remove(index);
            *turn.chunks.get_mut(input.index())? = Some(chunk);
        }
        turn.state = self.states.get_mut(seat.node.index())?.take();
        Some(())
    }

    /// The node is queued no more.
    pub(super) fn unqueue(&mut self, seat: Seat) {
        if let Some(here) = self.here(seat.partition) {
            here.queued.retain(|&node| node != seat.node);
        }
    }

    /// A node has made its step: what it gave goes where the walk says.
    pub(super) fn complete(&mut self, seat: Seat, turn: &mut Turn, desk: &mut Desk<'_>) {
        let Some(here) = self.here(seat.partition) else {
            return;
        };
        let Some(Active { run, .. }) = here.active else {
            return;
        };
        let outputs = turn.outputs.iter_mut().enumerate();
        let outputs =
            outputs.map(|(index, payloads)| (OutputId::new(index), std::mem::take(payloads)));
        if let Err(error) = here.runs[run].complete(seat.node, outputs, &turn.stops) {
            let cause = Cause::failed(&error);
            return self.stall(self.node_error(seat.node, cause), desk);
        }
        while let Some(departure) = self
            .here(seat.partition)
            .and_then(|here| here.runs[run].next_departure())
        {
            self.depart(seat.partition, departure, desk.now);
        }
        self.pass_ended(seat.partition, desk);
        self.touch(seat.partition, desk);
    }

    /// What leaves a walk.
    fn depart(&mut self, partition: PartitionId, departure: Departure<Payload>, now: Time) {
        let Departure {
            node,
            output,
            leaving,
            payloads,
        } = departure;
        if leaving.persist {
            let name = self
                .graph
                .node(node)
                .map_or("?", |spec| spec.output_name(output));
            match self.kept.iter_mut().find(|(known, _)| &**known == name) {
                Some((_, kept)) => *kept = payloads.clone(),
                None => self.kept.push((name.into(), payloads.clone())),
            }
        }
        match leaving.to {
            Exit::Emit(modality) => {
                let port: Arc<str> = self
                    .graph
                    .node(node)
                    .map_or("?", |spec| spec.output_name(output))
                    .into();
                for payload in payloads {
                    self.usage.output_items += 1;
                    let payload = payload.into_inner();
                    self.shared.outlet.emit(Emitted {
                        port: Arc::clone(&port),
                        modality,
                        payload,
                        at: now,
                    });
                }
            }
            Exit::Stream(connection) => {
                if let Some(outgoing) = self
                    .here(partition)
                    .and_then(|here| here.outgoing(connection))
                {
                    outgoing.backlog.extend(payloads);
                }
            }
            Exit::Nowhere => {}
        }
    }

    /// Where the pass is over, the next one begins or the conductor is asked.
    fn pass_ended(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        let Some(here) = self.here(partition) else {
            return;
        };
        let Some(active) = here.active.as_mut() else {
            return;
        };
        let run = &mut here.runs[active.run];
        if !run.is_done() {
            return;
        }
        active.passes += 1;
        let over = |connection| {
            let mut incoming = here.incoming.iter();
            incoming
                .find(|incoming| incoming.connection == connection)
                .is_none_or(|found| found.buffer.is_finished())
        };
        if active.repeats && !run.walk().streams().all(over) {
            run.restart();
            return;
        }
        let passes = active.passes;
        let streams_over = here
            .incoming
            .iter()
            .all(|incoming| incoming.buffer.is_finished());
        here.active = None;
        let request = self.info.id;
        desk.outbox.push_back(Outbound::Report(Report::Ended {
            request,
            partition,
            passes,
            streams_over,
        }));
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

    fn stall_internal(&mut self, error: &dyn Display, desk: &mut Desk<'_>) {
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

    /// Looks at partitions until none has anything new. Each look either moves something forward
    /// (an item, a chunk, a node into a queue) or clears a bit, so it ends.
    fn settle(&mut self, desk: &mut Desk<'_>) {
        while self.dirty != 0 && self.life == Life::Running {
            let index = self.dirty.trailing_zeros() as usize;
            self.dirty &= self.dirty - 1;
            let partition = PartitionId::new(index);
            self.drain_backlogs(partition, desk);
            self.pump_lanes(partition, desk);
            self.take_chunks(partition, desk);
            self.queue_ready(partition, desk);
        }
    }

    /// Gives what the consumers have room for, and the end after the last item.
    fn drain_backlogs(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        let count = self.here(partition).map_or(0, |here| here.outgoing.len());
        for index in 0..count {
            let Some(outgoing) = self
                .here(partition)
                .and_then(|here| here.outgoing.get_mut(index))
            else {
                return;
            };
            if outgoing.backlog.is_empty() && outgoing.end != StreamEnd::Due {
                continue;
            }
            match outgoing.remote {
                Some(_) => self.drain_there(partition, index, desk),
                None => self.drain_here(partition, index, desk),
            }
        }
    }

    fn drain_here(&mut self, partition: PartitionId, index: usize, desk: &mut Desk<'_>) {
        let Some(outgoing) = self
            .here(partition)
            .and_then(|here| here.outgoing.get_mut(index))
        else {
            return;
        };
        let (connection, to) = (outgoing.connection, outgoing.to);
        let mut backlog = std::mem::take(&mut outgoing.backlog);
        let is_due = outgoing.end == StreamEnd::Due;
        let (mut moved, mut refused) = (false, None);
        if let Some(incoming) = self.here(to).and_then(|here| here.incoming(connection)) {
            while incoming.buffer.credit() > 0
                && let Some(item) = backlog.pop_front()
            {
                refused = refused.or(incoming.push(item).err());
                moved = true;
            }
            if backlog.is_empty() && is_due {
                incoming.buffer.end();
                moved = true;
            }
        }
        if let Some(outgoing) = self
            .here(partition)
            .and_then(|here| here.outgoing.get_mut(index))
        {
            if backlog.is_empty() && is_due {
                outgoing.end = StreamEnd::Told;
            }
            outgoing.backlog = backlog;
        }
        self.dirty |= u64::from(moved) << to.index();
        if let Some(error) = refused {
            self.stall_internal(&error, desk);
        }
    }

    fn drain_there(&mut self, partition: PartitionId, index: usize, desk: &mut Desk<'_>) {
        let request = self.info.id;
        let Some(outgoing) = self
            .here(partition)
            .and_then(|here| here.outgoing.get_mut(index))
        else {
            return;
        };
        let Some((worker, credit)) = &mut outgoing.remote else {
            return;
        };
        let (worker, connection) = (*worker, outgoing.connection);
        let count = outgoing.backlog.len().min(*credit);
        if count > 0 {
            *credit -= count;
            let items = outgoing.backlog.drain(..count).collect();
            desk.outbox.push_back(Outbound::Send(
                worker,
                Command::Items {
                    request,
                    connection,
                    items,
                },
            ));
        }
        if outgoing.backlog.is_empty() && outgoing.end == StreamEnd::Due {
            outgoing.end = StreamEnd::Told;
            desk.outbox.push_back(Outbound::Send(
                worker,
                Command::EndStream {
                    request,
                    connection,
                },
            ));
        }
    }

    /// Takes from the requester what there is room for.
    fn pump_lanes(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        let shared = Arc::clone(&self.shared);
        let (mut taken, mut refused) = (0, None);
        let Some(here) = self.here(partition) else {
            return;
        };
        for incoming in &mut here.incoming {
            let Origin::Lane(lane) = incoming.from else {
                continue;
            };
            let Some(lane) = shared.lanes.get(lane) else {
                continue;
            };
            let is_over = lane.take(incoming.buffer.credit(), |arrival| match arrival {
                Arrival::Item(item) => {
                    taken += 1;
                    refused = refused.take().or(incoming.push(item).err());
                }
                Arrival::Flush => incoming.buffer.flush(),
            });
            if is_over {
                incoming.buffer.end();
            }
        }
        self.usage.input_items += taken;
        if let Some(error) = refused {
            self.stall_internal(&error, desk);
        }
    }

    /// Takes a chunk for every input that waits for one.
    fn take_chunks(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        let Some(here) = self.here(partition) else {
            return;
        };
        let Some(active) = here.active else { return };
        desk.wanting.clear();
        desk.wanting.extend(here.runs[active.run].wanting());
        for index in 0..desk.wanting.len() {
            let wanting = desk.wanting[index];
            if let Err(error) = self.take_chunk(partition, active.run, wanting, desk) {
                return self.stall(error, desk);
            }
        }
    }

    fn take_chunk(
        &mut self,
        partition: PartitionId,
        run: usize,
        wanting: Wanting,
        desk: &mut Desk<'_>,
    ) -> Result<(), Error> {
        let Wanting {
            node,
            input,
            connection,
        } = wanting;
        let request = self.info.id;
        let Some(here) = self
            .partitions
            .get_mut(partition.index())
            .and_then(Option::as_mut)
        else {
            return Ok(());
        };
        let Some(incoming) = here
            .incoming
            .iter_mut()
            .find(|incoming| incoming.connection == connection)
        else {
            return Ok(());
        };
        let over = || Cause::Failed("waits for a stream that is over".into());
        let chunk = match incoming.buffer.poll(desk.now) {
            Some(Event::Chunk(chunk)) => chunk,
            Some(Event::Aborted) => return Err(self.node_error(node, over())),
            Some(Event::Failed(cause)) => {
                return Err(self.node_error(node, Cause::Failed(cause.to_string())));
            }
            None if incoming.buffer.is_finished() => return Err(self.node_error(node, over())),
            None => {
                desk.set_timer(incoming);
                return Ok(());
            }
        };
        desk.clear_timer(incoming);
        match incoming.from {
            Origin::Here(producer) => self.dirty |= 1 << producer.index(),
            Origin::Lane(_) => self.dirty |= 1 << partition.index(),
            Origin::There { worker, .. } => {
                let count = incoming.grant();
                if count > 0 {
                    desk.outbox.push_back(Outbound::Send(
                        worker,
                        Command::Credit {
                            request,
                            connection,
                            count,
                        },
                    ));
                }
            }
        }
        here.chunks.push((node, input, chunk));
        let delivered = here.runs[run].deliver_chunk(node, input, Payloads::Signal);
        delivered.map_err(|error| self.node_error(node, Cause::failed(&error)))
    }

    /// Queues the nodes that are ready and have room for what they give.
    fn queue_ready(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        let Some(here) = self.here(partition) else {
            return;
        };
        let Some(active) = here.active else { return };
        let run = &here.runs[active.run];
        let walk = run.walk().id();
        desk.ready.clear();
        desk.ready
            .extend(run.ready_nodes().filter(|node| !here.queued.contains(node)));
        for index in 0..desk.ready.len() {
            let node = desk.ready[index];
            let Some(group) = desk.groups.of(self.model, walk, node) else {
                continue;
            };
            if self.has_credit(group, partition, desk) {
                let seat = Seat {
                    slot: desk.slot,
                    request: self.info.id,
                    partition,
                    node,
                };
                desk.scheduler.add(group, seat, desk.now);
                if let Some(here) = self.here(partition) {
                    here.queued.push(node);
                }
            }
        }
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

    fn here(&mut self, partition: PartitionId) -> Option<&mut Here> {
        self.partitions.get_mut(partition.index())?.as_mut()
    }

    fn incoming(&mut self, connection: ConnectionId) -> Option<(PartitionId, &mut Incoming)> {
        let to = self.graph.connection(connection)?.to();
        self.here(to)?
            .incoming(connection)
            .map(|incoming| (to, incoming))
    }
}

impl Here {
    fn new(partition: &Partition, graph: &Graph, placed: &Placed, worker: WorkerId) -> Self {
        let connections = |ids: &[ConnectionId]| -> Vec<&Connection> {
            ids.iter().filter_map(|&id| graph.connection(id)).collect()
        };
        let lane_of = |id: ConnectionId| {
            graph
                .client_streams()
                .position(|stream| stream.id() == id)
                .unwrap_or(0)
        };
        let incoming = connections(partition.incoming())
            .into_iter()
            .map(|connection| {
                let home = placed.worker(connection.from());
                let from = match connection.from() {
                    PartitionId::REQUESTER => Origin::Lane(lane_of(connection.id())),
                    producer if home == worker => Origin::Here(producer),
                    _ => Origin::There {
                        worker: home,
                        granted: connection.stream().capacity,
                    },
                };
                Incoming::new(connection, from)
            });
        let outgoing = connections(partition.outgoing())
            .into_iter()
            .map(|connection| {
                let home = placed.worker(connection.to());
                Outgoing {
                    connection: connection.id(),
                    to: connection.to(),
                    remote: (home != worker).then_some((home, connection.stream().capacity)),
                    backlog: VecDeque::new(),
                    end: StreamEnd::Open,
                }
            });
        Self {
            runs: Vec::with_capacity(partition.walks().len()),
            active: None,
            incoming: incoming.collect(),
            outgoing: outgoing.collect(),
            chunks: Vec::new(),
            queued: Vec::new(),
        }
    }

    fn incoming(&mut self, connection: ConnectionId) -> Option<&mut Incoming> {
        self.incoming
            .iter_mut()
            .find(|incoming| incoming.connection == connection)
    }

    fn outgoing(&mut self, connection: ConnectionId) -> Option<&mut Outgoing> {
        self.outgoing
            .iter_mut()
            .find(|outgoing| outgoing.connection == connection)
    }
}
