//! How what a node gives comes to be heard: the shortest way from each node to the requester's
//! audio, over hops and streaming edges.

use std::collections::VecDeque;

use graph::{ConnectionId, Exit, Graph, Modality, NodeId, WalkId};

/// One stage of the way behind a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) walk: WalkId,
    pub(crate) node: NodeId,
    /// The streaming edge by which it is reached; none for a hop within the walk.
    pub(crate) by: Option<ConnectionId>,
}

/// The ways from all nodes of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    node_count: usize,
    /// By walk and node: the stages behind it up to the one that emits audio. None where nothing
    /// of it is ever heard.
    ways: Vec<Option<Box<[Stage]>>>,
}

impl Routes {
    pub(crate) fn new(graph: &Graph) -> Self {
        let node_count = graph.nodes().len();
        let ways = graph.walks().iter().flat_map(|walk| {
            let nodes = (0..node_count).map(NodeId::new);
            nodes.map(|node| way(graph, walk.id(), node))
        });
        Self {
            node_count,
            ways: ways.collect(),
        }
    }

    /// The stages behind a node in a walk; none where it is not heard.
    pub(crate) fn of(&self, walk: WalkId, node: NodeId) -> Option<&[Stage]> {
        let way = self
            .ways
            .get(walk.index() * self.node_count + node.index())?;
        way.as_deref()
    }
}

/// The shortest way from a node to audio, breadth first.
fn way(graph: &Graph, walk: WalkId, node: NodeId) -> Option<Box<[Stage]>> {
    if !graph.walk(walk)?.runs(node) {
        return None;
    }
    let mut queue = VecDeque::from([Vec::from([Stage {
        walk,
        node,
        by: None,
    }])]);
    let mut seen = vec![(walk, node)];
    while let Some(way) = queue.pop_front() {
        let &Stage { walk, node, .. } = way.last()?;
        if is_heard(graph, walk, node) {
            return Some(way.get(1..)?.into());
        }
        for next in behind(graph, walk, node) {
            if !seen.contains(&(next.walk, next.node)) {
                seen.push((next.walk, next.node));
                let mut longer = way.clone();
                longer.push(next);
                queue.push_back(longer);
            }
        }
    }
    None
}

fn is_heard(graph: &Graph, walk: WalkId, node: NodeId) -> bool {
    let walk = graph.walk(walk);
    let mut leaving = walk.into_iter().flat_map(|walk| walk.leaving());
    leaving.any(|(from, _, leaving)| from == node && leaving.to == Exit::Emit(Modality::Audio))
}

fn behind(graph: &Graph, walk_id: WalkId, node: NodeId) -> Vec<Stage> {
    let Some(walk) = graph.walk(walk_id) else {
        return Vec::new();
    };
    let hops = walk.hops().filter(|&(from, _)| from == node);
    let mut stages: Vec<Stage> = hops
        .map(|(_, to)| Stage {
            walk: walk_id,
            node: to,
            by: None,
        })
        .collect();
    let leaving = walk.leaving().filter(|&(from, ..)| from == node);
    for (_, _, leaving) in leaving {
        let Exit::Stream(connection) = leaving.to else {
            continue;
        };
        let Some(edge) = graph.connection(connection) else {
            continue;
        };
        let takes = graph
            .walks()
            .iter()
            .filter(|walk| walk.streams().any(|stream| stream == connection));
        stages.extend(takes.map(|walk| Stage {
            walk: walk.id(),
            node: edge.node(),
            by: Some(connection),
        }));
    }
    stages
}

#[cfg(test)]
mod tests {
    use graph::{
        Call, ConnectionSpec, EngineKind, Kind, NodeSpec, PartitionSpec, PortType, Section,
        stream::{ChunkPolicy, Config},
    };

    use super::*;

    fn node(name: &str) -> NodeSpec {
        NodeSpec::new(name, EngineKind::Stateless)
            .input("in", PortType::of(Kind::Any))
            .output("out", PortType::of(Kind::Any))
            .output("note", PortType::of(Kind::Any))
    }

    #[test]
    fn a_way_leads_over_hops_and_streams_and_ends_at_audio() {
        let policy = Config::new(ChunkPolicy::Fixed { chunk: 1 });
        let graph = Graph::builder("chain")
            .node(node("read"))
            .node(node("think"))
            .node(node("sound"))
            .node(node("log"))
            .walk(
                "make",
                Section::sequence([
                    Call::new("read").to("out", "think", "in"),
                    Call::new("think")
                        .stream("out", "sound", "in")
                        .emit("note", Modality::Text),
                ]),
            )
            .walk("play", Call::new("sound").emit("out", Modality::Audio))
            .walk("say", Call::new("log").emit("out", Modality::Text))
            .partition(PartitionSpec::new("maker", ["make"]))
            .partition(PartitionSpec::new("player", ["play"]))
            .partition(PartitionSpec::new("logger", ["say"]))
            .connection(ConnectionSpec::new(
                "maker", "player", "sound", "in", policy,
            ))
            .build()
            .unwrap();
        let routes = Routes::new(&graph);
        let of = |walk: &str, node: &str| {
            routes.of(
                graph.walk_named(walk).unwrap().id(),
                graph.node_named(node).unwrap(),
            )
        };
        assert_eq!(of("play", "sound"), Some(&[][..]));
        let names = |stages: &[Stage]| -> Vec<(String, bool)> {
            let name = |stage: &Stage| graph.node(stage.node).unwrap().name.clone();
            stages
                .iter()
                .map(|stage| (name(stage), stage.by.is_some()))
                .collect()
        };
        assert_eq!(
            names(of("make", "read").unwrap()),
            [("think".into(), false), ("sound".into(), true)]
        );
        assert_eq!(of("say", "log"), None);
        assert_eq!(of("play", "read"), None, "it is not in that walk");
    }
}
