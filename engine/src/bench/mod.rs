//! What the runtime itself costs: nodes that do nothing, on real threads.
//!
//! All figures are times between the beginnings of steps, in microseconds:
//!
//! | figure | from | to |
//! | --- | --- | --- |
//! | `hop` | a node | the node that it hands a payload to, on the same worker |
//! | `loop_batch_N` | an iteration of `N` requests in one step | their next one |
//! | `transition` | the only node of a walk | that of the next one, which the conductor chose |
//! | `join` | a node | the one behind two branches, the steps of the branches included |
//! | `chunk_fixed` | a node that puts an item on a streaming edge | the node that takes it, chunk by chunk of one |
//! | `chunk_sliding` | the one that completes a window of 28, every 7 items | the node that takes it |
//! | `setup_N` | the request, for a graph of `N` nodes | its first node |

mod model;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use graph::{
    Call, ConnectionSpec, EngineKind, Graph, GraphBuilder, LoopSpec, NodeSpec, PartitionSpec,
    PortType, Section,
    stream::{ChunkPolicy, Config as Stream},
};
use model::{Idle, Passes, Stamp};
use runtime::{Driver, Event, Options};

/// How a time is spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The median, in microseconds.
    pub p50_us: f64,
    /// What 99 of 100 stay below, in microseconds.
    pub p99_us: f64,
    /// How many were measured.
    pub n: usize,
}

/// Why a figure could not be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{figure}: {problem}")]
pub struct Error {
    /// Which one.
    pub figure: &'static str,
    /// What went wrong.
    pub problem: String,
}

/// All figures by their names, in the order of the table above. With `short`, few of each: to see
/// that it works.
///
/// # Errors
/// Where the runtime does not do what it is asked.
pub fn runtime(short: bool) -> Result<Vec<(&'static str, Figure)>, Error> {
    let scale = if short { 200 } else { 20_000 };
    Ok(vec![
        ("hop", hop(2 * scale)?),
        ("loop_batch_1", iterations("loop_batch_1", 1, scale)?),
        (
            "loop_batch_16",
            iterations("loop_batch_16", 16, scale.max(2_000))?,
        ),
        (
            "loop_batch_64", // Long enough for all to be there at once.
            iterations("loop_batch_64", 64, (scale / 4).max(2_000))?,
        ),
        ("transition", transition(scale)?),
        ("join", join(scale)?),
        ("chunk_sliding", chunk("chunk_sliding", SLIDING, scale)?),
        ("chunk_fixed", chunk("chunk_fixed", FIXED, scale)?),
        ("setup_2", setup("setup_2", 2, scale / 10)?),
        ("setup_20", setup("setup_20", 20, scale / 10)?),
    ])
}

const SLIDING: ChunkPolicy = ChunkPolicy::SlidingWindow {
    window: 28,
    stride: 7,
};
const FIXED: ChunkPolicy = ChunkPolicy::Fixed { chunk: 1 };

fn node(name: &str, outputs: &[&str]) -> NodeSpec {
    let node = NodeSpec::new(name, EngineKind::Stateless).input("x", PortType::any());
    outputs
        .iter()
        .fold(node, |node, &output| node.output(output, PortType::any()))
}

/// One walk, once.
fn once(walk: &'static str) -> Passes {
    Passes {
        walks: vec![walk],
        count: 1,
    }
}

fn hop(count: u32) -> Result<Figure, Error> {
    let body = Section::sequence([
        Call::new("a").to("ab", "b", "x"),
        Call::new("b").to("ba", "a", "x"),
    ]);
    let graph = Graph::builder("hop")
        .node(node("a", &["ab"]))
        .node(node("b", &["ba"]))
        .walk("turns", LoopSpec::new("turns", count / 2, body).bounded())
        .partition(PartitionSpec::new("one", ["turns"]));
    let stamps = run("hop", graph, once("turns"), 1, 1)?;
    let pairs = stamps.windows(2).map(|pair| since(&pair[0], &pair[1]));
    figure("hop", pairs.collect())
}

/// Takes longer where requests came in so slowly that they were never all there at once.
fn iterations(name: &'static str, batch: usize, count: u32) -> Result<Figure, Error> {
    let lengths = [count, 8 * count, 64 * count];
    let mut figures = lengths.iter().map(|&count| loop_of(name, batch, count));
    let last = || loop_of(name, batch, count);
    figures.find(Result::is_ok).unwrap_or_else(last)
}

fn loop_of(name: &'static str, batch: usize, count: u32) -> Result<Figure, Error> {
    let body = Call::new("a").to("y", "a", "x");
    let graph = Graph::builder("loop")
        .node(node("a", &["y"]))
        .walk("turns", LoopSpec::new("turns", count, body).bounded())
        .partition(PartitionSpec::new("one", ["turns"]));
    let stamps = run(name, graph, once("turns"), batch, batch)?;
    let full = |pair: &&[Stamp]| pair.iter().all(|stamp| stamp.members == batch);
    let pairs = stamps.windows(2).filter(full);
    figure(name, pairs.map(|pair| since(&pair[0], &pair[1])).collect())
}

fn transition(count: u32) -> Result<Figure, Error> {
    let graph = Graph::builder("transition")
        .node(node("a", &["y"]))
        .node(node("b", &["y"]))
        .walk("first", Call::new("a").keep("y"))
        .walk("second", Call::new("b").keep("y"))
        .partition(PartitionSpec::new("one", ["first", "second"]).initial("first"));
    let passes = Passes {
        walks: vec!["first", "second"],
        count: u64::from(count),
    };
    let stamps = run("transition", graph, passes, 1, 1)?;
    let pairs = stamps.windows(2).map(|pair| since(&pair[0], &pair[1]));
    figure("transition", pairs.collect())
}

fn join(count: u32) -> Result<Figure, Error> {
    let join = node("join", &["both"]).input("z", PortType::any());
    let body = Section::sequence([
        Section::from(
            Call::new("source")
                .to("out", "left", "x")
                .to("out", "right", "x"),
        ),
        Section::parallel([
            Call::new("left").to("left", "join", "x"),
            Call::new("right").to("right", "join", "z"),
        ]),
        Section::from(Call::new("join").to("both", "source", "x")),
    ]);
    let graph = Graph::builder("join")
        .node(node("source", &["out"]))
        .node(node("left", &["left"]))
        .node(node("right", &["right"]))
        .node(join)
        .walk("turns", LoopSpec::new("turns", count, body).bounded())
        .partition(PartitionSpec::new("one", ["turns"]));
    let stamps = run("join", graph, once("turns"), 1, 1)?;
    let rounds = stamps.chunks_exact(4);
    figure(
        "join",
        rounds.map(|round| since(&round[0], &round[3])).collect(),
    )
}

fn chunk(name: &'static str, policy: ChunkPolicy, count: u32) -> Result<Figure, Error> {
    let give = Call::new("a").to("y", "a", "x").stream("z", "b", "x");
    let graph = Graph::builder("stream")
        .node(node("a", &["y", "z"]))
        .node(node("b", &[]))
        .walk("give", LoopSpec::new("give", count, give).bounded())
        .walk("take", Call::new("b"))
        .partition(PartitionSpec::new("one", ["give"]))
        .partition(PartitionSpec::new("two", ["take"]))
        .connection(ConnectionSpec::new(
            "one",
            "two",
            "b",
            "x",
            Stream::new(policy),
        ));
    let stamps = run(name, graph, once("give"), 1, 1)?;
    let given: Vec<&Stamp> = stamps.iter().filter(|stamp| stamp.node == 0).collect();
    let taken = stamps.iter().filter(|stamp| stamp.node == 1);
    let times = taken.filter_map(|taken| {
        let last = usize::try_from(taken.items).ok()?.checked_sub(1)?;
        Some(since(given.get(last)?, taken))
    });
    figure(name, times.collect())
}

fn setup(name: &'static str, nodes: usize, count: u32) -> Result<Figure, Error> {
    let names: Vec<String> = (0..nodes).map(|index| format!("n{index}")).collect();
    let calls = names
        .iter()
        .zip(names.iter().skip(1).map(Some).chain([None]));
    let calls = calls.map(|(name, next)| match next {
        Some(next) => Call::new(name).to("y", next, "x"),
        None => Call::new(name).keep("y"),
    });
    let graph = Graph::builder("setup");
    let graph = names
        .iter()
        .fold(graph, |graph, name| graph.node(node(name, &["y"])))
        .walk("line", Section::sequence(calls))
        .partition(PartitionSpec::new("one", ["line"]));
    let model = idle(name, graph, once("line"), 1)?;
    let stamps = model.stamps();
    let driver = start(name, model)?;
    let mut times = Vec::new();
    for _ in 0..count {
        stamps.lock().clear();
        #[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
        let asked = Instant::now();
        finish(name, &driver, 1)?;
        let first = stamps.lock().first().copied();
        times.extend(first.map(|first| first.at.duration_since(asked)));
    }
    figure(name, times)
}

/// Runs so many requests at once, and gives all steps in order.
fn run(
    name: &'static str,
    graph: GraphBuilder,
    passes: Passes,
    requests: usize,
    max_batch: usize,
) -> Result<Vec<Stamp>, Error> {
    let model = idle(name, graph, passes, max_batch)?;
    let stamps = model.stamps();
    let driver = start(name, model)?;
    finish(name, &driver, requests)?;
    drop(driver);
    let stamps = std::mem::take(&mut *stamps.lock());
    Ok(stamps)
}

fn idle(
    figure: &'static str,
    graph: GraphBuilder,
    passes: Passes,
    max_batch: usize,
) -> Result<Idle, Error> {
    let problem = |findings: graph::Findings| Error {
        figure,
        problem: findings.to_string(),
    };
    Idle::new(graph, passes, max_batch).map_err(problem)
}

fn start(figure: &'static str, model: Idle) -> Result<Driver, Error> {
    let driver = Driver::start(vec![Arc::new(model)], runtime::Config::default());
    driver.map_err(|error| Error {
        figure,
        problem: error.to_string(),
    })
}

/// The longest that a figure takes.
const PATIENCE: Duration = Duration::from_secs(120);

fn finish(figure: &'static str, driver: &Driver, requests: usize) -> Result<(), Error> {
    let wrong = |problem: String| Error { figure, problem };
    let open: Vec<_> = (0..requests)
        .map(|_| driver.submit(0, Options::default()))
        .collect();
    for request in open {
        let (_feed, mut outputs) = request.map_err(|error| wrong(error.to_string()))?;
        match outputs.next_within(PATIENCE) {
            Some(Event::End(end)) if end.error.is_none() => {}
            other => return Err(wrong(format!("instead of its end came {other:?}"))),
        }
    }
    Ok(())
}

fn since(from: &Stamp, to: &Stamp) -> Duration {
    to.at.saturating_duration_since(from.at)
}

fn figure(name: &'static str, mut times: Vec<Duration>) -> Result<Figure, Error> {
    times.sort_unstable();
    let n = times.len();
    let at = |percent: usize| {
        let time = times.get((n * percent / 100).min(n.saturating_sub(1)));
        time.map(|time| time.as_secs_f64() * 1e6)
    };
    match (at(50), at(99)) {
        (Some(p50_us), Some(p99_us)) => Ok(Figure { p50_us, p99_us, n }),
        _ => Err(Error {
            figure: name,
            problem: "no step was seen".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_taken_over_all_that_was_run() {
        let figures = runtime(true).unwrap();
        let count = |name: &str| {
            let found = figures.iter().find(|(known, _)| *known == name);
            found.map_or(0, |(_, figure)| figure.n)
        };
        let counts = [
            ("hop", 399),
            ("loop_batch_1", 199),
            ("transition", 199),
            ("join", 200),
            ("chunk_fixed", 200),
            ("setup_2", 20),
            ("setup_20", 20),
        ];
        for (name, expected) in counts {
            assert_eq!(count(name), expected, "{name}");
        }
        // Windows of 28 every 7 items out of 200, and what is left.
        assert_eq!(count("chunk_sliding"), 26);
        assert!(count("loop_batch_16") > 0);
        for (name, figure) in figures {
            assert!(
                figure.p50_us > 0.0 && figure.p99_us >= figure.p50_us,
                "{name}"
            );
        }
    }
}
