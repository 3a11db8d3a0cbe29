//! The machines on one thread and a clock of its own: the same conductor, workers and streams,
//! with steps that cost what a table says.
//!
//! Submodules really run, so outputs are real; only time is not. Messages take a small time that
//! is drawn from a seed, so that other seeds give other interleavings and one seed always gives
//! the same one. On the way from one sender to one worker they keep their order.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use graph::stream::Time;
use parking_lot::Mutex;

use super::{Config, core::Core, core::mix, threads::merge};
use crate::{
    Feed, Model, Options, Outputs, RequestId, Result, Snapshot, WorkerId,
    client::Bell,
    conductor::{Conductor, Order},
    message::Command,
    worker::{Batch, Board, Outbound, StepInfo, Worker},
};

/// How long steps take.
pub trait Costs: Send {
    /// How long one step of this kind keeps its worker busy.
    fn step(&mut self, step: StepInfo<'_>) -> Duration;
}

/// The same for every step.
impl Costs for Duration {
    fn step(&mut self, _step: StepInfo<'_>) -> Duration {
        *self
    }
}

/// Models on a virtual clock.
pub struct Simulation {
    core: Core,
    conductor: Conductor,
    workers: Vec<Seat>,
    bell: Arc<SimulatedBell>,
    costs: Box<dyn Costs>,
    events: BinaryHeap<Reverse<Event>>,
    /// Counts events, so that those of one instant keep their order.
    sequence: u64,
    random: u64,
    now: Time,
}

/// A worker and the step that it is in.
struct Seat {
    worker: Worker,
    board: Arc<Mutex<Board>>,
    step: Option<Batch>,
    /// When the last message on the way to it arrives: later ones arrive after it.
    last_arrival: Time,
}

struct Event {
    at: Time,
    sequence: u64,
    what: What,
}

enum What {
    Arrives(WorkerId, Command),
    StepEnds(WorkerId),
    TimesOut(WorkerId),
}

/// The longest that a message is on its way.
const LONGEST_WAY: u64 = 20_000;

impl Simulation {
    /// Places the models and makes their submodules. Everything that follows depends on the
    /// configuration, the calls and `seed` alone.
    ///
    /// # Errors
    /// Those of [`Driver::start`](crate::Driver::start).
    pub fn new(
        models: Vec<Arc<dyn Model>>,
        config: Config,
        costs: impl Costs + 'static,
        seed: u64,
    ) -> Result<Self> {
        let core = Core::new(models, config)?;
        let seat = |id| {
            let board = Arc::new(Mutex::new(Board::default()));
            let worker = core.worker(id, Arc::clone(&board))?;
            Ok(Seat {
                worker,
                board,
                step: None,
                last_arrival: Time::ZERO,
            })
        };
        let workers = core.workers().map(seat).collect::<Result<_>>()?;
        Ok(Self {
            conductor: core.conductor(),
            core,
            workers,
            bell: Arc::default(),
            costs: Box::new(costs),
            events: BinaryHeap::new(),
            sequence: 0,
            random: mix(seed),
            now: Time::ZERO,
        })
    }

    /// Lets a request in, or refuses it before any work.
    ///
    /// # Errors
    /// Those of [`Driver::submit`](crate::Driver::submit).
    pub fn submit(&mut self, model: usize, options: Options) -> Result<(Feed, Outputs)> {
        self.conductor.admit()?;
        let bell = Arc::clone(&self.bell) as Arc<dyn Bell>;
        let (info, shared, feed, outputs) = self.core.prepare(model, options, bell)?;
        self.conductor
            .handle_submit(self.now, model, info, &shared)?;
        self.conduct();
        Ok((feed, outputs))
    }

    /// Moves on to the next instant at which something happens, unless that is after `until`.
    /// Returns whether anything happened.
    pub fn step_until(&mut self, until: Time) -> bool {
        self.answer_bells();
        let due = self
            .events
            .peek()
            .is_some_and(|Reverse(event)| event.at <= until);
        let Some(Reverse(event)) = due.then(|| self.events.pop()).flatten() else {
            return false;
        };
        self.now = self.now.max(event.at);
        self.bell.now.store(self.now.nanos(), Ordering::Relaxed);
        let id = match event.what {
            What::Arrives(id, command) => {
                self.with(id, |worker, now| worker.handle_command(now, command));
                id
            }
            What::TimesOut(id) => id,
            What::StepEnds(id) => {
                let now = self.now;
                if let Some(seat) = self.workers.get_mut(id.index())
                    && let Some(batch) = seat.step.take()
                {
                    seat.worker.handle_executed(now, batch);
                }
                id
            }
        };
        self.with(id, Worker::handle_timeout);
        self.deliver(id);
        self.begin_step(id);
        true
    }

    /// Lets everything happen until nothing more does, or `most` events have. Returns whether
    /// nothing is left to happen.
    pub fn run(&mut self, most: usize) -> bool {
        (0..most).any(|_| !self.step_until(Time::from_nanos(u64::MAX)))
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        let until = self.now.after(time);
        while self.step_until(until) {}
        self.now = until;
        self.bell.now.store(until.nanos(), Ordering::Relaxed);
    }

    /// What the clock says.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// What was counted so far.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot {
            requests: self.conductor.counts(),
            ..Snapshot::default()
        };
        for seat in &self.workers {
            seat.worker.publish();
            let board = seat.board.lock();
            snapshot.workers.push(board.gauges);
            snapshot.steps_after_cancel += board.steps_after_cancel;
            merge(&mut snapshot.nodes, &board.nodes());
        }
        snapshot
    }

    fn with(&mut self, id: WorkerId, act: impl FnOnce(&mut Worker, Time)) {
        let now = self.now;
        if let Some(seat) = self.workers.get_mut(id.index()) {
            act(&mut seat.worker, now);
        }
    }

    /// What requesters have rung since the last event.
    fn answer_bells(&mut self) {
        let rung = std::mem::take(&mut *self.bell.rung.lock());
        for ring in rung {
            match ring {
                Rung::Worker(worker, request) => self.send(worker, Command::Ring { request }),
                Rung::Cancel(request) => {
                    self.conductor.handle_cancel(request);
                    self.conduct();
                }
            }
        }
    }

    fn conduct(&mut self) {
        while let Some(order) = self.conductor.poll() {
            match order {
                Order::Send(worker, command) => self.send(worker, command),
                Order::End(shared, end) => shared.outlet.end(end),
            }
        }
    }

    fn send(&mut self, worker: WorkerId, command: Command) {
        self.random = mix(self.random);
        let arrival = self
            .now
            .after(Duration::from_nanos(self.random % LONGEST_WAY));
        let Some(seat) = self.workers.get_mut(worker.index()) else {
            return;
        };
        seat.last_arrival = seat.last_arrival.max(arrival);
        let at = seat.last_arrival;
        self.plan(at, What::Arrives(worker, command));
    }

    fn plan(&mut self, at: Time, what: What) {
        self.sequence += 1;
        self.events.push(Reverse(Event {
            at,
            sequence: self.sequence,
            what,
        }));
    }

    fn deliver(&mut self, id: WorkerId) {
        while let Some(outbound) = self
            .workers
            .get_mut(id.index())
            .and_then(|seat| seat.worker.poll_outbound())
        {
            match outbound {
                Outbound::Send(to, command) => self.send(to, command),
                Outbound::Report(report) => {
                    self.conductor.handle_report(self.now, report, id);
                    self.conduct();
                }
            }
        }
    }

    /// A worker that is free takes the next step, or waits for its next timeout.
    fn begin_step(&mut self, id: WorkerId) {
        let now = self.now;
        let Some(seat) = self
            .workers
            .get_mut(id.index())
            .filter(|seat| seat.step.is_none())
        else {
            return;
        };
        if let Some(mut batch) = seat.worker.poll_batch(now) {
            let cost = seat
                .worker
                .describe(&batch)
                .map_or(Duration::ZERO, |step| self.costs.step(step));
            seat.worker.execute(&mut batch);
            seat.step = Some(batch);
            self.plan(now.after(cost), What::StepEnds(id));
        } else if let Some(time) = seat.worker.next_timeout() {
            self.plan(time.max(now), What::TimesOut(id));
        }
    }
}

/// Rings are kept until the simulation next looks.
#[derive(Default)]
struct SimulatedBell {
    rung: Mutex<Vec<Rung>>,
    now: AtomicU64,
}

enum Rung {
    Worker(WorkerId, RequestId),
    Cancel(RequestId),
}

impl Bell for SimulatedBell {
    fn ring(&self, worker: WorkerId, request: RequestId) {
        self.rung.lock().push(Rung::Worker(worker, request));
    }

    fn cancel(&self, request: RequestId) {
        self.rung.lock().push(Rung::Cancel(request));
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.now.load(Ordering::Relaxed))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}
