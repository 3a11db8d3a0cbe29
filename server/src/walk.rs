//! A model's graph as plain data, for pages and programs that draw it.
//!
//! `{model, partitions: [{name, walks}], nodes: [{name, partition, engine}], edges: [{from, to,
//! port, kind, policy?, modality?}]}`. An end that is the requester is an empty string. `kind` is
//! `pass`, `stream`, `emit` or `persist`.

use std::collections::BTreeSet;

use engine::graph::{
    Connection, Destination, Edge, Exit, Graph, Section, Walk, stream::ChunkPolicy,
};
use serde_json::{Value, json};

/// The whole graph. See the [module](self).
#[must_use]
pub fn json(graph: &Graph) -> Value {
    let mut nodes = Vec::new();
    let mut known = BTreeSet::new();
    let mut edges = Edges::default();
    for connection in graph.client_streams() {
        edges.push(connection_value(graph, "", connection));
    }
    for walk in graph.walks() {
        let partition = graph.partition(walk.partition()).map_or("", |p| p.name());
        for node in walk.nodes().filter_map(|id| graph.node(id)) {
            if known.insert(node.name.clone()) {
                nodes.push(json!({
                    "name": node.name,
                    "partition": partition,
                    "engine": node.engine.to_string(),
                }));
            }
        }
        passes(walk.section(), &mut edges);
        leaving(graph, walk, &mut edges);
    }
    let partitions: Vec<Value> = graph
        .partitions()
        .iter()
        .filter(|partition| !partition.is_requester())
        .map(|partition| {
            let walks = partition.walks().iter().filter_map(|id| graph.walk(*id));
            let names: Vec<&str> = walks.map(|walk| walk.name()).collect();
            json!({"name": partition.name(), "walks": names})
        })
        .collect();
    json!({
        "model": graph.name(),
        "partitions": partitions,
        "nodes": nodes,
        "edges": edges.values,
    })
}

/// Edges, each once.
#[derive(Default)]
struct Edges {
    seen: BTreeSet<String>,
    values: Vec<Value>,
}

impl Edges {
    fn push(&mut self, edge: Value) {
        if self.seen.insert(edge.to_string()) {
            self.values.push(edge);
        }
    }
}

/// The edges between nodes of one walk.
fn passes(section: &Section, edges: &mut Edges) {
    match section {
        Section::Node(call) => {
            for edge in &call.edges {
                pass(&call.node, edge, edges);
            }
        }
        Section::Sequence(parts) | Section::Parallel(parts) => {
            parts.iter().for_each(|part| passes(part, edges));
        }
        Section::Loop(spec) | Section::DynamicLoop(spec) => passes(&spec.body, edges),
    }
}

fn pass(from: &str, edge: &Edge, edges: &mut Edges) {
    if let Destination::Node { node, input } = &edge.to {
        edges.push(json!({"from": from, "to": node, "port": input, "kind": "pass"}));
    }
}

/// The edges that leave a walk.
fn leaving(graph: &Graph, walk: &Walk, edges: &mut Edges) {
    for (node, output, leaving) in walk.leaving() {
        let Some(node) = graph.node(node) else {
            continue;
        };
        let port = node.output_name(output);
        match leaving.to {
            Exit::Emit(modality) => edges.push(json!({
                "from": node.name,
                "to": "",
                "port": port,
                "kind": "emit",
                "modality": modality.name(),
            })),
            Exit::Stream(id) => {
                if let Some(connection) = graph.connection(id) {
                    edges.push(connection_value(graph, &node.name, connection));
                }
            }
            Exit::Nowhere => {}
        }
        if leaving.persist {
            edges.push(json!({
                "from": node.name,
                "to": node.name,
                "port": port,
                "kind": "persist",
            }));
        }
    }
}

fn connection_value(graph: &Graph, from: &str, connection: &Connection) -> Value {
    let to = graph
        .node(connection.node())
        .map_or("", |node| node.name.as_str());
    json!({
        "from": from,
        "to": to,
        "port": connection.name(),
        "kind": "stream",
        "policy": policy(&connection.stream().policy),
        "capacity": connection.stream().capacity,
    })
}

fn policy(policy: &ChunkPolicy) -> Value {
    let mut value = match policy {
        ChunkPolicy::Fixed { chunk } => json!({"chunk": chunk}),
        ChunkPolicy::SlidingWindow { window, stride } => {
            json!({"window": window, "stride": stride})
        }
        ChunkPolicy::LeftContext { chunk, left } => json!({"chunk": chunk, "left": left}),
        ChunkPolicy::Ramp {
            first,
            max,
            left,
            right,
            ..
        } => {
            json!({"first": first, "max": max, "left": left, "right": right})
        }
        ChunkPolicy::Boundary {
            first_min,
            min,
            max,
            max_wait,
        } => json!({
            "first_min": first_min,
            "min": min,
            "max": max,
            "max_wait_seconds": max_wait.map(|wait| wait.as_secs_f64()),
        }),
        _ => json!({}),
    };
    value["kind"] = json!(policy.name());
    value
}
