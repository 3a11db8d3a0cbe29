//! What readiness and buffers cost, in time and in allocations.
//!
//! - *hop*: two nodes that hand one payload to each other in a loop: inputs taken, node completed,
//!   the next one ready. An *iteration* is two hops and the barrier.
//! - *walk*: a whole walk of ten nodes in a row, run again and again by one run.
//! - *chunk*: one item in and one chunk out, without and with context; text by its characters.
//!
//! Prints nanoseconds, the best of some rounds, since others may use the machine but cannot make
//! it faster; and allocations, which are exact. A hop must have none: the bench fails otherwise.

#![allow(
    unsafe_code,
    reason = "a global allocator that counts is unsafe to declare"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench reads the clock, prints, and may fail loudly"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use graph::stream::{ChunkPolicy, Config, Event, StreamBuffer, Time};
use graph::{
    Call, EngineKind, Graph, InputId, LoopSpec, Modality, NodeSpec, OutputId, Payloads, PortType,
    Ratio, Section, WalkRun,
};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the promises
// of the trait; counting touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises about `layout`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller got `pointer` from `alloc` or `realloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as for `dealloc`, and the caller keeps the promises about `size`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const ROUNDS: usize = 9;

/// Runs `work`, which does something `count` times, and gives the allocations of the last round.
fn measure(name: &str, count: u64, mut work: impl FnMut()) -> u64 {
    let (mut best, mut allocations) = (u128::MAX, 0);
    work();
    for _ in 0..ROUNDS {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_nanos());
        allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    }
    let nanos = best / u128::from(count);
    let tenths = best * 10 / u128::from(count) % 10;
    let hundredths = allocations * 100 / count;
    println!(
        "{name:<28} {nanos:>6}.{tenths} ns  {}.{:02} allocations",
        hundredths / 100,
        hundredths % 100
    );
    allocations
}

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let benched = std::env::args().any(|argument| argument == "--bench");
    let scale = if benched { 1000 } else { 1 };
    hops(scale);
    walk(scale);
    for (name, policy) in [
        ("chunk, fixed 1", ChunkPolicy::Fixed { chunk: 1 }),
        ("item, fixed 8", ChunkPolicy::Fixed { chunk: 8 }),
        (
            "item, left context 8 + 2",
            ChunkPolicy::LeftContext { chunk: 8, left: 2 },
        ),
        (
            "item, ramp to 8",
            ChunkPolicy::ramp(1, Ratio::new(2, 1).unwrap(), 8),
        ),
    ] {
        items(name, policy, scale);
    }
    text(scale);
}

fn node(name: &str, output: &str) -> NodeSpec {
    NodeSpec::new(name, EngineKind::Stateless)
        .input("x", PortType::any())
        .output(output, PortType::any())
}

/// Runs a walk to its end with stub nodes that pass on what they take.
fn drive(run: &mut WalkRun<u64>, inputs: &mut Vec<(InputId, Payloads<u64>)>) {
    while let Some(node) = run.next_ready() {
        run.take_inputs(node, inputs).unwrap();
        let (_, payloads) = inputs.pop().unwrap();
        run.complete(node, [(OutputId::new(0), black_box(payloads))], &[])
            .unwrap();
    }
    while let Some(departure) = run.next_departure() {
        black_box(departure);
    }
    assert!(run.is_done());
    run.restart();
}

fn hops(scale: u64) {
    let iterations = 100 * scale;
    let body = Section::Sequence(vec![
        Call::new("a").to("y", "b", "x").into(),
        Call::new("b").to("z", "a", "x").into(),
    ]);
    let spec = LoopSpec::new("round", u32::try_from(iterations).unwrap(), body);
    let graph = Graph::builder("hop")
        .node(node("a", "y"))
        .node(node("b", "z"))
        .walk("walk", spec.bounded())
        .build()
        .unwrap();
    let mut run = WalkRun::new(Arc::clone(graph.walk_named("walk").unwrap()));
    let mut inputs = Vec::with_capacity(4);
    let first = graph.node_named("a").unwrap();
    let mut work = || {
        run.deliver(first, InputId::new(0), 7).unwrap();
        drive(&mut run, &mut inputs);
    };
    let mut allocations = measure("hop", 2 * iterations, &mut work);
    allocations += measure("iteration of two hops", iterations, &mut work);
    assert_eq!(allocations, 0, "a hop allocates nothing");
}

fn walk(scale: u64) {
    let names: Vec<_> = (0..10).map(|index| format!("n{index}")).collect();
    let calls = (0..10).map(|index| match names.get(index + 1) {
        Some(next) => Call::new(&names[index]).to("y", next, "x"),
        None => Call::new(&names[index]).emit("y", Modality::Tensor),
    });
    let graph = names
        .iter()
        .fold(Graph::builder("row"), |graph, name| {
            graph.node(node(name, "y"))
        })
        .walk("walk", Section::sequence(calls))
        .build()
        .unwrap();
    let mut run = WalkRun::new(Arc::clone(graph.walk_named("walk").unwrap()));
    let mut inputs = Vec::with_capacity(4);
    let first = graph.node_named("n0").unwrap();
    let walks = 20 * scale;
    let allocations = measure("walk of ten nodes", walks, || {
        for item in 0..walks {
            run.deliver(first, InputId::new(0), item).unwrap();
            drive(&mut run, &mut inputs);
        }
    });
    assert_eq!(allocations, 0, "a walk that runs again allocates nothing");
}

fn drain<T: graph::stream::Item>(buffer: &mut StreamBuffer<T>) {
    while let Some(Event::Chunk(chunk)) = buffer.poll(Time::ZERO) {
        black_box(chunk);
    }
}

fn items(name: &str, policy: ChunkPolicy, scale: u64) {
    let mut buffer = StreamBuffer::new(&Config::new(policy));
    let count = 160 * scale;
    measure(name, count, || {
        for item in 0..count {
            buffer.push(item).unwrap();
            drain(&mut buffer);
        }
    });
}

fn text(scale: u64) {
    let prose = "It was late, and Dr. Smith had 3.14 pies. He asked (why?) and left at 5 p.m. on \
                 Monday, i.e. early. Nobody knew; nobody asked. ";
    let letters: Vec<char> = prose.chars().collect();
    let count = letters.len() as u64 * scale;
    let mut buffer = StreamBuffer::new(&Config::new(ChunkPolicy::Boundary {
        first_min: 8,
        min: 24,
        max: 120,
        max_wait: None,
    }));
    measure("character, boundary", count, || {
        for _ in 0..scale {
            for &letter in &letters {
                buffer.push(letter).unwrap();
                drain(&mut buffer);
            }
        }
    });
}
