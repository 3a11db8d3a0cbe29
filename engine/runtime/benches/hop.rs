//! What the runtime itself costs: nodes that do nothing, on real threads.
//!
//! - *hop*: two nodes that hand one payload to each other in a loop, on one worker.
//! - *stream*: a node that puts one item a step, and one in another partition that takes chunks of
//!   one, on one worker and on two.
//! - *batch*: the hop with 64 requests at once, up to 16 to a step.
//!
//! Prints nanoseconds of wall and of worker time for each step, the best of some rounds: others
//! may use the machine, but they cannot make it faster.

#![expect(
    clippy::print_stdout,
    clippy::panic,
    reason = "a bench prints, and may fail loudly"
)]

#[path = "../tests/machines/scripted.rs"]
mod scripted;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use graph::{
    Call, ConnectionSpec, EngineKind, Graph, GraphBuilder, LoopSpec, NodeSpec, PartitionSpec,
    PortType, Section,
    stream::{ChunkPolicy, Config as Stream},
};
use runtime::{Config, Driver, Event, Options, Payload, Placement};
use scripted::Scripted;

const ROUNDS: usize = 7;
const STEPS: u32 = 100_000;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let steps = if std::env::args().any(|argument| argument == "--bench") {
        STEPS
    } else {
        100
    };
    measure("hop, one worker", &hop(steps / 2), 1, 1, steps);
    measure(
        "hop, 64 requests in batches of 16",
        &hop(steps / 64),
        1,
        64,
        steps / 64 * 64 * 2,
    );
    measure("stream item, one worker", &stream(steps / 2), 1, 1, steps);
    measure("stream item, two workers", &stream(steps / 2), 2, 1, steps);
}

/// A and B, round and round.
fn hop(iterations: u32) -> impl Fn() -> Declared {
    move || {
        let node = |name: &str, output: &str| {
            NodeSpec::new(name, EngineKind::Stateless)
                .input("x", PortType::any())
                .output(output, PortType::any())
        };
        let body = Section::sequence([
            Call::new("a").to("ab", "b", "x"),
            Call::new("b").to("ba", "a", "x"),
        ]);
        let graph = Graph::builder("bench")
            .node(node("a", "ab"))
            .node(node("b", "ba"))
            .walk(
                "turns",
                LoopSpec::new("turns", iterations.max(1), body).bounded(),
            )
            .partition(PartitionSpec::new("one", ["turns"]));
        (graph, &[("a", &["ab"]), ("b", &["ba"])])
    }
}

/// A gives an item a step, B takes one a chunk.
fn stream(items: u32) -> impl Fn() -> Declared {
    move || {
        let give = Call::new("a").to("y", "a", "x").stream("z", "b", "x");
        let node =
            |name: &str| NodeSpec::new(name, EngineKind::Stateless).input("x", PortType::any());
        let graph = Graph::builder("bench")
            .node(
                node("a")
                    .output("y", PortType::any())
                    .output("z", PortType::any()),
            )
            .node(node("b"))
            .walk("give", LoopSpec::new("give", items.max(1), give).bounded())
            .walk("take", Call::new("b"))
            .partition(PartitionSpec::new("one", ["give"]))
            .partition(PartitionSpec::new("two", ["take"]))
            .connection(ConnectionSpec::new(
                "one",
                "two",
                "b",
                "x",
                Stream::new(ChunkPolicy::Fixed { chunk: 1 }),
            ));
        (graph, &[("a", &["y", "z"])])
    }
}

type Declared = (
    GraphBuilder,
    &'static [(&'static str, &'static [&'static str])],
);

fn measure(what: &str, graph: &dyn Fn() -> Declared, workers: usize, requests: usize, steps: u32) {
    let mut best = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let round = round(graph(), workers, requests);
        best = (best.0.min(round.0), best.1.min(round.1));
    }
    println!(
        "{what:36} {:7.0} ns wall, {:7.0} ns inside of steps, for each of {steps} steps",
        best.0, best.1
    );
}

/// Nanoseconds for each member of a step: on the wall, and between the start and end of steps.
fn round((graph, outputs): Declared, workers: usize, requests: usize) -> (f64, f64) {
    let model = Scripted::new(graph, 16, move |name, member| {
        let node = outputs.iter().find(|&&(node, _)| node == name);
        for output in node.into_iter().flat_map(|&(_, outputs)| outputs) {
            member.put(output, Payload::Signal);
        }
    });
    let mut config = Config {
        workers,
        ..Config::default()
    };
    if workers > 1 {
        let partitions = [("one".to_owned(), 0), ("two".to_owned(), 1)].into();
        config
            .placement
            .insert("bench".into(), Placement { partitions });
    }
    let driver = Driver::start(vec![Arc::new(start(model))], config)
        .unwrap_or_else(|error| panic!("{error}"));
    #[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
    let began = Instant::now();
    let open: Vec<_> = (0..requests)
        .map(|_| driver.submit(0, Options::default()))
        .collect();
    let mut members = 0;
    for request in open {
        let (_feed, mut outputs) = request.unwrap_or_else(|error| panic!("{error}"));
        match outputs.next_within(Duration::from_secs(120)) {
            Some(Event::End(end)) if end.error.is_none() => members += end.usage.steps,
            other => panic!("{other:?}"),
        }
    }
    let wall = began.elapsed();
    let busy: Duration = driver.snapshot().nodes.iter().map(|node| node.busy).sum();
    let each = |time: Duration| time.as_secs_f64() * 1e9 / members as f64;
    (each(wall), each(busy))
}

/// The loop's first round starts with a mere signal.
fn start(model: Scripted) -> Scripted {
    model.choosing(|graph, partition, progress| {
        let Some(partition) = graph.partition(partition) else {
            return runtime::Next::Done;
        };
        let Some(walk) = partition.initial() else {
            return runtime::Next::Done;
        };
        if !partition.incoming().is_empty() {
            return if progress.streams_over {
                runtime::Next::Done
            } else {
                runtime::Next::Stream { walk }
            };
        }
        if progress.passes > 0 {
            return runtime::Next::Done;
        }
        let entries = graph.walk(walk).into_iter().flat_map(|walk| walk.entries());
        let inputs = entries.map(|entry| runtime::Input {
            node: entry.node,
            input: entry.input,
            source: runtime::Source::Given(Vec::new()),
        });
        runtime::Next::Walk {
            walk,
            inputs: inputs.collect(),
        }
    })
}
