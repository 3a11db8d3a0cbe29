//! The declared graphs of eleven models: each loads, checks, and runs every walk of its recorded
//! schedules with stub nodes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly, in its helpers as well"
)]

mod support;

use std::collections::HashMap;
use std::sync::Arc;

use graph::stream::{Event, StreamBuffer, Time};
use graph::{ConnectionId, Exit, Graph, NodeId, OutputId, Payloads, WalkRun};
use serde_json::Value;
use support::{list, names, text};

const CASES: &str = include_str!("cases/models.json");

fn cases() -> Value {
    serde_json::from_str(CASES).unwrap()
}

fn load(name: &str, declaration: &Value) -> (Graph, Vec<String>) {
    let (builder, dead) = support::model(name, declaration);
    let graph = builder
        .build()
        .unwrap_or_else(|findings| panic!("{name}: {findings}"));
    (graph, dead)
}

#[test]
fn every_declared_model_is_sound() {
    let cases = cases();
    let models = cases["model_declarations"].as_object().unwrap();
    assert_eq!(models.len(), 11);
    for (name, declaration) in models {
        let (graph, dead) = load(name, declaration);
        assert_eq!(
            graph.walks().len(),
            declaration["walks"].as_object().unwrap().len()
        );
        assert_eq!(
            graph.connections().len(),
            list(&declaration["connections"]).len()
        );
        let self_edge = "rollout_predictor.predicted_hidden -> rollout_predictor";
        let expected = if name.starts_with("vjepa2") {
            vec![self_edge; 2]
        } else {
            vec![]
        };
        assert_eq!(dead, expected, "{name}");
    }
}

/// One request of a model of stubs. Loops run `STEPS` times: until then a node inside raises no
/// stop, then each node stops all stoppable loops around it.
struct Request<'a> {
    graph: &'a Graph,
    streams: HashMap<ConnectionId, StreamBuffer<String>>,
    /// What is kept, by name: how many payloads.
    kept: HashMap<String, usize>,
    emitted: usize,
    streamed: HashMap<ConnectionId, usize>,
}

const STEPS: u32 = 3;

impl<'a> Request<'a> {
    fn new(graph: &'a Graph) -> Self {
        let streams = graph.connections().iter();
        Self {
            graph,
            streams: streams
                .map(|it| (it.id(), StreamBuffer::new(it.stream())))
                .collect(),
            kept: HashMap::new(),
            emitted: 0,
            streamed: HashMap::new(),
        }
    }

    /// Runs a walk to its end. Returns false when it waits for a chunk that is not there.
    fn run(&mut self, name: &str, inputs: &[(String, String, usize)]) -> bool {
        let walk = self
            .graph
            .walk_named(name)
            .unwrap_or_else(|| panic!("no walk {name}"));
        let mut run = WalkRun::<String>::new(Arc::clone(walk));
        for (node, input, count) in inputs {
            let id = self.graph.node_named(node).unwrap();
            let port = self.graph.node(id).unwrap().input_named(input).unwrap();
            let payloads: Payloads<_> = (0..*count).map(|at| format!("{input}{at}")).collect();
            run.deliver(id, port, payloads)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        loop {
            while let Some(node) = run.next_ready() {
                self.step(&mut run, node);
            }
            if run.is_done() {
                return true;
            }
            if !self.feed_chunks(&mut run) {
                return false;
            }
        }
    }

    fn feed_chunks(&mut self, run: &mut WalkRun<String>) -> bool {
        let wanting: Vec<_> = run.wanting().collect();
        let mut fed = false;
        for want in wanting {
            let buffer = self.streams.get_mut(&want.connection).unwrap();
            if let Some(Event::Chunk(chunk)) = buffer.poll(Time::ZERO) {
                let payloads: Payloads<_> = chunk.items.into_iter().collect();
                run.deliver_chunk(want.node, want.input, payloads).unwrap();
                fed = true;
            }
        }
        fed
    }

    fn step(&mut self, run: &mut WalkRun<String>, node: NodeId) {
        let spec = self.graph.node(node).unwrap();
        let mut inputs = Vec::new();
        run.take_inputs(node, &mut inputs).unwrap();
        let outputs = (0..spec.outputs.len()).map(|at| (OutputId::new(at), "t".to_owned().into()));
        let last = run
            .iterations(node)
            .any(|(_, iteration)| iteration + 1 >= STEPS);
        // The unnamed loops of the recordings are bounded and cannot be stopped.
        let stoppable =
            |id: &graph::LoopId| !run.walk().loop_name(*id).unwrap().starts_with("loop_");
        let stops: Vec<_> = match last {
            true => run.walk().loops_around(node).filter(stoppable).collect(),
            false => Vec::new(),
        };
        run.complete(node, outputs, &stops).unwrap();
        while let Some(departure) = run.next_departure() {
            let name = spec_name(self.graph, departure.node, departure.output);
            if departure.leaving.persist {
                self.kept.insert(name, departure.payloads.len());
            }
            match departure.leaving.to {
                Exit::Emit(_) => self.emitted += departure.payloads.len(),
                Exit::Stream(id) => {
                    *self.streamed.entry(id).or_default() += departure.payloads.len();
                    let buffer = self.streams.get_mut(&id).unwrap();
                    buffer
                        .extend(departure.payloads.as_slice().to_vec())
                        .unwrap();
                }
                Exit::Nowhere => {}
            }
        }
    }
}

fn spec_name(graph: &Graph, node: NodeId, output: OutputId) -> String {
    graph.node(node).unwrap().output_name(output).to_owned()
}

fn inputs_of(step: &Value) -> Vec<(String, String, usize)> {
    let inputs = list(&step["inputs"]).iter();
    inputs
        .map(|input| {
            let count = usize::try_from(input[2].as_u64().unwrap()).unwrap();
            let name = |at: usize| input[at].as_str().unwrap().to_owned();
            (name(0), name(1), count)
        })
        .collect()
}

/// Each walk of each schedule takes exactly the recorded inputs from outside, runs to its end,
/// and what the requester was promised comes out.
#[test]
fn recorded_schedules_run_to_their_end() {
    let cases = cases();
    let schedules = list(&cases["walk_schedules"]);
    assert_eq!(schedules.len(), 27);
    for schedule in schedules {
        let model = text(schedule, "model");
        let (graph, _) = load(&model, &cases["model_declarations"][&model]);
        let mut request = Request::new(&graph);
        let mut partitions: Vec<_> = graph.partitions().iter().skip(1).collect();
        // Producers first: each partition then finds all its chunks.
        partitions.sort_by_key(|partition| depth(&graph, partition.id()));
        for partition in partitions {
            for id in partition.incoming() {
                request.streams.get_mut(id).unwrap().end();
            }
            let steps = list(&schedule["schedule"][partition.name()]);
            for step in steps.iter().filter(|step| step["done"] != true) {
                run_step(&graph, &mut request, &model, step);
            }
        }
        let out = names(&schedule["output_modalities"]);
        assert!(
            request.emitted > 0,
            "{model}: nothing emitted, {out:?} promised"
        );
    }
}

fn run_step(graph: &Graph, request: &mut Request<'_>, model: &str, step: &Value) {
    let (name, inputs) = (text(step, "walk"), inputs_of(step));
    let walk = graph.walk_named(&name).unwrap();
    let mut expected: Vec<_> = walk
        .entries()
        .map(|taken| {
            let node = graph.node(taken.node).unwrap();
            (node.name.clone(), node.input_name(taken.input).to_owned())
        })
        .collect();
    let mut given: Vec<_> = inputs
        .iter()
        .map(|(node, name, _)| (node.clone(), name.clone()))
        .collect();
    expected.sort();
    given.sort();
    assert_eq!(given, expected, "{model}: {name}");
    // A walk of chunks alone runs once for each chunk: the recording lists some of them.
    assert!(
        request.run(&name, &inputs) || walk.entries().next().is_none(),
        "{model}: {name}"
    );
}

fn depth(graph: &Graph, id: graph::PartitionId) -> usize {
    let incoming = graph.partition(id).unwrap().incoming().iter();
    let from = incoming.map(|&id| graph.connection(id).unwrap().from());
    from.map(|from| 1 + depth(graph, from)).max().unwrap_or(0)
}
