//! One device: ready nodes in, batches out.
//!
//! A worker is a state machine without IO, threads or a clock. It is told by `handle_*` what the
//! conductor, requesters and other workers say; [`Worker::poll_batch`] gives it a step to make,
//! which its driver executes and hands back; [`Worker::poll_outbound`] says what is to be sent,
//! and [`Worker::next_timeout`] when it wants to be called if nothing happens before.
//!
//! ```text
//!  commands ─▶ Local (one for each request) ─ready nodes─▶ Scheduler ─▶ Batch ─▶ submodule
//!                ▲  streams, runs, states                                 │
//!                └────────────── what its members gave ◀──────────────────┘
//! ```
//!
//! What always holds:
//! - A hop between two nodes of one worker is a function call; nobody is asked.
//! - A node is queued only when its inputs are complete and whatever it feeds has room; both are
//!   looked at again when its step begins.
//! - Members join and leave at step boundaries. A request that was cancelled joins no further
//!   step, even before the conductor's word arrives.
//! - When a request is closed, nothing of it is left here, and the conductor is told so once.

mod batch;
mod desk;
mod due;
mod flow;
mod groups;
mod here;
mod local;
mod scheduler;
mod steps;
mod streams;
mod turns;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use graph::{ConnectionId, InputId, NodeId, PartitionId, Payloads, WalkId, Wanting, stream::Time};
use parking_lot::Mutex;

pub(crate) use batch::Batch;
use batch::Seated;
use desk::Desk;
use due::View;
use groups::Groups;
use local::{Life, Local};
pub use scheduler::Policy;
use scheduler::Scheduler;

use crate::{
    Config, Payload, RequestId, Result, Scheduling, Usage, WorkerId,
    conductor::Hosted,
    cost::CostModel,
    kv,
    member::Turn,
    message::{Command, Opening, Report},
    metrics::{NodeStats, WorkerGauges},
};

/// From this share of its time on that listeners take, a worker lets newcomers wait.
const FULL: f64 = 0.75;

/// Something that a worker wants sent.
pub(crate) enum Outbound {
    /// To the conductor.
    Report(Report),
    /// To another worker.
    Send(WorkerId, Command),
}

/// A node's place in a request that lives here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    slot: usize,
    /// Tells whether the slot still belongs to the same request.
    request: RequestId,
    partition: PartitionId,
    walk: WalkId,
    node: NodeId,
}

/// What a worker counts, for whoever asks from another thread.
#[derive(Debug, Default)]
pub(crate) struct Board {
    pub(crate) nodes: Vec<NodeStats>,
    /// The pages of nodes that have them, by their places in `nodes`.
    pub(crate) pages: Vec<(usize, kv::Pool)>,
    pub(crate) gauges: WorkerGauges,
    pub(crate) steps_after_cancel: u64,
}

impl Board {
    /// What the nodes have done, with their pages as they are now.
    pub(crate) fn nodes(&self) -> Vec<NodeStats> {
        let mut nodes = self.nodes.clone();
        for (seat, pool) in &self.pages {
            if let Some(stats) = nodes.get_mut(*seat) {
                stats.pages = Some(pool.stats());
            }
        }
        nodes
    }
}

/// What a step is, to tell its cost.
#[derive(Clone, Copy, Debug)]
pub struct StepInfo<'a> {
    /// The model's id.
    pub model: &'a str,
    /// The node's name.
    pub node: &'a str,
    /// The walk's name.
    pub walk: &'a str,
    /// Members of the batch.
    pub members: usize,
}

/// One worker.
pub(crate) struct Worker {
    id: WorkerId,
    hosted: Arc<[Hosted]>,
    groups: Groups,
    scheduler: Scheduler<Seat>,
    locals: Vec<Option<Box<Local>>>,
    free: Vec<usize>,
    slots: HashMap<RequestId, usize>,
    outbox: VecDeque<Outbound>,
    timers: BTreeSet<(Time, usize, ConnectionId)>,
    max_steps: u64,
    rules: Scheduling,
    costs: Arc<Mutex<CostModel>>,
    /// The longest step of late.
    blocking: Duration,
    /// What a step takes, as a running mean.
    usual: Duration,
    board: Arc<Mutex<Board>>,
    /// Memory that is used again from step to step.
    wanting: Vec<Wanting>,
    ready: Vec<NodeId>,
    inputs: Vec<(InputId, Payloads<Payload>)>,
    turns: Vec<Turn>,
    spare: Vec<Seated>,
}

impl Worker {
    /// A worker with the submodules of all nodes that are placed on it.
    ///
    /// # Errors
    /// Those of the models that make the submodules.
    pub(crate) fn new(
        id: WorkerId,
        hosted: Arc<[Hosted]>,
        config: &Config,
        costs: Arc<Mutex<CostModel>>,
        board: Arc<Mutex<Board>>,
    ) -> Result<Self> {
        let groups = Groups::new(&hosted, id)?;
        {
            let mut board = board.lock();
            board.nodes = groups.stats(&hosted);
            board.pages = groups.pages();
        }
        Ok(Self {
            id,
            scheduler: Scheduler::new(config.scheduling.policy, groups.list.len()),
            hosted,
            groups,
            locals: Vec::new(),
            free: Vec::new(),
            slots: HashMap::new(),
            outbox: VecDeque::new(),
            timers: BTreeSet::new(),
            max_steps: config.limits.steps,
            rules: config.scheduling,
            costs,
            blocking: Duration::ZERO,
            usual: Duration::ZERO,
            board,
            wanting: Vec::new(),
            ready: Vec::new(),
            inputs: Vec::new(),
            turns: Vec::new(),
            spare: Vec::new(),
        })
    }

    /// Takes what the conductor, a requester or another worker says. What concerns a request that
    /// is gone is normal: its requester and the other workers do not wait for this one.
    pub(crate) fn handle_command(&mut self, now: Time, command: Command) {
        let request = command.request();
        match command {
            Command::Open(opening) => self.open(now, *opening),
            Command::Close { .. } => self.close(now, request),
            Command::Start {
                partition, pass, ..
            } => {
                self.with(now, request, |local, desk| {
                    local.start(partition, pass, desk);
                });
            }
            Command::Finish { partition, .. } => {
                self.with(now, request, |local, desk| local.finish(partition, desk));
            }
            Command::Ring { .. } => self.with(now, request, Local::rung),
            Command::Items {
                connection, items, ..
            } => {
                self.with(now, request, |local, desk| {
                    local.items(connection, items, desk);
                });
            }
            Command::EndStream { connection, .. } => {
                self.with(now, request, |local, desk| {
                    local.end_stream(connection, desk);
                });
            }
            Command::Credit {
                connection, count, ..
            } => {
                self.with(now, request, |local, desk| {
                    local.credit(connection, count, desk);
                });
            }
        }
    }

    /// Looks at the streams whose time has come.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        while let Some(&(time, slot, connection)) =
            self.timers.first().filter(|(time, ..)| *time <= now)
        {
            self.timers.remove(&(time, slot, connection));
            self.with_slot(now, slot, |local, desk| local.timed_out(connection, desk));
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.timers.first().map(|&(time, ..)| time)
    }

    /// Something to be sent, until there is nothing more.
    pub(crate) fn poll_outbound(&mut self) -> Option<Outbound> {
        self.outbox.pop_front()
    }

    /// The next step, if any node is ready. It is to be executed and handed back.
    pub(crate) fn poll_batch(&mut self, now: Time) -> Option<Batch> {
        while let Some(group) = self.next_group(now) {
            let mut batch = Batch {
                group,
                length: 0,
                size: 1,
                members: std::mem::take(&mut self.spare),
                start: now,
            };
            self.gather(&mut batch);
            if batch.members.is_empty() {
                self.spare = batch.members;
            } else {
                self.scheduler.stepped(group);
                return Some(batch);
            }
        }
        None
    }

    fn next_group(&mut self, now: Time) -> Option<usize> {
        let costs = self.costs.lock();
        let open = self.locals.iter().flatten();
        let served = open.filter(|local| !local.heard.is_zero());
        let worker = self.id.index();
        let work = |local: &Local| costs.work(local.model, worker).unwrap_or(0.0);
        let view = View {
            now,
            is_full: self.scheduler.len() > 1
                && served.map(|local| work(local)).sum::<f64>() > FULL,
            costs: &costs,
            rules: &self.rules,
            margin: self.blocking + self.usual * u32::try_from(self.scheduler.len()).unwrap_or(1),
        };
        let (groups, locals) = (&self.groups, &self.locals);
        self.scheduler.next_group(|group, ready| {
            let seat = &ready.member;
            let local = locals.get(seat.slot).and_then(Option::as_ref);
            let local = local.filter(|local| local.info.id == seat.request);
            match (local, groups.list.get(group)) {
                (Some(local), Some(group)) => local.due(seat, ready.since, group, &view),
                // Whoever is gone is taken out at once.
                _ => scheduler::Due::MIN,
            }
        })
    }

    /// Lets the submodule make the step.
    pub(crate) fn execute(&mut self, batch: &mut Batch) {
        let Some(group) = self.groups.list.get(batch.group) else {
            return;
        };
        let Some(here) = self.groups.nodes.get_mut(group.seat) else {
            return;
        };
        let graph = self.hosted.get(group.model).map(|host| host.model.graph());
        if let Some((graph, node)) = graph.and_then(|graph| Some((graph, graph.node(here.node)?))) {
            batch.execute(here, graph, node);
        }
    }

    /// What a step is, to tell its cost.
    pub(crate) fn describe(&self, batch: &Batch) -> Option<StepInfo<'_>> {
        let group = self.groups.list.get(batch.group)?;
        let model = &self.hosted.get(group.model)?.model.info().id;
        let node = &self.groups.nodes.get(group.seat)?.name;
        Some(StepInfo {
            model,
            node,
            walk: group.walk.name(),
            members: batch.members.len(),
        })
    }

    /// Takes back a step that was executed and is over `now`.
    pub(crate) fn handle_executed(&mut self, now: Time, mut batch: Batch) {
        self.record(now, &batch);
        let mut members = std::mem::take(&mut batch.members);
        batch.size = u32::try_from(members.len()).unwrap_or(u32::MAX).max(1);
        for mut seated in members.drain(..) {
            self.taken_back(now, &batch, &mut seated);
            self.turns.push(seated.turn);
        }
        self.spare = members;
    }

    /// Something was given back: all that wait look again, but for the one that gave it.
    fn stir(&mut self, now: Time, giver: Option<usize>) {
        for slot in (0..self.locals.len()).filter(|&slot| Some(slot) != giver) {
            let local = self.locals.get(slot).and_then(Option::as_ref);
            if local.is_some_and(|local| local.waits()) {
                self.with_slot(now, slot, Local::stir);
            }
        }
    }

    /// Counts what is held, for whoever asks from another thread.
    pub(crate) fn publish(&self) {
        let mut gauges = WorkerGauges {
            ready: self.scheduler.len(),
            ..WorkerGauges::default()
        };
        self.locals
            .iter()
            .flatten()
            .for_each(|local| local.count(&mut gauges));
        self.board.lock().gauges = gauges;
    }

    fn open(&mut self, now: Time, opening: Opening) {
        let Some(host) = self.hosted.get(opening.model) else {
            return;
        };
        let request = opening.info.id;
        let local = Box::new(Local::new(opening, host, self.id, now));
        let slot = self.free.pop().unwrap_or(self.locals.len());
        if slot == self.locals.len() {
            self.locals.push(None);
        }
        if let Some(place) = self.locals.get_mut(slot) {
            *place = Some(local);
        }
        self.slots.insert(request, slot);
    }

    fn close(&mut self, now: Time, request: RequestId) {
        let slot = self.slots.get(&request).copied();
        let local = slot.and_then(|slot| self.locals.get_mut(slot)?.as_mut());
        match (slot, local) {
            // In a step: it goes when the step is over.
            (Some(_), Some(local)) if local.in_step > 0 => local.life = Life::Closing,
            (Some(slot), Some(_)) => self.drop_local(now, slot),
            _ => self.outbox.push_back(Outbound::Report(Report::Closed {
                request,
                usage: Usage::default(),
            })),
        }
    }

    /// Everything of a request goes.
    fn drop_local(&mut self, now: Time, slot: usize) {
        let Some(local) = self.locals.get_mut(slot).and_then(Option::take) else {
            return;
        };
        let (request, usage) = (local.info.id, local.usage);
        for (time, connection) in local.timers() {
            self.timers.remove(&(time, slot, connection));
        }
        self.scheduler.retain(|seat| seat.slot != slot);
        self.slots.remove(&request);
        self.free.push(slot);
        // A node's state may panic when it is dropped; the request is over either way.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(local)));
        if self.slots.is_empty() {
            self.publish();
        }
        self.outbox
            .push_back(Outbound::Report(Report::Closed { request, usage }));
        self.stir(now, None);
    }

    fn with(&mut self, now: Time, request: RequestId, act: impl FnOnce(&mut Local, &mut Desk<'_>)) {
        if let Some(&slot) = self.slots.get(&request) {
            self.with_slot(now, slot, act);
        }
    }

    fn with_slot(&mut self, now: Time, slot: usize, act: impl FnOnce(&mut Local, &mut Desk<'_>)) {
        let Some(local) = self.locals.get_mut(slot).and_then(Option::as_mut) else {
            return;
        };
        let mut desk = Desk {
            worker: self.id,
            slot,
            now,
            groups: &self.groups,
            scheduler: &mut self.scheduler,
            outbox: &mut self.outbox,
            timers: &mut self.timers,
            wanting: &mut self.wanting,
            ready: &mut self.ready,
        };
        act(local, &mut desk);
    }
}
