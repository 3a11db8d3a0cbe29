//! Third pass: each edge finds where it ends.

use super::{Compiler, Feeder, Link};
use crate::builder::edge_name;
use crate::check::{Finding, Problem};
use crate::edge::{Destination, Edge};
use crate::id::{ConnectionId, NodeId, OutputId};
use crate::port::{Modality, PortType};
use crate::walk::{Exit, Leaving, Source, Target};

impl<'a> Compiler<'a, '_> {
    pub(super) fn connect(&mut self) {
        for call in 0..self.calls.len() {
            for edge in &self.calls[call].edges {
                let Some(output) = self.spec(call).output_named(&edge.output) else {
                    continue;
                };
                let node = self.plan.calls[call].node;
                let targets = self.targets(Feeder::Call(call), node, output, edge);
                let range = self.plan.calls[call].outputs.clone();
                let plans = &mut self.plan.outputs[range];
                if let Some(plan) = plans.iter_mut().find(|plan| plan.output == output) {
                    plan.targets.extend(targets);
                }
            }
        }
        for scope in 1..self.plan.scopes.len() {
            let spec = self.loops[scope - 1];
            for edge in spec.outputs.iter().chain(&spec.accumulated) {
                let mut range = self.plan.scopes[scope].results.clone();
                let named = |&result: &usize| self.plan.results[result].name == edge.output;
                let Some(result) = range.find(named) else {
                    continue;
                };
                let plan = &self.plan.results[result];
                let (node, output) = (plan.node, plan.output);
                let targets = self.targets(Feeder::Result(result), node, output, edge);
                self.plan.results[result].targets.extend(targets);
            }
        }
    }

    /// Where an edge leads: to at most one place, and to the kept payloads as well.
    fn targets(
        &mut self,
        feeder: Feeder,
        node: NodeId,
        output: OutputId,
        edge: &'a Edge,
    ) -> Vec<Target> {
        let from = edge_name(&self.entity_name(feeder), edge);
        let ty = &self.context.nodes[node.index()].outputs[output.index()].ty;
        let exit = match &edge.to {
            Destination::Node { node, input } => {
                let slot = self.slot(feeder, &from, ty, node, input);
                let kept = edge.persist.then_some(Exit::Nowhere);
                let leaves = kept.map(|to| Target::Leaves(leaving(to, edge)));
                return slot.into_iter().chain(leaves).collect();
            }
            Destination::Stream { node, input } => {
                self.stream(&from, ty, node, input).map(Exit::Stream)
            }
            Destination::Emit(modality) => {
                let modality = modality.or_else(|| Modality::of_kind(ty.kind));
                if modality.is_none() {
                    let name = self.entity_name(feeder);
                    let finding = Finding::new(Problem::NoModality);
                    self.report(finding.at(&name).port(&edge.output));
                }
                modality.map(Exit::Emit)
            }
            Destination::Nowhere if edge.persist => Some(Exit::Nowhere),
            Destination::Nowhere => None,
        };
        exit.map(|to| Target::Leaves(leaving(to, edge)))
            .into_iter()
            .collect()
    }

    fn slot(
        &mut self,
        feeder: Feeder,
        from: &str,
        ty: &PortType,
        node: &str,
        input: &str,
    ) -> Option<Target> {
        let Some(&id) = self.context.node_ids.get(node) else {
            let finding = Finding::new(Problem::NoSuchNode(node.to_owned()))
                .at(node)
                .port(input);
            self.report(finding.near(node, self.context.names()));
            return None;
        };
        let Some(call) = self.plan.call_of[id] else {
            let finding = Finding::new(Problem::NotInWalk(from.to_owned()));
            self.report(finding.at(node).port(input));
            return None;
        };
        let spec = self.spec(call);
        let port = spec.input_named(input);
        let slot = port.and_then(|port| self.plan.calls[call].slot_of[port.index()]);
        let (Some(port), Some(slot)) = (port, slot) else {
            let finding = Finding::new(Problem::NotTaken(from.to_owned()));
            let slots = &self.plan.slots[self.plan.calls[call].slots.clone()];
            let finding = finding.near(input, slots.iter().map(|slot| slot.name.as_str()));
            self.report(finding.at(node).port(input));
            return None;
        };
        self.check_types(from, ty, &spec.inputs[port.index()].ty, node, input);
        let scope = self.meeting_scope(feeder, call)?;
        if let Source::Stream(_) = self.plan.slots[slot].source {
            let finding = Finding::new(Problem::StreamAndEdge(from.to_owned()));
            self.report(finding.at(node).port(input));
        }
        let giver = match feeder {
            Feeder::Call(giver) => giver,
            // Any call of the loop stands where the loop stands.
            Feeder::Result(result) => self.plan.call(self.plan.results[result].node)?,
        };
        self.links.push(Link {
            from: from.to_owned(),
            slot,
            scope,
            ends: (self.entity(giver, scope), self.entity(call, scope)),
            in_order: self.in_order(giver, call),
            ahead: false,
        });
        let (level, ahead) = (self.plan.scopes[scope].level, false);
        Some(Target::Slot { slot, level, ahead })
    }

    fn check_types(
        &mut self,
        from: &str,
        given: &PortType,
        taken: &PortType,
        node: &str,
        input: &str,
    ) {
        if let Some(disagreement) = given.disagreement(taken) {
            let from = from.to_owned();
            let finding = Finding::new(Problem::Types { from, disagreement });
            self.report(finding.at(node).port(input));
        }
    }

    /// The scope in which an edge joins two entities: the one around its feeder.
    fn meeting_scope(&mut self, feeder: Feeder, to: usize) -> Option<usize> {
        let (around, own_body) = match feeder {
            Feeder::Call(call) => (self.plan.calls[call].scope, None),
            Feeder::Result(result) => {
                let of = |scope: &usize| self.plan.scopes[*scope].results.contains(&result);
                let scope = (1..self.plan.scopes.len()).find(of)?;
                (self.plan.scopes[scope].parent, Some(scope))
            }
        };
        let (inside, name) = (self.plan.calls[to].scope, self.plan.calls[to].name.clone());
        if own_body.is_some_and(|body| self.plan.is_within(inside, body)) {
            let entity = self.entity_name(feeder);
            self.report(Finding::new(Problem::IntoOwnBody(name)).at(&entity));
            return None;
        }
        if !self.plan.is_within(inside, around) {
            let entity = self.entity_name(feeder);
            let from = self.plan.scopes[around].name.clone();
            self.report(Finding::new(Problem::LeavesLoop { from, to: name }).at(&entity));
            return None;
        }
        Some(around)
    }

    /// The entity of a scope that holds a call: the call itself, or the number of calls and the
    /// scope of a loop.
    pub(super) fn entity(&self, call: usize, scope: usize) -> usize {
        let mut inner = self.plan.calls[call].scope;
        if inner == scope {
            return call;
        }
        while self.plan.scopes[inner].parent != scope && inner != 0 {
            inner = self.plan.scopes[inner].parent;
        }
        self.plan.calls.len() + inner
    }

    /// Whether one call stands before another in a sequence.
    pub(super) fn in_order(&self, first: usize, second: usize) -> bool {
        let mut steps = self.paths[first].iter().zip(&self.paths[second]);
        let fork = steps.find(|(first, second)| first != second);
        fork.is_some_and(|(first, second)| first.0 && first.1 < second.1)
    }

    fn stream(
        &mut self,
        from: &str,
        ty: &PortType,
        node: &str,
        input: &str,
    ) -> Option<ConnectionId> {
        let Some(&id) = self.context.node_ids.get(node) else {
            let finding = Finding::new(Problem::NoSuchNode(node.to_owned()))
                .at(node)
                .port(input);
            self.report(finding.near(node, self.context.names()));
            return None;
        };
        let spec = &self.context.nodes[id];
        let Some(port) = spec.input_named(input) else {
            let finding = Finding::new(Problem::NoSuchInput(input.to_owned()));
            let right = spec.inputs.iter().map(|port| port.name.as_str());
            self.report(finding.at(node).port(input).near(input, right));
            return None;
        };
        self.check_types(from, ty, &spec.inputs[port.index()].ty, node, input);
        let found = self.context.connections.iter().find(|connection| {
            connection.from == self.partition
                && connection.node.index() == id
                && connection.input == port
        });
        if found.is_none() {
            let partition = &self.context.partitions[self.partition.index()].name;
            let problem = Problem::NoConnection {
                to: format!("{node}.{input}"),
                partition: partition.clone(),
            };
            self.report(Finding::new(problem).at(from));
        }
        found.map(|connection| connection.id)
    }
}

fn leaving(to: Exit, edge: &Edge) -> Leaving {
    Leaving {
        to,
        persist: edge.persist,
        count: edge.count,
    }
}
