//! One request through a small model: text comes in letter by letter, leaves in sentences, and
//! a loop takes each of them apart, until no word is left.
//!
//! ```sh
//! cargo run -p graph --example hello_walk
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use graph::stream::{ChunkPolicy, Config, Event, StreamBuffer, Time};
use graph::{
    Call, ConnectionSpec, Edge, EngineKind, Graph, Kind, LoopSpec, Modality, NodeSpec, OutputId,
    PartitionSpec, PortType, WalkRun,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graph = declare()?;
    println!("{}", graph::mermaid(&graph));

    let client = graph.client_streams().next().ok_or("no way in")?;
    let mut buffer = StreamBuffer::new(client.stream());
    let walk = graph.walk_named("spell").ok_or("no walk")?;
    let mut run = WalkRun::new(walk.clone());
    for letter in "Hi there. I am Dr. Ada, and this is a walk. Bye!".chars() {
        buffer.push(letter)?;
        speak(&mut buffer, &mut run)?;
    }
    buffer.end();
    speak(&mut buffer, &mut run)
}

/// A reader that takes text in sentences, and a speller that goes on until it stops.
fn declare() -> Result<Graph, graph::Findings> {
    let text = || PortType::of(Kind::Text);
    let again = Call::new("speller").to("left", "speller", "left");
    let aloud = LoopSpec::new("aloud", 50, again).accumulate(Edge::emit("word", Modality::Text));
    let sentences = ChunkPolicy::Boundary {
        first_min: 4,
        min: 20,
        max: 80,
        max_wait: None,
    };
    Graph::builder("hello")
        .node(
            NodeSpec::new("reader", EngineKind::Stateless)
                .input("text", text())
                .output("words", text()),
        )
        .node(
            NodeSpec::new("speller", EngineKind::Stateless)
                .input("left", text())
                .output("left", text())
                .output("word", text()),
        )
        .walk(
            "spell",
            graph::Section::Sequence(vec![
                Call::new("reader").to("words", "speller", "left").into(),
                aloud.dynamic(),
            ]),
        )
        .partition(PartitionSpec::new("main", ["spell"]))
        .connection(ConnectionSpec::from_requester(
            "main",
            "reader",
            "text",
            Config::new(sentences),
        ))
        .build()
}

/// What a driver does: chunks to whoever wants one, ready nodes to run, departures to their way.
fn speak(
    buffer: &mut StreamBuffer<char>,
    run: &mut WalkRun<String>,
) -> Result<(), Box<dyn std::error::Error>> {
    while let Some(Event::Chunk(chunk)) = buffer.poll(Time::ZERO) {
        println!("chunk {} {:?}", chunk.index, chunk.text());
        let want = run.wanting().next().ok_or("nobody wants it")?;
        run.deliver_chunk(want.node, want.input, chunk.text())?;
        let mut inputs = Vec::new();
        while let Some(node) = run.next_ready() {
            run.take_inputs(node, &mut inputs)?;
            let text: String = inputs.drain(..).flat_map(|(_, texts)| texts).collect();
            let (word, left) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
            let outputs = match run.iterations(node).next() {
                None => vec![(OutputId::new(0), text.clone().into())],
                Some(_) => vec![
                    (OutputId::new(0), left.to_owned().into()),
                    (OutputId::new(1), word.to_owned().into()),
                ],
            };
            let stops: Vec<_> = match left {
                "" => run.walk().loops_around(node).collect(),
                _ => Vec::new(),
            };
            run.complete(node, outputs, &stops)?;
        }
        while let Some(departure) = run.next_departure() {
            println!("  its words: {:?}", departure.payloads.as_slice());
        }
        run.restart();
    }
    Ok(())
}
