//! Small graphs that the stories are about, and readers of what comes out.

use std::{sync::Arc, time::Duration};

use graph::{
    Call, ConnectionSpec, EngineKind, Graph, GraphBuilder, Modality, NodeSpec, PartitionSpec,
    PortType,
    stream::{ChunkPolicy, Config as Stream},
};
use runtime::{Config, Event, Feed, Member, Outputs, Payload, Placement, Simulation};
use tensor::Tensor;

use crate::scripted::Scripted;

/// A node with these inputs and outputs, of any kind.
pub(crate) fn node(name: &str, inputs: &[&str], outputs: &[&str]) -> NodeSpec {
    let node = NodeSpec::new(name, EngineKind::Streaming);
    let node = inputs
        .iter()
        .fold(node, |node, &input| node.input(input, PortType::any()));
    outputs
        .iter()
        .fold(node, |node, &output| node.output(output, PortType::any()))
}

/// `requester ─text, Fixed(chunk)─▶ [double: each letter twice] ─pairs, capacity─▶ [say: emits a text]`.
///
/// `double` puts twice as many items as it takes, so its edge fills up before the others do.
pub(crate) fn doubling(chunk: usize, capacity: usize) -> GraphBuilder {
    let fixed = |chunk| Stream::new(ChunkPolicy::Fixed { chunk });
    Graph::builder("doubling")
        .node(node("double", &["text"], &["pairs"]))
        .node(node("say", &["pairs"], &["said"]))
        .walk(
            "double",
            Call::new("double").stream("pairs", "say", "pairs"),
        )
        .walk("say", Call::new("say").emit("said", Modality::Text))
        .partition(PartitionSpec::new("first", ["double"]))
        .partition(PartitionSpec::new("second", ["say"]))
        .connection(ConnectionSpec::from_requester(
            "first",
            "double",
            "text",
            fixed(chunk).capacity(32),
        ))
        .connection(ConnectionSpec::new(
            "first",
            "second",
            "say",
            "pairs",
            fixed(3).capacity(capacity),
        ))
}

/// What the nodes of [`doubling`] do. Letters make things go wrong: `!` fails, `?` panics and `~`
/// gives a number that is none.
pub(crate) fn double(name: &str, member: &mut Member<'_>) {
    if name == "double" {
        let letters: Vec<char> = member
            .input("text")
            .iter()
            .filter_map(Payload::as_char)
            .collect();
        for letter in letters {
            member.put("pairs", Payload::Char(letter));
            member.put("pairs", Payload::Char(letter));
        }
        return;
    }
    let text: String = member
        .input("pairs")
        .iter()
        .filter_map(Payload::as_char)
        .collect();
    if text.contains('!') {
        member.fail(runtime::Cause::Failed("saw a `!`".into()));
    }
    assert!(!text.contains('?'), "saw a `?`");
    if text.contains('~') {
        member.put("said", Tensor::f32([1], vec![f32::NAN]).unwrap());
    } else if !text.is_empty() {
        member.put("said", text.as_str());
    }
}

/// A simulation of [`doubling`] on one worker, or with its partitions apart on two.
pub(crate) fn simulate(graph: GraphBuilder, config: Config, seed: u64) -> Simulation {
    let model = Scripted::new(graph, 4, double);
    Simulation::new(
        vec![Arc::new(model)],
        config,
        Duration::from_micros(100),
        seed,
    )
    .unwrap()
}

/// Both partitions on one worker, or each on one of its own.
pub(crate) fn on_workers(workers: usize) -> Config {
    let mut config = Config {
        workers,
        ..Config::default()
    };
    if workers > 1 {
        let partitions = [("first".to_owned(), 0), ("second".to_owned(), 1)].into();
        config
            .placement
            .insert("doubling".into(), Placement { partitions });
    }
    config
}

/// Feeds what there is room for; returns the rest.
pub(crate) fn feed<'a>(feed: &Feed, text: &'a str) -> &'a str {
    let accepted = feed
        .put(0, &mut text.chars().map(Payload::Char))
        .map_or(0, |accepted| accepted.0);
    text.char_indices()
        .nth(accepted)
        .map_or("", |(at, _)| &text[at..])
}

/// What has come out so far, and the end if it has come: an error's words, or none.
pub(crate) fn read(outputs: &mut Outputs) -> (String, Option<Result<runtime::End, String>>) {
    let mut said = String::new();
    while let Some(event) = outputs.try_next() {
        match event {
            Event::Emitted(emitted) => said.push_str(emitted.payload.as_text().expect("a text")),
            Event::End(end) => {
                let failed = end.error.as_ref().map(ToString::to_string);
                return (said, Some(failed.map_or(Ok(end), Err)));
            }
        }
    }
    (said, None)
}

/// Each letter twice.
pub(crate) fn doubled(text: &str) -> String {
    text.chars().flat_map(|letter| [letter, letter]).collect()
}
