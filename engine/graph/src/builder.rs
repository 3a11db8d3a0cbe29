//! From declarations to a checked graph.

use std::collections::HashMap;
use std::sync::Arc;

use crate::check::{Finding, Findings, Problem};
use crate::compile::{self, Context};
use crate::edge::Edge;
use crate::graph::Graph;
use crate::id::{ConnectionId, NodeId, PartitionId, WalkId};
use crate::node::NodeSpec;
use crate::partition::{Connection, ConnectionSpec, Partition, PartitionSpec};
use crate::payload::Kind;
use crate::section::Section;
use crate::stream::ChunkPolicy;

/// The name of the partition that stands for whoever sent the request.
pub(crate) const REQUESTER: &str = "requester";

/// The partition of a graph that declares none.
const ONLY_PARTITION: &str = "default";

/// A graph while it is declared.
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    name: String,
    nodes: Vec<NodeSpec>,
    walks: Vec<(String, Section)>,
    partitions: Vec<PartitionSpec>,
    connections: Vec<ConnectionSpec>,
}

impl GraphBuilder {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// With one more node.
    #[must_use]
    pub fn node(mut self, node: NodeSpec) -> Self {
        self.nodes.push(node);
        self
    }

    /// With one more walk.
    #[must_use]
    pub fn walk(mut self, name: impl Into<String>, section: impl Into<Section>) -> Self {
        self.walks.push((name.into(), section.into()));
        self
    }

    /// With one more partition. A graph that declares none has one, which runs all walks.
    #[must_use]
    pub fn partition(mut self, partition: PartitionSpec) -> Self {
        self.partitions.push(partition);
        self
    }

    /// With one more streaming edge between two partitions.
    #[must_use]
    pub fn connection(mut self, connection: ConnectionSpec) -> Self {
        self.connections.push(connection);
        self
    }

    /// Checks the declaration, and compiles each walk into tables.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, each with its place and the nearest right name.
    pub fn build(mut self) -> Result<Graph, Findings> {
        let mut findings = Findings::default();
        if self.partitions.is_empty() {
            let mut walks: Vec<&str> = Vec::new();
            for (name, _) in &self.walks {
                if !walks.contains(&name.as_str()) {
                    walks.push(name);
                }
            }
            self.partitions
                .push(PartitionSpec::new(ONLY_PARTITION, walks));
        }
        self.check_names(&mut findings);
        let (mut partitions, owner) = self.resolve_partitions(&mut findings);
        let connections = self.resolve_connections(&partitions, &mut findings);
        for connection in &connections {
            let (from, to) = (connection.from.index(), connection.to.index());
            partitions[from].outgoing.push(connection.id);
            partitions[to].incoming.push(connection.id);
        }
        let context = Context {
            nodes: &self.nodes,
            node_ids: ids(self.nodes.iter().map(|node| node.name.as_str())),
            partitions: &partitions,
            connections: &connections,
        };
        let mut walks = Vec::new();
        let mut loops = Vec::new();
        for (index, (name, section)) in self.walks.iter().enumerate() {
            let id = WalkId::new(index);
            let partition = owner.get(index).copied().flatten();
            let partition = partition.unwrap_or(PartitionId::REQUESTER);
            let first_loop = loops.len();
            let walk = compile::walk(
                &context,
                id,
                name,
                partition,
                section,
                first_loop,
                &mut findings,
            );
            loops.extend(walk.loops().map(|_| id));
            walks.push(Arc::new(walk));
        }
        check_connections(&context, &walks, &mut findings);
        if !findings.is_empty() {
            return Err(findings);
        }
        Ok(Graph {
            name: self.name,
            nodes: self.nodes,
            walks,
            partitions,
            connections,
            loops,
        })
    }

    fn check_names(&self, findings: &mut Findings) {
        let names = self.nodes.iter().map(|node| node.name.as_str());
        findings.unique("nodes", names, |finding| finding);
        let names = self.walks.iter().map(|(name, _)| name.as_str());
        findings.unique("walks", names, |finding| finding);
        let names = self
            .partitions
            .iter()
            .map(|partition| partition.name.as_str());
        findings.unique("partitions", names.chain([REQUESTER]), |finding| finding);
        for node in &self.nodes {
            let place = |finding: Finding| finding.at(&node.name);
            let names = node.inputs.iter().map(|port| port.name.as_str());
            findings.unique("inputs", names, place);
            let names = node.outputs.iter().map(|port| port.name.as_str());
            findings.unique("outputs", names, place);
        }
        if self.walks.is_empty() {
            findings.add(Finding::new(Problem::NoWalk));
        }
    }

    /// The partitions, the requester first, and for each walk the partition that runs it.
    fn resolve_partitions(
        &self,
        findings: &mut Findings,
    ) -> (Vec<Partition>, Vec<Option<PartitionId>>) {
        let walk_ids: HashMap<&str, usize> = ids(self.walks.iter().map(|(name, _)| name.as_str()));
        let mut owner: Vec<Option<PartitionId>> = vec![None; self.walks.len()];
        let mut partitions = vec![empty_partition(PartitionId::REQUESTER, REQUESTER)];
        for spec in &self.partitions {
            let id = PartitionId::new(partitions.len());
            let mut partition = empty_partition(id, &spec.name);
            for name in &spec.walks {
                let Some(&walk) = walk_ids.get(name.as_str()) else {
                    let problem = Problem::NoSuchWalk(name.clone());
                    let finding = Finding::new(problem).at(&spec.name);
                    findings.add(finding.near(name, walk_ids.keys().copied()));
                    continue;
                };
                match owner[walk] {
                    None => owner[walk] = Some(id),
                    Some(other) if other == id => {
                        let (what, name) = ("walks", name.clone());
                        let problem = Problem::SameName { what, name };
                        findings.add(Finding::new(problem).at(&spec.name));
                    }
                    Some(other) => {
                        let other = partitions[other.index()].name.clone();
                        let problem = Problem::TwoPartitions(other, spec.name.clone());
                        findings.add(Finding::new(problem).in_walk(name));
                    }
                }
                partition.walks.push(WalkId::new(walk));
            }
            if let Some(initial) = &spec.initial {
                partition.initial = walk_ids.get(initial.as_str()).copied().map(WalkId::new);
                if !spec.walks.contains(initial) {
                    let problem = Problem::ForeignInitial(initial.clone());
                    let finding = Finding::new(problem).at(&spec.name);
                    findings.add(finding.near(initial, spec.walks.iter().map(String::as_str)));
                }
            }
            partitions.push(partition);
        }
        for (index, (name, _)) in self.walks.iter().enumerate() {
            // A second walk of one name has its finding.
            let is_named = walk_ids.get(name.as_str()) == Some(&index);
            if is_named && owner[index].is_none() {
                findings.add(Finding::new(Problem::NoPartition).in_walk(name));
            }
        }
        (partitions, owner)
    }

    fn resolve_connections(
        &self,
        partitions: &[Partition],
        findings: &mut Findings,
    ) -> Vec<Connection> {
        let mut connections: Vec<Connection> = Vec::new();
        for spec in &self.connections {
            let Some(connection) =
                self.resolve_connection(spec, partitions, connections.len(), findings)
            else {
                continue;
            };
            let same = |other: &Connection| {
                other.to == connection.to
                    && other.node == connection.node
                    && other.input == connection.input
            };
            if connections.iter().any(same) {
                let (what, name) = ("connections", spec.input.clone());
                let problem = Problem::SameName { what, name };
                findings.add(Finding::new(problem).at(&spec.node).port(&spec.input));
            } else {
                connections.push(connection);
            }
        }
        connections
    }

    fn resolve_connection(
        &self,
        spec: &ConnectionSpec,
        partitions: &[Partition],
        index: usize,
        findings: &mut Findings,
    ) -> Option<Connection> {
        let place = |finding: Finding| finding.at(&spec.node).port(&spec.input);
        let mut partition = |name: &str| {
            let found = partitions.iter().find(|partition| partition.name == name);
            if found.is_none() {
                let finding = Finding::new(Problem::NoSuchPartition(name.to_owned()));
                let names = partitions.iter().map(|partition| partition.name.as_str());
                findings.add(place(finding).near(name, names));
            }
            found.map(Partition::id)
        };
        let from = match &spec.from {
            Some(name) => partition(name),
            None => Some(PartitionId::REQUESTER),
        };
        let to = partition(&spec.to);
        let Some(node) = self.nodes.iter().position(|node| node.name == spec.node) else {
            let finding = Finding::new(Problem::NoSuchNode(spec.node.clone()));
            let names = self.nodes.iter().map(|node| node.name.as_str());
            findings.add(place(finding).near(&spec.node, names));
            return None;
        };
        let Some(input) = self.nodes[node].input_named(&spec.input) else {
            let finding = Finding::new(Problem::NoSuchInput(spec.input.clone()));
            let names = self.nodes[node]
                .inputs
                .iter()
                .map(|port| port.name.as_str());
            findings.add(place(finding).near(&spec.input, names));
            return None;
        };
        let (from, to) = (from?, to?);
        if from == to {
            findings.add(place(Finding::new(Problem::SamePartition)));
        }
        let kind = self.nodes[node].inputs[input.index()].ty.kind;
        check_stream(spec, kind, findings);
        Some(Connection {
            id: ConnectionId::new(index),
            from,
            to,
            node: NodeId::new(node),
            input,
            name: spec.input.clone(),
            stream: spec.stream.clone(),
        })
    }
}

fn check_stream(spec: &ConnectionSpec, kind: Kind, findings: &mut Findings) {
    let mut report = |problem| {
        findings.add(Finding::new(problem).at(&spec.node).port(&spec.input));
    };
    let stream = &spec.stream;
    if let Err(unsound) = stream.policy.check() {
        report(Problem::Policy(unsound));
    }
    let (capacity, needs) = (stream.capacity, stream.policy.needs());
    if capacity < needs {
        report(Problem::Capacity { capacity, needs });
    }
    let on_text = matches!(kind, Kind::Text | Kind::Any);
    if matches!(stream.policy, ChunkPolicy::Boundary { .. }) && !on_text {
        report(Problem::BoundaryOnKind(kind));
    }
}

/// Every connection has an edge that feeds it and a walk that takes its chunks.
fn check_connections(
    context: &Context<'_>,
    walks: &[Arc<crate::walk::Walk>],
    findings: &mut Findings,
) {
    for connection in context.connections {
        let node = &context.nodes[connection.node.index()].name;
        let name = |id: PartitionId| context.partitions[id.index()].name.clone();
        let mut report = |problem| {
            findings.add(Finding::new(problem).at(node).port(&connection.name));
        };
        let exit = crate::walk::Exit::Stream(connection.id);
        let feeds = |walk: &Arc<crate::walk::Walk>| {
            walk.leaving().any(|(_, _, leaving)| leaving.to == exit)
        };
        if connection.from != PartitionId::REQUESTER && !walks.iter().any(feeds) {
            report(Problem::NeverFed(name(connection.from)));
        }
        let takes = |walk: &Arc<crate::walk::Walk>| walk.streams().any(|id| id == connection.id);
        if !walks.iter().any(takes) {
            report(Problem::NeverTaken(name(connection.to)));
        }
    }
}

fn empty_partition(id: PartitionId, name: &str) -> Partition {
    Partition {
        id,
        name: name.to_owned(),
        walks: Vec::new(),
        initial: None,
        incoming: Vec::new(),
        outgoing: Vec::new(),
    }
}

/// The position of each name; of the first, where a name stands twice.
fn ids<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<&'a str, usize> {
    let mut ids = HashMap::new();
    for (index, name) in names.enumerate() {
        ids.entry(name).or_insert(index);
    }
    ids
}

/// How a finding writes the far end of an edge.
pub(crate) fn edge_name(node: &str, edge: &Edge) -> String {
    format!("{node}.{}", edge.output)
}
