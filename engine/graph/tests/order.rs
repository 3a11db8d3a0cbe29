//! No order in which ready nodes complete changes what any of them sees, in random walks of
//! sequences, parallels and loops; and each of these walks runs to its end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly, in its helpers as well"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use graph::{
    Call, Edge, EngineKind, Graph, LoopId, LoopSpec, Modality, NodeId, NodeSpec, OutputId,
    PortType, Section, WalkRun,
};
use proptest::prelude::*;

/// The inputs that each node has; a walk uses those that something feeds.
const INPUTS: [&str; 4] = ["a", "b", "c", "seed"];

/// Numbers that decide how a walk is built.
struct Dice {
    rolls: Vec<u16>,
    next: usize,
}

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        let roll = self.rolls.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::from(roll) % sides
    }
}

/// A part of a walk while it is built.
enum Part {
    Node(usize),
    Loop {
        index: usize,
        max: u32,
        dynamic: bool,
        body: Vec<Self>,
    },
}

#[derive(Default)]
struct Plan {
    /// By node: where its output goes, and which inputs are fed.
    edges: Vec<Vec<Edge>>,
    fed: Vec<Vec<&'static str>>,
    /// By loop: what leaves it.
    outputs: Vec<Vec<Edge>>,
    accumulated: Vec<Vec<Edge>>,
}

fn node_name(node: usize) -> String {
    format!("n{node}")
}

impl Plan {
    /// Up to four parts that may follow each other, and loops among them.
    fn parts(&mut self, dice: &mut Dice, depth: usize) -> Vec<Part> {
        let count = 1 + dice.roll(3);
        let parts: Vec<_> = (0..count).map(|_| self.part(dice, depth)).collect();
        for later in 1..parts.len() {
            let earlier = dice.roll(later);
            self.join(dice, &parts[earlier], &parts[later]);
            if dice.roll(2) == 0 {
                self.join(dice, &parts[later - 1], &parts[later]);
            }
        }
        parts
    }

    fn part(&mut self, dice: &mut Dice, depth: usize) -> Part {
        if depth == 0 || dice.roll(3) > 0 {
            self.edges.push(Vec::new());
            self.fed.push(vec!["seed"]);
            return Part::Node(self.edges.len() - 1);
        }
        let index = self.outputs.len();
        self.outputs.push(Vec::new());
        self.accumulated.push(Vec::new());
        let body = self.parts(dice, depth - 1);
        // What a body gives itself for its next iteration.
        for _ in 0..dice.roll(3) {
            let (from, to) = (dice.roll(body.len()), dice.roll(body.len()));
            // A loop's output may not end in its own body.
            let itself = from == to && matches!(body[from], Part::Node(_));
            if from > to || itself {
                self.join(dice, &body[from], &body[to]);
            }
        }
        let max = u32::try_from(1 + dice.roll(4)).unwrap();
        let dynamic = dice.roll(2) == 0;
        Part::Loop {
            index,
            max,
            dynamic,
            body,
        }
    }

    /// An edge from what one part gives to a node of another, where an input is free.
    fn join(&mut self, dice: &mut Dice, from: &Part, to: &Part) {
        let target = self.any_node(dice, to);
        let free = INPUTS
            .iter()
            .find(|input| !self.fed[target].contains(input));
        let Some(&input) = free else { return };
        // A loop gives what a node directly in it gives.
        let giver = match from {
            Part::Node(node) => Some(*node),
            Part::Loop { body, .. } => body.iter().find_map(|part| match part {
                Part::Node(node) => Some(*node),
                Part::Loop { .. } => None,
            }),
        };
        let Some(giver) = giver else { return };
        self.fed[target].push(input);
        let edge = Edge::to(format!("x{giver}"), node_name(target), input);
        match from {
            Part::Node(_) => self.edges[giver].push(edge),
            Part::Loop { index, .. } => {
                let other = &self.accumulated[*index];
                let accumulate = match (self.outputs[*index].is_empty(), other.is_empty()) {
                    (true, true) => dice.roll(2) == 0,
                    (_, accumulated) => !accumulated,
                };
                let edges = match accumulate {
                    true => &mut self.accumulated,
                    false => &mut self.outputs,
                };
                edges[*index].push(edge);
            }
        }
    }

    fn any_node(&self, dice: &mut Dice, part: &Part) -> usize {
        match part {
            Part::Node(node) => *node,
            Part::Loop { body, .. } => {
                let inner = dice.roll(body.len());
                self.any_node(dice, &body[inner])
            }
        }
    }

    fn section(&self, dice: &mut Dice, parts: &[Part]) -> Section {
        let sections = parts.iter().map(|part| match part {
            Part::Node(node) => {
                let mut call = Call::new(node_name(*node)).takes(self.fed[*node].iter().copied());
                call.edges.clone_from(&self.edges[*node]);
                // Everything leaves the walk, too, so that its order is seen.
                call.emit(format!("x{node}"), Modality::Tensor).into()
            }
            Part::Loop {
                index,
                max,
                dynamic,
                body,
            } => {
                let body = self.section(dice, body);
                let mut spec = LoopSpec::new(format!("l{index}"), *max, body);
                spec.outputs.clone_from(&self.outputs[*index]);
                spec.accumulated.clone_from(&self.accumulated[*index]);
                match dynamic {
                    true => spec.dynamic(),
                    false => spec.bounded(),
                }
            }
        });
        let sections = sections.collect();
        match dice.roll(3) {
            0 => Section::Parallel(sections),
            _ => Section::Sequence(sections),
        }
    }
}

fn build(dice: &mut Dice) -> Graph {
    let mut plan = Plan::default();
    let parts = plan.parts(dice, 3);
    let section = plan.section(dice, &parts);
    let mut builder = Graph::builder("random").walk("walk", section);
    for node in 0..plan.edges.len() {
        let mut spec = NodeSpec::new(node_name(node), EngineKind::Stateless)
            .output(format!("x{node}"), PortType::any());
        for input in INPUTS {
            spec = spec.input(input, PortType::any());
        }
        builder = builder.node(spec);
    }
    builder
        .build()
        .unwrap_or_else(|findings| panic!("{findings}"))
}

/// What one run of a node saw, by input.
type Seen = Vec<(usize, Vec<String>)>;

/// What each run of each node saw, and what left the walk, by who gave it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Trace {
    inputs: BTreeMap<(NodeId, usize), Seen>,
    left: BTreeMap<NodeId, Vec<Vec<String>>>,
}

/// Runs a walk twice, picking among the ready nodes; some nodes stop the loops around them.
fn run(graph: &Graph, mut pick: impl FnMut(usize) -> usize) -> Trace {
    let walk = graph.walk_named("walk").unwrap();
    let mut run = WalkRun::<String>::new(Arc::clone(walk));
    let mut trace = Trace::default();
    let mut runs = vec![0; graph.nodes().len()];
    for round in 0..2 {
        for taken in walk.entries() {
            let token = format!("{:?}.{:?}@{round}", taken.node, taken.input);
            run.deliver(taken.node, taken.input, token).unwrap();
        }
        loop {
            let mut ready: Vec<NodeId> = run.ready_nodes().collect();
            if ready.is_empty() {
                break;
            }
            ready.sort();
            let node = ready[pick(ready.len())];
            step(&mut run, node, &mut runs, &mut trace);
        }
        assert!(run.is_done(), "a walk whose entries are there ends");
        run.restart();
    }
    trace
}

fn step(run: &mut WalkRun<String>, node: NodeId, runs: &mut [usize], trace: &mut Trace) {
    let number = runs[node.index()];
    runs[node.index()] += 1;
    let mut inputs = Vec::new();
    run.take_inputs(node, &mut inputs).unwrap();
    let seen = inputs
        .into_iter()
        .map(|(input, payloads)| (input.index(), payloads.into_iter().collect()));
    trace.inputs.insert((node, number), seen.collect());
    let token = format!("x{}#{number}", node.index());
    let stops = if (node.index() + number) % 3 == 2 {
        stoppable(run, node)
    } else {
        Vec::new()
    };
    // Some runs produce nothing: a bare signal.
    let output = (number % 4 != 3).then(|| (OutputId::new(0), token.into()));
    run.complete(node, output, &stops).unwrap();
    while let Some(departure) = run.next_departure() {
        let left = trace.left.entry(departure.node).or_default();
        left.push(departure.payloads.into_iter().collect());
    }
}

fn stoppable(run: &WalkRun<String>, node: NodeId) -> Vec<LoopId> {
    fn dynamic(section: &Section, name: &str) -> bool {
        match section {
            Section::Node(_) => false,
            Section::Sequence(parts) | Section::Parallel(parts) => {
                parts.iter().any(|part| dynamic(part, name))
            }
            Section::Loop(spec) => dynamic(&spec.body, name),
            Section::DynamicLoop(spec) => spec.name == name || dynamic(&spec.body, name),
        }
    }
    let walk = run.walk();
    let around = walk.loops_around(node);
    around
        .filter(|&id| dynamic(walk.section(), walk.loop_name(id).unwrap()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_order_of_completions_changes_what_a_node_sees(
        rolls in prop::collection::vec(any::<u16>(), 20..90),
        picks in prop::collection::vec(any::<usize>(), 64),
    ) {
        let graph = build(&mut Dice { rolls, next: 0 });
        let first = run(&graph, |_| 0);
        prop_assert_eq!(&run(&graph, |count| count - 1), &first);
        let mut picks = picks.into_iter().cycle();
        prop_assert_eq!(&run(&graph, |count| picks.next().unwrap() % count), &first);
    }
}
