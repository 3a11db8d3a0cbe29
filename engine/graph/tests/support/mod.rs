//! From the recorded declarations to graphs of ours.
//!
//! The recordings name a signal once: output and input have one name. Two things are written
//! differently in ours, and are translated here:
//!
//! - An edge to a node that does not take the name is refused at load. Where a recording uses one
//!   only so that the name can leave the loop around it, ours says so: the output goes nowhere,
//!   and the loop names it. Each such edge is listed in [`Loader::dead`].
//! - Which ports a node has is declared once for the graph; the recordings only say what each
//!   walk uses. The union of the uses is declared.

#![allow(
    missing_docs,
    unreachable_pub,
    reason = "shared by test binaries, not an interface"
)]
#![allow(dead_code, reason = "each test binary uses a part of the support")]

use std::collections::BTreeMap;

use graph::stream::{ChunkPolicy, Config};
use graph::{
    Call, ConnectionSpec, Destination, Edge, EngineKind, Graph, GraphBuilder, LoopSpec, Modality,
    NodeSpec, PartitionSpec, PortType, Section,
};
use serde_json::Value;

/// Collects what the walks use, and what was translated.
#[derive(Default)]
pub struct Loader {
    /// Inputs and outputs of each node.
    pub ports: BTreeMap<String, (Vec<String>, Vec<String>)>,
    /// Edges to a node that does not take the name, as `node.output -> node`.
    pub dead: Vec<String>,
    /// Inputs of each node in the walk that is being read.
    takes: BTreeMap<String, Vec<String>>,
    unnamed: usize,
}

impl Loader {
    /// The section of one recorded walk.
    pub fn section(&mut self, recorded: &Value) -> Section {
        self.takes.clear();
        self.collect(recorded);
        self.read(recorded)
    }

    fn collect(&mut self, recorded: &Value) {
        if let Some(name) = recorded["node"].as_str() {
            let inputs = names(&recorded["in"]);
            let ports = self.ports.entry(name.to_owned()).or_default();
            add(&mut ports.0, &inputs);
            let outputs = list(&recorded["out"]).iter().map(|edge| text(edge, "name"));
            add(&mut ports.1, &outputs.collect::<Vec<_>>());
            self.takes.insert(name.to_owned(), inputs);
        }
        for key in ["seq", "par"] {
            list(&recorded[key])
                .iter()
                .for_each(|part| self.collect(part));
        }
        if recorded.get("loop").is_some() {
            self.collect(&recorded["body"]);
        }
    }

    fn read(&mut self, recorded: &Value) -> Section {
        if let Some(name) = recorded["node"].as_str() {
            let mut call = Call::new(name).takes(names(&recorded["in"]));
            for edge in list(&recorded["out"]) {
                call = call.edge(self.edge(name, edge));
            }
            return call.into();
        }
        if let Some(name) = recorded["loop"].as_str() {
            return self.read_loop(name, recorded);
        }
        let (key, make): (_, fn(Vec<Section>) -> Section) = match recorded.get("seq") {
            Some(_) => ("seq", Section::Sequence),
            None => ("par", Section::Parallel),
        };
        make(
            list(&recorded[key])
                .iter()
                .map(|part| self.read(part))
                .collect(),
        )
    }

    fn read_loop(&mut self, name: &str, recorded: &Value) -> Section {
        let unnamed = name == "(unnamed)";
        let name = if unnamed {
            self.unnamed += 1;
            format!("loop_{}", self.unnamed)
        } else {
            name.to_owned()
        };
        let max = u32::try_from(recorded["max"].as_u64().unwrap()).unwrap();
        let mut spec = LoopSpec::new(&name, max, self.read(&recorded["body"]));
        for edge in list(&recorded["out"]) {
            spec = spec.output(self.edge(&name, edge));
        }
        for edge in list(&recorded["acc"]) {
            spec = spec.accumulate(self.edge(&name, edge));
        }
        // A loop without a name has nothing by which it could be stopped.
        if unnamed {
            spec.bounded()
        } else {
            spec.dynamic()
        }
    }

    fn edge(&mut self, from: &str, recorded: &Value) -> Edge {
        let (to, name) = (text(recorded, "to"), text(recorded, "name"));
        let modality = recorded["modality"].as_str();
        let destination = match to.as_str() {
            "" => Destination::Nowhere,
            "emit_to_client" => {
                Destination::Emit(Some(modality.map_or(Modality::Tensor, |name| {
                    Modality::from_name(name).expect("a known modality")
                })))
            }
            node if recorded["stream"].as_bool() == Some(true) => Destination::Stream {
                node: node.to_owned(),
                input: name.clone(),
            },
            node => match self.takes.get(node) {
                Some(takes) if !takes.contains(&name) => {
                    self.dead.push(format!("{from}.{name} -> {node}"));
                    Destination::Nowhere
                }
                _ => Destination::Node {
                    node: node.to_owned(),
                    input: name.clone(),
                },
            },
        };
        let mut edge = Edge::new(name, destination);
        edge.persist = recorded["persist"].as_bool() == Some(true);
        edge.count = recorded["count_tokens"].as_bool() == Some(true);
        edge
    }

    /// Declares every node with the ports that some walk uses.
    pub fn declare(&self, mut builder: GraphBuilder, engines: &Value) -> GraphBuilder {
        for (name, (inputs, outputs)) in &self.ports {
            let engine = match engines[name].as_str() {
                Some("kv_cache") => EngineKind::Kv,
                _ => EngineKind::Stateless,
            };
            let mut node = NodeSpec::new(name, engine);
            for input in inputs {
                node = node.input(input, PortType::any());
            }
            for output in outputs {
                node = node.output(output, PortType::any());
            }
            builder = builder.node(node);
        }
        builder
    }
}

/// A recorded model as a builder, and the edges that were translated.
pub fn model(name: &str, declaration: &Value) -> (GraphBuilder, Vec<String>) {
    let mut loader = Loader::default();
    let mut builder = Graph::builder(name);
    for (walk, section) in declaration["walks"].as_object().unwrap() {
        builder = builder.walk(walk, loader.section(section));
    }
    builder = loader.declare(builder, &declaration["engines"]);
    for partition in list(&declaration["partitions"]) {
        let mut spec = PartitionSpec::new(text(partition, "name"), names(&partition["walks"]));
        if let Some(initial) = partition["initial"].as_str() {
            spec = spec.initial(initial);
        }
        builder = builder.partition(spec);
    }
    for connection in list(&declaration["connections"]) {
        builder = builder.connection(read_connection(connection, declaration));
    }
    (builder, loader.dead)
}

fn read_connection(recorded: &Value, declaration: &Value) -> ConnectionSpec {
    let number = |key: &str| usize::try_from(recorded[key].as_u64().unwrap()).unwrap();
    let config = Config::new(match text(recorded, "policy").as_str() {
        "FixedChunkPolicy" => ChunkPolicy::Fixed {
            chunk: number("chunk_size"),
        },
        "SlidingWindowChunkPolicy" => ChunkPolicy::SlidingWindow {
            window: number("window"),
            stride: number("stride"),
        },
        "LeftContextChunkPolicy" => ChunkPolicy::LeftContext {
            chunk: number("chunk"),
            left: number("left_context"),
        },
        other => panic!("unknown policy {other}"),
    });
    let config = match recorded["continue_after_done"].as_bool() {
        Some(true) => config.continue_after_done(),
        _ => config,
    };
    let (to, edge) = (text(recorded, "to"), text(recorded, "edge"));
    let partitions = list(&declaration["partitions"]);
    let partition = partitions.iter().find(|it| text(it, "name") == to).unwrap();
    let consumer = names(&partition["walks"])
        .iter()
        .find_map(|walk| consumer(&declaration["walks"][walk], &edge));
    ConnectionSpec::new(text(recorded, "from"), to, consumer.unwrap(), edge, config)
}

/// The node of a walk that takes an input of this name.
fn consumer(section: &Value, input: &str) -> Option<String> {
    if names(&section["in"]).iter().any(|name| name == input) {
        return Some(text(section, "node"));
    }
    let parts = list(&section["seq"]).iter().chain(list(&section["par"]));
    parts
        .chain(
            [&section["body"]]
                .into_iter()
                .filter(|body| !body.is_null()),
        )
        .find_map(|part| consumer(part, input))
}

pub fn text(value: &Value, key: &str) -> String {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no {key} in {value}"))
        .to_owned()
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn names(value: &Value) -> Vec<String> {
    list(value)
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn add(known: &mut Vec<String>, names: &[String]) {
    for name in names {
        if !known.contains(name) {
            known.push(name.clone());
        }
    }
}
