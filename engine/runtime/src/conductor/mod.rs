//! Which walk a request's partitions take next, what failed, and when it is over.
//!
//! The conductor is a state machine without IO, threads or a clock. It is told what happened by
//! `handle_*` and says what is to be done by [`Conductor::poll`], which is called until it has
//! nothing more to say. A request lives like this:
//!
//! ```text
//!            submit                 every partition done, failed, cancelled, exhausted
//!   (none) ─────────▶ Running ───────────────────────────────▶ Closing ──────────▶ (gone)
//!              Open to its workers, Start        Close to its workers      all of them Closed:
//!              to each partition                                           End to the requester
//! ```
//!
//! What always holds: a request is counted as open from `Running` until its requester has its
//! end; the requester has it only when no worker holds anything of the request any more; the
//! first reason to close is the one that is told. Reports about a request that is closing or gone
//! are normal, because workers and requesters do not wait for the conductor.

mod admission;
mod request;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use graph::{PartitionId, stream::Time};
use parking_lot::Mutex;

use crate::{
    Config, Error, Model, Next, RequestId, RequestInfo, Result, WorkerId,
    client::{End, Finish, Shared},
    cost::CostModel,
    message::{Command, Opening, Pass, Report},
    metrics::RequestCounts,
    panics::panic_message,
    placement::Placed,
    route::Routes,
};
use admission::Gate;
use request::{Request, State};

/// Something that the conductor wants done.
pub(crate) enum Order {
    /// To be sent to a worker.
    Send(WorkerId, Command),
    /// To be told to the requester.
    End(Arc<Shared>, End),
}

/// A model and where its partitions live.
pub(crate) struct Hosted {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) placed: Placed,
    pub(crate) routes: Arc<Routes>,
}

/// Decides for all requests of one driver.
pub(crate) struct Conductor {
    hosted: Arc<[Hosted]>,
    requests: HashMap<RequestId, Request>,
    orders: VecDeque<Order>,
    counts: RequestCounts,
    limit: usize,
    gate: Gate,
    workers: usize,
    shut_down: bool,
}

impl Conductor {
    /// A conductor that lets in requests within the limits of the configuration.
    pub(crate) fn new(
        hosted: Arc<[Hosted]>,
        config: &Config,
        costs: Arc<Mutex<CostModel>>,
    ) -> Self {
        Self {
            hosted,
            requests: HashMap::new(),
            orders: VecDeque::new(),
            counts: RequestCounts::default(),
            limit: config.limits.requests,
            gate: Gate::new(config.scheduling.admission, costs),
            workers: config.workers,
            shut_down: false,
        }
    }

    /// Whether another request may come in; counts the refusal where not.
    pub(crate) fn admit(&mut self) -> Result<()> {
        if self.shut_down {
            return Err(Error::ShutDown);
        }
        if self.requests.len() >= self.limit {
            self.counts.refused += 1;
            return Err(Error::Overloaded { limit: self.limit });
        }
        Ok(())
    }

    /// Lets a request in.
    pub(crate) fn handle_submit(
        &mut self,
        now: Time,
        model: usize,
        info: RequestInfo,
        shared: &Arc<Shared>,
    ) -> Result<()> {
        self.admit()?;
        let hosted = Arc::clone(&self.hosted);
        let Some(host) = hosted.get(model) else {
            return Err(Error::Setup {
                problem: format!("there is no model with index {model}"),
            });
        };
        let (timing, open) = (info.options.timing, self.requests.values());
        let fits = self.gate.check(now, model, timing, self.workers, open);
        if let Err(saturated) = fits {
            self.counts.refused += 1;
            return Err(saturated);
        }
        let (id, info) = (info.id, Arc::new(info));
        let workers = host.placed.workers();
        for worker in each(workers) {
            let opening = Opening {
                model,
                info: Arc::clone(&info),
                shared: Arc::clone(shared),
            };
            self.orders
                .push_back(Order::Send(worker, Command::Open(Box::new(opening))));
        }
        let partition_count = host.model.graph().partitions().len();
        self.requests.insert(
            id,
            Request::new(
                model,
                info,
                Arc::clone(shared),
                partition_count,
                workers,
                now,
            ),
        );
        for partition in (1..partition_count).map(PartitionId::new) {
            self.advance(id, partition);
        }
        Ok(())
    }

    /// Takes a worker's report.
    pub(crate) fn handle_report(&mut self, now: Time, report: Report, worker: WorkerId) {
        match report {
            Report::Ended {
                request,
                partition,
                passes,
                streams_over,
            } => {
                if let Some(known) = self.requests.get_mut(&request) {
                    known.pass_ended(partition, passes, streams_over);
                    self.advance(request, partition);
                }
            }
            Report::Failed { request, error } => self.close(request, Finish::Stop, Some(error)),
            Report::Exhausted { request } => self.close(request, Finish::Length, None),
            Report::Closed { request, usage } => self.closed(now, request, worker, &usage),
        }
    }

    /// The requester wants no more of it.
    pub(crate) fn handle_cancel(&mut self, request: RequestId) {
        self.close(request, Finish::Stop, Some(Error::Cancelled));
    }

    /// Ends all requests and lets no other one in.
    pub(crate) fn handle_shutdown(&mut self) {
        self.shut_down = true;
        let mut open: Vec<RequestId> = self.requests.keys().copied().collect();
        open.sort_unstable();
        for request in open {
            self.close(request, Finish::Stop, Some(Error::ShutDown));
        }
    }

    /// Something to be done, until there is nothing more.
    pub(crate) fn poll(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// How requests have ended, and how many are open.
    pub(crate) fn counts(&self) -> RequestCounts {
        RequestCounts {
            open: self.requests.len(),
            ..self.counts
        }
    }

    /// Asks the model what a partition does next.
    fn advance(&mut self, id: RequestId, partition: PartitionId) {
        let Some(request) = self
            .requests
            .get_mut(&id)
            .filter(|request| request.is_running())
        else {
            return;
        };
        let Some(host) = self.hosted.get(request.model) else {
            return;
        };
        let worker = host.placed.worker(partition);
        let asked = catch_unwind(AssertUnwindSafe(|| {
            host.model.next(partition, &request.progress(partition))
        }));
        let next = asked.map_err(|panic| Error::Model {
            model: Arc::clone(&request.info.model),
            problem: format!(
                "choosing the next walk panicked: {}",
                panic_message(&*panic)
            ),
        });
        let pass = match next.and_then(|next| request.check(host.model.graph(), partition, next)) {
            Ok(next) => next,
            Err(error) => return self.close(id, Finish::Stop, Some(error)),
        };
        let command = match pass {
            Next::Walk { walk, inputs } => {
                request.walks(partition, walk);
                Command::Start {
                    request: id,
                    partition,
                    pass: Pass::Once { walk, inputs },
                }
            }
            Next::Stream { walk } => {
                request.walks(partition, walk);
                Command::Start {
                    request: id,
                    partition,
                    pass: Pass::Stream { walk },
                }
            }
            Next::Done => Command::Finish {
                request: id,
                partition,
            },
        };
        let is_done = matches!(command, Command::Finish { .. }) && request.done(partition);
        self.orders.push_back(Order::Send(worker, command));
        if is_done {
            self.close(id, Finish::Stop, None);
        }
    }

    /// Running => Closing: every worker is told to drop what it has of it.
    fn close(&mut self, id: RequestId, finish: Finish, error: Option<Error>) {
        let Some(request) = self
            .requests
            .get_mut(&id)
            .filter(|request| request.is_running())
        else {
            return;
        };
        request.shared.close_lanes();
        for worker in each(request.workers) {
            self.orders
                .push_back(Order::Send(worker, Command::Close { request: id }));
        }
        request.state = State::Closing {
            waiting: request.workers,
            finish,
            error,
        };
    }

    /// Closing => gone, once the last worker has said so.
    fn closed(&mut self, now: Time, id: RequestId, worker: WorkerId, usage: &crate::client::Usage) {
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let State::Closing { waiting, .. } = &mut request.state else {
            return;
        };
        *waiting &= !worker.bit();
        let is_last = *waiting == 0;
        request.usage.add(usage);
        if let State::Closing { error: None, .. } = &request.state {
            self.gate.worked(request, worker.index(), usage.busy);
        }
        if !is_last {
            return;
        }
        let Some(Request {
            state: State::Closing { finish, error, .. },
            usage,
            shared,
            since,
            ..
        }) = self.requests.remove(&id)
        else {
            return;
        };
        self.gate.ended(now, since);
        match &error {
            None => self.counts.done += 1,
            Some(Error::Cancelled | Error::ShutDown) => self.counts.cancelled += 1,
            Some(_) => self.counts.failed += 1,
        }
        let finish = match finish {
            Finish::Stop => usage.finish.unwrap_or(Finish::Stop),
            Finish::Length => Finish::Length,
        };
        self.orders.push_back(Order::End(
            shared,
            End {
                finish,
                usage,
                error,
                at: now,
            },
        ));
    }
}

/// The workers of a set.
fn each(mut workers: u64) -> impl Iterator<Item = WorkerId> {
    std::iter::from_fn(move || {
        (workers != 0).then(|| {
            let worker = WorkerId::from_bit(workers);
            workers &= workers - 1;
            worker
        })
    })
}
