//! The machines on real threads: one for each worker, and whoever brings the conductor news.
//!
//! The conductor has no thread. It stands behind a lock, and whoever has something to tell it (a
//! requester that submits, a worker whose walk has ended) lets it decide and sends what it wants
//! sent. That takes microseconds and spares a hop between threads on the way to the first chunk.
//! Its messages are put on the links before the lock is let go, so that each worker gets them in
//! the order in which they were decided.
//!
//! Locks are taken in one order only: conductor, then link or board; nothing is locked while a
//! submodule or a waker runs. A worker's thread waits on its own link alone; see
//! [`link`](crate::link) for why no send waits and nothing deadlocks.

use std::{
    collections::VecDeque,
    sync::{Arc, mpsc},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use graph::stream::Time;
use parking_lot::Mutex;

use super::{Config, core::Core, core::time_from};
use crate::{
    Error, Feed, Model, Options, Outputs, RequestId, Result, Snapshot, WorkerId,
    client::{Bell, End, Shared},
    conductor::{Conductor, Order},
    link::{Link, Refused},
    message::{Command, Report},
    metrics::NodeStats,
    worker::{Board, Outbound, Worker},
};

/// Models on real threads. Dropping it ends all requests and waits for the threads.
pub struct Driver {
    inner: Arc<Inner>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Inner {
    core: Core,
    start: Instant,
    conductor: Mutex<Conductor>,
    links: Vec<Link<Command>>,
    boards: Vec<Arc<Mutex<Board>>>,
}

impl Driver {
    /// Starts the workers, each with the submodules of the nodes that are placed on it. Returns
    /// when all of them are ready.
    ///
    /// # Errors
    /// [`Error::Setup`] for a configuration that cannot be, and whatever a model's submodules
    /// need and do not find.
    pub fn start(models: Vec<Arc<dyn Model>>, config: Config) -> Result<Self> {
        let core = Core::new(models, config)?;
        let capacity = core.link_capacity();
        #[expect(clippy::disallowed_methods, reason = "this driver is the clock")]
        let start = Instant::now();
        let inner = Arc::new(Inner {
            conductor: Mutex::new(core.conductor()),
            links: core.workers().map(|_| Link::new(capacity)).collect(),
            boards: core.workers().map(|_| Arc::default()).collect(),
            core,
            start,
        });
        let driver = Self {
            inner: Arc::clone(&inner),
            threads: Mutex::default(),
        };
        let (ready, started) = mpsc::sync_channel(inner.links.len());
        for worker in inner.core.workers() {
            let (inner, ready) = (Arc::clone(&inner), ready.clone());
            let name = format!("worker-{}", worker.index());
            let thread = Builder::new()
                .name(name)
                .spawn(move || inner.work(worker, &ready));
            let problem = |error| Error::Setup {
                problem: format!("a worker's thread cannot be started: {error}"),
            };
            driver.threads.lock().push(thread.map_err(problem)?);
        }
        drop(ready);
        for _ in inner.core.workers() {
            let gone = || Error::Setup {
                problem: "a worker ended while it was being set up".into(),
            };
            started.recv().map_err(|_| gone())??;
        }
        Ok(driver)
    }

    /// Lets a request in, or refuses it before any work.
    ///
    /// # Errors
    /// Those of [`Model::admit`], [`Error::Overloaded`], [`Error::ShutDown`].
    pub fn submit(&self, model: usize, options: Options) -> Result<(Feed, Outputs)> {
        self.inner.conductor.lock().admit()?;
        let bell = Arc::clone(&self.inner) as Arc<dyn Bell>;
        let (info, shared, feed, outputs) = self.inner.core.prepare(model, options, bell)?;
        let submitted = self
            .inner
            .conduct(|conductor| conductor.handle_submit(self.inner.now(), model, info, &shared));
        if let Err(error) = submitted {
            shared.refuse();
            return Err(error);
        }
        Ok((feed, outputs))
    }

    /// The models that it was started with, by index.
    pub fn models(&self) -> impl Iterator<Item = &Arc<dyn Model>> {
        self.inner.core.hosted.iter().map(|host| &host.model)
    }

    /// What the clock says: time since the start.
    #[must_use]
    pub fn now(&self) -> Time {
        self.inner.now()
    }

    /// What was counted so far. The gauges of a worker lag by up to 10 ms while it works.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.inner.snapshot()
    }

    /// Ends all requests, lets no other one in, and waits for the workers to end. Each makes the
    /// step to its end that it is in.
    pub fn shutdown(&self) {
        self.inner.conduct(Conductor::handle_shutdown);
        self.inner.links.iter().for_each(Link::close);
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A worker that panicked outside of a step has said so on its own; nothing is left to do.
            let _ = thread.join();
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl Bell for Inner {
    fn ring(&self, worker: WorkerId, request: RequestId) {
        self.send(worker, Command::Ring { request });
    }

    fn cancel(&self, request: RequestId) {
        self.conduct(|conductor| conductor.handle_cancel(request));
    }

    fn now(&self) -> Time {
        time_from(self.start.elapsed())
    }
}

/// How long a worker that has nothing to do waits before it counts what it holds.
const PUBLISH_AFTER: Duration = Duration::from_millis(10);

impl Inner {
    /// Tells the conductor something and does what it wants done.
    fn conduct<T>(&self, tell: impl FnOnce(&mut Conductor) -> T) -> T {
        let mut ended: Vec<(Arc<Shared>, End)> = Vec::new();
        let mut conductor = self.conductor.lock();
        let told = tell(&mut conductor);
        while let Some(order) = conductor.poll() {
            match order {
                Order::Send(worker, command) => self.send(worker, command),
                Order::End(shared, end) => ended.push((shared, end)),
            }
        }
        drop(conductor);
        for (shared, end) in ended {
            shared.outlet.end(end);
        }
        told
    }

    fn send(&self, worker: WorkerId, command: Command) {
        let Some(link) = self.links.get(worker.index()) else {
            return;
        };
        if let Err(Refused(command)) = link.send(command) {
            // Only after the worker has ended. Within the protocol a link has room: see `link`.
            debug_assert!(
                link.is_closed(),
                "{} messages were not granted",
                link.longest()
            );
            drop(command);
        }
    }

    /// A worker's thread.
    fn work(&self, id: WorkerId, ready: &mpsc::SyncSender<Result<()>>) {
        let (Some(link), Some(board)) = (self.links.get(id.index()), self.boards.get(id.index()))
        else {
            return;
        };
        let mut worker = match self.core.worker(id, Arc::clone(board)) {
            Ok(worker) => worker,
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        // The one who waits for it may have given up already.
        let _ = ready.send(Ok(()));
        let mut inbox = VecDeque::new();
        let mut published = true;
        loop {
            link.take(&mut inbox);
            if !inbox.is_empty() || worker.next_timeout().is_some() {
                self.turn(&mut worker, &mut inbox, id);
            }
            if let Some(mut batch) = worker.poll_batch(self.now()) {
                worker.execute(&mut batch);
                worker.handle_executed(self.now(), batch);
                self.deliver(&mut worker, id);
                published = false;
                continue;
            }
            let until_timeout = worker.next_timeout().map(|time| time.since(self.now()));
            let until_publish = (!published).then_some(PUBLISH_AFTER);
            let timeout = until_timeout.into_iter().chain(until_publish).min();
            if !link.wait(&mut inbox, timeout) {
                return;
            }
            if inbox.is_empty() && !published {
                worker.publish();
                published = true;
            }
        }
    }

    /// Lets a worker take what has arrived and what has timed out.
    fn turn(&self, worker: &mut Worker, inbox: &mut VecDeque<Command>, id: WorkerId) {
        let now = self.now();
        for command in inbox.drain(..) {
            worker.handle_command(now, command);
        }
        worker.handle_timeout(now);
        self.deliver(worker, id);
    }

    /// Sends what a worker wants sent.
    fn deliver(&self, worker: &mut Worker, id: WorkerId) {
        while let Some(outbound) = worker.poll_outbound() {
            match outbound {
                Outbound::Send(to, command) => self.send(to, command),
                Outbound::Report(report) => self.report(report, id),
            }
        }
    }

    fn report(&self, report: Report, worker: WorkerId) {
        let now = self.now();
        self.conduct(|conductor| conductor.handle_report(now, report, worker));
    }

    fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot {
            requests: self.conductor.lock().counts(),
            ..Snapshot::default()
        };
        for board in &self.boards {
            let board = board.lock();
            snapshot.workers.push(board.gauges);
            snapshot.steps_after_cancel += board.steps_after_cancel;
            merge(&mut snapshot.nodes, &board.nodes());
        }
        snapshot.longest_link = self.links.iter().map(Link::longest).max().unwrap_or(0);
        snapshot
    }
}

/// Adds what one worker's nodes have done; a node may live on several.
pub(super) fn merge(all: &mut Vec<NodeStats>, more: &[NodeStats]) {
    for stats in more {
        match all
            .iter_mut()
            .find(|known| known.model == stats.model && known.node == stats.node)
        {
            Some(known) => known.add(stats),
            None => all.push(stats.clone()),
        }
    }
}
