//! What the conductor decides, one event after another.

use std::sync::Arc;

use graph::stream::{ChunkPolicy, Config as Stream};
use graph::{Call, ConnectionSpec, EngineKind, Graph, NodeId, NodeSpec, PartitionSpec, PortType};

use super::*;
use crate::{
    Admitted, Limits, ModelInfo, Options, Placement, Progress, Submodule, Usage,
    client::Event,
    client::{Bell, Outlet, Outputs},
};

/// Two partitions, each on its own worker; each streams once and is done.
struct Pair(Arc<Graph>, ModelInfo);

impl Model for Pair {
    fn graph(&self) -> &Arc<Graph> {
        &self.0
    }

    fn info(&self) -> &ModelInfo {
        &self.1
    }

    fn admit(&self, _options: &Options) -> Result<Admitted> {
        Ok(Arc::new(()))
    }

    fn next(&self, partition: PartitionId, progress: &Progress<'_>) -> Next {
        match self
            .0
            .partition(partition)
            .and_then(graph::Partition::initial)
        {
            Some(walk) if !progress.streams_over => Next::Stream { walk },
            _ => Next::Done,
        }
    }

    fn submodule(&self, _node: NodeId) -> Result<Box<dyn Submodule>> {
        Err(Error::ShutDown)
    }
}

struct Silent;

impl Bell for Silent {
    fn ring(&self, _worker: WorkerId, _request: RequestId) {}
    fn cancel(&self, _request: RequestId) {}
    fn now(&self) -> Time {
        Time::ZERO
    }
}

struct Desk {
    conductor: Conductor,
    outputs: Vec<Outputs>,
}

impl Desk {
    fn new(limit: usize) -> Self {
        let one = || Stream::new(ChunkPolicy::Fixed { chunk: 1 });
        let node = |name: &str| {
            NodeSpec::new(name, EngineKind::Stateless)
                .input("x", PortType::any())
                .output("y", PortType::any())
        };
        let graph = Graph::builder("pair")
            .node(node("a"))
            .node(node("b"))
            .walk("a", Call::new("a").stream("y", "b", "x"))
            .walk("b", Call::new("b"))
            .partition(PartitionSpec::new("first", ["a"]))
            .partition(PartitionSpec::new("second", ["b"]))
            .connection(ConnectionSpec::from_requester("first", "a", "x", one()))
            .connection(ConnectionSpec::new("first", "second", "b", "x", one()))
            .build()
            .unwrap();
        let names: Vec<String> = graph
            .partitions()
            .iter()
            .map(|partition| partition.name().to_owned())
            .collect();
        let apart = Placement {
            partitions: [("second".to_owned(), 1)].into(),
        };
        let placed = Placed::new(&apart, &Placement::default(), &names, 2).unwrap();
        let info = ModelInfo {
            id: "pair".into(),
            ..ModelInfo::default()
        };
        let hosted = [Hosted {
            routes: Arc::new(Routes::new(&graph)),
            model: Arc::new(Pair(Arc::new(graph), info)),
            placed,
        }];
        let limits = Limits {
            requests: limit,
            ..Limits::default()
        };
        let config = Config {
            limits,
            ..Config::default()
        };
        Self {
            conductor: Conductor::new(hosted.into(), &config, Arc::default()),
            outputs: Vec::new(),
        }
    }

    fn submit(&mut self, id: u64) -> Result<()> {
        let shared = Arc::new(Shared::new(
            RequestId(id),
            [].into(),
            Outlet::new(8),
            Arc::new(Silent),
        ));
        let (model, options) = ("pair".into(), Options::default());
        let info = RequestInfo {
            id: RequestId(id),
            model,
            seed: 0,
            options,
            admitted: Arc::new(()),
        };
        self.outputs.push(Outputs::new(Arc::clone(&shared)));
        self.conductor.handle_submit(Time::ZERO, 0, info, &shared)
    }

    fn report(&mut self, worker: usize, report: Report) {
        self.conductor
            .handle_report(Time::ZERO, report, WorkerId::new(worker));
    }

    /// What it wants done, in a word each.
    fn orders(&mut self) -> Vec<String> {
        let mut orders = Vec::new();
        while let Some(order) = self.conductor.poll() {
            orders.push(match order {
                Order::Send(worker, command) => {
                    let what = match &command {
                        Command::Open(_) => "open".to_owned(),
                        Command::Start { partition, .. } => format!("start {}", partition.index()),
                        Command::Finish { partition, .. } => {
                            format!("finish {}", partition.index())
                        }
                        Command::Close { .. } => "close".to_owned(),
                        _ => "?".to_owned(),
                    };
                    format!("{}: {what} on {}", command.request(), worker.index())
                }
                Order::End(shared, end) => {
                    let how = end
                        .error
                        .as_ref()
                        .map_or("done".into(), ToString::to_string);
                    let id = shared.id;
                    shared.outlet.end(end);
                    format!("{id}: {how}")
                }
            });
        }
        orders
    }

    fn end_pass(&mut self, partition: usize, streams_over: bool) {
        let (request, partition) = (RequestId(1), PartitionId::new(partition));
        self.report(
            partition.index() - 1,
            Report::Ended {
                request,
                partition,
                passes: 1,
                streams_over,
            },
        );
    }

    fn closed(&mut self, worker: usize, steps: u64) {
        let usage = Usage {
            steps,
            ..Usage::default()
        };
        self.report(
            worker,
            Report::Closed {
                request: RequestId(1),
                usage,
            },
        );
    }
}

#[test]
fn a_request_ends_when_its_partitions_are_done_and_its_workers_empty() {
    let mut desk = Desk::new(4);
    desk.submit(1).unwrap();
    assert_eq!(
        desk.orders(),
        [
            "1: open on 0",
            "1: open on 1",
            "1: start 1 on 0",
            "1: start 2 on 1"
        ]
    );
    desk.end_pass(1, true);
    assert_eq!(desk.orders(), ["1: finish 1 on 0"]);
    desk.end_pass(2, false);
    assert_eq!(desk.orders(), ["1: start 2 on 1"], "its stream is not over");
    desk.end_pass(2, true);
    assert_eq!(
        desk.orders(),
        ["1: finish 2 on 1", "1: close on 0", "1: close on 1"]
    );
    desk.closed(1, 3);
    assert_eq!((desk.orders(), desk.conductor.counts().open), (vec![], 1));
    desk.closed(0, 4);
    assert_eq!(desk.orders(), ["1: done"]);
    let Some(Event::End(end)) = desk.outputs[0].try_next() else {
        panic!("no end")
    };
    assert_eq!(end.usage.steps, 7, "what both workers saw");
    assert_eq!(
        (desk.conductor.counts().open, desk.conductor.counts().done),
        (0, 1)
    );
}

#[test]
fn the_first_reason_to_close_is_told_and_late_reports_are_normal() {
    let mut desk = Desk::new(4);
    desk.submit(1).unwrap();
    desk.orders();
    desk.report(
        0,
        Report::Failed {
            request: RequestId(1),
            error: Error::Setup {
                problem: "first".into(),
            },
        },
    );
    assert_eq!(desk.orders(), ["1: close on 0", "1: close on 1"]);
    desk.report(
        1,
        Report::Failed {
            request: RequestId(1),
            error: Error::Setup {
                problem: "second".into(),
            },
        },
    );
    desk.conductor.handle_cancel(RequestId(1));
    desk.end_pass(1, true);
    desk.closed(0, 0);
    desk.closed(0, 0);
    assert_eq!(
        desk.orders(),
        Vec::<String>::new(),
        "one worker has not said so"
    );
    desk.closed(1, 0);
    assert_eq!(desk.orders(), ["1: first"]);
    desk.end_pass(1, true);
    desk.closed(1, 0);
    desk.conductor.handle_cancel(RequestId(1));
    assert_eq!(desk.orders(), Vec::<String>::new());
    assert_eq!(desk.conductor.counts().failed, 1);
}

#[test]
fn a_closing_request_still_takes_its_room() {
    let mut desk = Desk::new(1);
    desk.submit(1).unwrap();
    assert_eq!(desk.submit(2), Err(Error::Overloaded { limit: 1 }));
    desk.conductor.handle_cancel(RequestId(1));
    assert_eq!(desk.submit(2), Err(Error::Overloaded { limit: 1 }));
    desk.closed(0, 0);
    desk.closed(1, 0);
    desk.submit(2).unwrap();
    let counts = desk.conductor.counts();
    assert_eq!((counts.open, counts.cancelled, counts.refused), (1, 1, 2));
}

#[test]
fn a_shutdown_closes_everything_and_lets_nobody_in() {
    let mut desk = Desk::new(4);
    desk.submit(1).unwrap();
    desk.orders();
    desk.conductor.handle_shutdown();
    assert_eq!(desk.submit(2), Err(Error::ShutDown));
    assert_eq!(desk.orders(), ["1: close on 0", "1: close on 1"]);
    desk.closed(0, 0);
    desk.closed(1, 0);
    assert_eq!(desk.orders(), ["1: the engine is shut down"]);
}
