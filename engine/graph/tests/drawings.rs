//! A graph with a loop and a streaming edge, as text for Graphviz and for Mermaid.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly, in its helpers as well"
)]

use graph::stream::{ChunkPolicy, Config};
use graph::{
    Call, ConnectionSpec, Edge, EngineKind, Graph, Kind, LoopSpec, Modality, NodeSpec,
    PartitionSpec, PortType,
};

fn speech() -> Graph {
    let (codes, samples) = (PortType::of(Kind::Codes), PortType::of(Kind::Samples));
    Graph::builder("say \"it\"")
        .node(
            NodeSpec::new("lm", EngineKind::Kv)
                .input("prompt", PortType::of(Kind::Tokens))
                .input("state", PortType::any())
                .output("state", PortType::any())
                .output("codes", codes.clone())
                .output("text", PortType::of(Kind::Text)),
        )
        .node(
            NodeSpec::new("vocoder", EngineKind::Streaming)
                .input("codes", codes)
                .output("audio", samples),
        )
        .walk(
            "decode",
            LoopSpec::new(
                "until_stop",
                100,
                Call::new("lm")
                    .to("state", "lm", "state")
                    .stream("codes", "vocoder", "codes"),
            )
            .accumulate(Edge::emit("text", Modality::Text))
            .dynamic(),
        )
        .walk(
            "vocode",
            Call::new("vocoder").emit("audio", Modality::Audio),
        )
        .partition(PartitionSpec::new("talker", ["decode"]))
        .partition(PartitionSpec::new("wave", ["vocode"]))
        .connection(ConnectionSpec::new(
            "talker",
            "wave",
            "vocoder",
            "codes",
            Config::new(ChunkPolicy::LeftContext { chunk: 25, left: 5 }),
        ))
        .build()
        .unwrap()
}

#[test]
fn dot_shows_partitions_loops_and_streams() {
    let expected = r#"digraph "say \"it\"" {
    rankdir=LR;
    node [shape=box];
    requester [label="requester", shape=oval];
    subgraph cluster_p1 {
        label="talker";
        subgraph cluster_w0 {
            label="decode";
            subgraph cluster_w0l1 {
                label="until_stop (at most 100)";
                w0n0 [label="lm\nkv"];
            }
        }
    }
    subgraph cluster_p2 {
        label="wave";
        subgraph cluster_w1 {
            label="vocode";
            w1n1 [label="vocoder\nstreaming"];
        }
    }
    requester -> w0n0 [label="prompt"];
    w0n0 -> w0n0 [label="state"];
    w0n0 -> w1n1 [label="codes\nleft context 25 after 5", style=dashed];
    w0n0 -> requester [label="text (all): text"];
    w1n1 -> requester [label="audio: audio"];
}
"#;
    assert_eq!(graph::dot(&speech()), expected);
}

#[test]
fn mermaid_shows_partitions_loops_and_streams() {
    let expected = r#"flowchart LR
    requester(["requester"])
    subgraph p1["talker"]
        subgraph w0["decode"]
            subgraph w0l1["until_stop (at most 100)"]
                w0n0["lm<br/>kv"]
            end
        end
    end
    subgraph p2["wave"]
        subgraph w1["vocode"]
            w1n1["vocoder<br/>streaming"]
        end
    end
    requester -->|"prompt"| w0n0
    w0n0 -->|"state"| w0n0
    w0n0 -.->|"codes<br/>left context 25 after 5"| w1n1
    w0n0 -->|"text (all): text"| requester
    w1n1 -->|"audio: audio"| requester
"#;
    let drawn = graph::mermaid(&speech());
    assert_eq!(drawn, expected);
    check_mermaid(&drawn);
}

/// Every line is a node, a group, its end, or an edge between nodes that are declared.
fn check_mermaid(drawn: &str) {
    let (mut ids, mut open) = (Vec::new(), 0);
    let mut lines = drawn.lines();
    assert_eq!(lines.next(), Some("flowchart LR"));
    for line in lines.map(str::trim) {
        assert_eq!(line.matches('"').count() % 2, 0, "{line}");
        if line == "end" {
            open -= 1;
        } else if let Some(group) = line.strip_prefix("subgraph ") {
            assert!(group.ends_with("\"]"), "{line}");
            open += 1;
        } else if let Some((from, to)) = line.split_once('|').zip(line.rsplit_once('|')) {
            let (from, to) = (from.0.split(' ').next().unwrap(), to.1.trim());
            assert!(ids.contains(&from) && ids.contains(&to), "{line}");
        } else {
            ids.push(&line[..line.find(['[', '(']).unwrap()]);
        }
    }
    assert_eq!(open, 0);
}
