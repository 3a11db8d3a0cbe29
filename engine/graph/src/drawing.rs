//! What a drawing of a graph shows, whatever the language: the requester, and for each partition
//! its walks with their loops and nodes; the edges between them.
//!
//! A node is drawn once for each walk that runs it, because its edges differ from walk to walk.

use crate::graph::Graph;
use crate::id::{ConnectionId, NodeId};
use crate::partition::Connection;
use crate::stream::{ChunkPolicy, Config};
use crate::walk::{Exit, Source, Target, Walk};

pub(crate) struct Drawing {
    pub(crate) parts: Vec<Part>,
    pub(crate) lines: Vec<Line>,
}

pub(crate) enum Part {
    Node {
        id: String,
        label: String,
    },
    Requester {
        id: String,
        label: String,
    },
    Group {
        id: String,
        label: String,
        parts: Vec<Self>,
    },
}

#[derive(PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) label: String,
    pub(crate) streamed: bool,
}

const REQUESTER: &str = "requester";

impl Drawing {
    pub(crate) fn of(graph: &Graph) -> Self {
        let (id, label) = (REQUESTER.to_owned(), REQUESTER.to_owned());
        let mut drawing = Self {
            parts: vec![Part::Requester { id, label }],
            lines: Vec::new(),
        };
        for partition in graph.partitions().iter().skip(1) {
            let walks = partition.walks().iter().filter_map(|&id| graph.walk(id));
            let parts = walks.map(|walk| walk_part(graph, walk)).collect();
            let (id, label) = (
                format!("p{}", partition.id().index()),
                partition.name().to_owned(),
            );
            drawing.parts.push(Part::Group { id, label, parts });
        }
        for walk in graph.walks() {
            drawing.draw_edges(graph, walk);
        }
        for connection in graph.client_streams() {
            let label = stream_label(connection.name(), connection.stream());
            drawing.draw_stream(graph, REQUESTER, connection, &label);
        }
        drawing
    }

    fn draw_edges(&mut self, graph: &Graph, walk: &Walk) {
        for taken in walk
            .inputs()
            .filter(|taken| taken.source == Source::Outside)
        {
            let name = graph
                .node(taken.node)
                .map_or("?", |node| node.input_name(taken.input));
            self.draw(
                REQUESTER.to_owned(),
                node_id(walk, taken.node),
                name.to_owned(),
                false,
            );
        }
        let plan = &walk.plan;
        for call in &plan.calls {
            for output in plan.outputs.get(call.outputs.clone()).unwrap_or_default() {
                let name = graph
                    .node(call.node)
                    .map_or("?", |node| node.output_name(output.output));
                for target in &output.targets {
                    self.draw_target(graph, walk, call.node, name, target);
                }
            }
        }
        for result in &plan.results {
            let all = if result.accumulated { " (all)" } else { "" };
            let name = format!("{}{all}", result.name);
            for target in &result.targets {
                self.draw_target(graph, walk, result.node, &name, target);
            }
        }
    }

    fn draw_target(
        &mut self,
        graph: &Graph,
        walk: &Walk,
        from: NodeId,
        name: &str,
        target: &Target,
    ) {
        let id = node_id(walk, from);
        match *target {
            Target::Slot { slot, .. } => {
                let slot = &walk.plan.slots[slot];
                let to = node_id(walk, walk.plan.calls[slot.call].node);
                self.draw(id, to, name.to_owned(), false);
            }
            Target::Leaves(leaving) => match leaving.to {
                Exit::Emit(modality) => {
                    self.draw(
                        id,
                        REQUESTER.to_owned(),
                        format!("{name}: {modality}"),
                        false,
                    );
                }
                Exit::Stream(connection) => self.draw_connection(graph, &id, name, connection),
                Exit::Nowhere => {}
            },
        }
    }

    fn draw_connection(&mut self, graph: &Graph, from: &str, name: &str, id: ConnectionId) {
        if let Some(connection) = graph.connection(id) {
            let label = stream_label(name, connection.stream());
            self.draw_stream(graph, from, connection, &label);
        }
    }

    /// A line to each walk that takes the chunks.
    fn draw_stream(&mut self, graph: &Graph, from: &str, connection: &Connection, label: &str) {
        for walk in graph.walks() {
            if walk.streams().any(|id| id == connection.id()) {
                let to = node_id(walk, connection.node());
                self.draw(from.to_owned(), to, label.to_owned(), true);
            }
        }
    }

    fn draw(&mut self, from: String, to: String, label: String, streamed: bool) {
        let line = Line {
            from,
            to,
            label,
            streamed,
        };
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }
}

fn node_id(walk: &Walk, node: NodeId) -> String {
    format!("w{}n{}", walk.id().index(), node.index())
}

fn walk_part(graph: &Graph, walk: &Walk) -> Part {
    Part::Group {
        id: format!("w{}", walk.id().index()),
        label: walk.name().to_owned(),
        parts: scope_parts(graph, walk, 0),
    }
}

fn scope_parts(graph: &Graph, walk: &Walk, scope: usize) -> Vec<Part> {
    let calls = walk.plan.calls.iter().filter(|call| call.scope == scope);
    let mut parts: Vec<_> = calls
        .map(|call| Part::Node {
            id: node_id(walk, call.node),
            label: match graph.node(call.node) {
                Some(node) => format!("{}\n{}", node.name, node.engine),
                None => call.name.clone(),
            },
        })
        .collect();
    for (index, inner) in walk.plan.scopes.iter().enumerate().skip(1) {
        if inner.parent == scope {
            let bound = if inner.stoppable {
                "at most"
            } else {
                "exactly"
            };
            parts.push(Part::Group {
                id: format!("w{}l{index}", walk.id().index()),
                label: format!("{} ({bound} {})", inner.name, inner.max),
                parts: scope_parts(graph, walk, index),
            });
        }
    }
    parts
}

fn stream_label(name: &str, stream: &Config) -> String {
    let numbers = match stream.policy {
        ChunkPolicy::Fixed { chunk } => format!("{chunk}"),
        ChunkPolicy::SlidingWindow { window, stride } => format!("{window} by {stride}"),
        ChunkPolicy::LeftContext { chunk, left } => format!("{chunk} after {left}"),
        ChunkPolicy::Ramp { first, max, .. } => format!("{first} to {max}"),
        ChunkPolicy::Boundary { min, max, .. } => format!("{min} to {max}"),
    };
    format!("{name}\n{} {numbers}", stream.policy.name())
}
