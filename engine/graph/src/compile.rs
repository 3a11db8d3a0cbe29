//! From a walk's declaration to its tables, with every finding on the way.
//!
//! Three passes: flatten the sections into calls and scopes; open the ports of each call and the
//! results of each loop; connect the edges. What cannot be resolved is reported and left out, so
//! that one mistake does not hide the next.

use std::collections::HashMap;

use crate::builder::edge_name;
use crate::check::{Finding, Findings, Problem};
use crate::edge::{Destination, Edge};
use crate::id::{ConnectionId, InputId, LoopId, NodeId, OutputId, PartitionId, WalkId};
use crate::node::NodeSpec;
use crate::partition::{Connection, Partition};
use crate::port::{Modality, PortType};
use crate::section::{Call, LoopSpec, Section};
use crate::walk::{
    CallPlan, Exit, Leaving, Levels, OutputPlan, Plan, ResultPlan, ScopePlan, SlotPlan, Source,
    Target, Walk,
};

/// Sections may be nested this deep; [`Levels`] holds more levels than that.
const MAX_DEPTH: usize = 32;

/// What a walk's names resolve to.
pub(crate) struct Context<'a> {
    pub(crate) nodes: &'a [NodeSpec],
    pub(crate) node_ids: HashMap<&'a str, usize>,
    pub(crate) partitions: &'a [Partition],
    pub(crate) connections: &'a [Connection],
}

impl Context<'_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }
}

/// Compiles one walk.
pub(crate) fn walk(
    context: &Context<'_>,
    id: WalkId,
    name: &str,
    partition: PartitionId,
    section: &Section,
    first_loop: usize,
    findings: &mut Findings,
) -> Walk {
    let mut compiler = Compiler {
        context,
        walk: name,
        partition,
        findings,
        plan: Plan {
            call_of: vec![None; context.nodes.len()],
            first_loop,
            ..Plan::default()
        },
        calls: Vec::new(),
        loops: Vec::new(),
        paths: Vec::new(),
        links: Vec::new(),
    };
    compiler.open_scope("", 1, false, 0);
    compiler.flatten(section, 0, &mut Vec::new());
    compiler.open_ports();
    compiler.open_results();
    compiler.connect();
    compiler.order_links();
    compiler.settle();
    Walk {
        id,
        name: name.to_owned(),
        partition,
        section: section.clone(),
        plan: compiler.plan,
    }
}

/// A step down the sections: whether the parts follow each other, and which part.
type Path = Vec<(bool, usize)>;

/// What feeds an edge.
#[derive(Clone, Copy)]
enum Feeder {
    Call(usize),
    Result(usize),
}

struct Compiler<'a, 'f> {
    context: &'a Context<'a>,
    walk: &'a str,
    partition: PartitionId,
    findings: &'f mut Findings,
    plan: Plan,
    /// The declaration of each call.
    calls: Vec<&'a Call>,
    /// The declaration of each loop: of scope 1 and so on.
    loops: Vec<&'a LoopSpec>,
    /// Where each call stands in the sections.
    paths: Vec<Path>,
    links: Vec<Link>,
}

/// An edge between two entities of one scope.
struct Link {
    /// How findings write its feeder.
    from: String,
    slot: usize,
    scope: usize,
    /// Its two ends, by [`Compiler::entity`].
    ends: (usize, usize),
    /// The one stands before the other in a sequence.
    in_order: bool,
    /// What it carries is for the next iteration.
    ahead: bool,
}

impl<'a> Compiler<'a, '_> {
    fn report(&mut self, finding: Finding) {
        self.findings.add(finding.in_walk(self.walk));
    }

    fn spec(&self, call: usize) -> &'a NodeSpec {
        &self.context.nodes[self.plan.calls[call].node.index()]
    }

    // Sections.

    fn open_scope(&mut self, name: &str, max: u32, stoppable: bool, parent: usize) -> usize {
        let scope = self.plan.scopes.len();
        let level = match scope {
            0 => 0,
            _ => self.plan.scopes[parent].level + 1,
        };
        self.plan.scopes.push(ScopePlan {
            id: LoopId::new(self.plan.first_loop + scope.saturating_sub(1)),
            name: name.to_owned(),
            max,
            stoppable,
            parent,
            level,
            entity_count: 0,
            calls: Vec::new(),
            loops: Vec::new(),
            results: 0..0,
        });
        scope
    }

    fn flatten(&mut self, section: &'a Section, scope: usize, path: &mut Path) {
        if path.len() >= MAX_DEPTH {
            return self.report(Finding::new(Problem::TooDeep(MAX_DEPTH)));
        }
        match section {
            Section::Node(call) => self.open_call(call, scope, path),
            Section::Sequence(parts) => self.flatten_parts(parts, true, scope, path),
            Section::Parallel(parts) => self.flatten_parts(parts, false, scope, path),
            Section::Loop(spec) => self.flatten_loop(spec, false, scope, path),
            Section::DynamicLoop(spec) => self.flatten_loop(spec, true, scope, path),
        }
    }

    fn flatten_parts(&mut self, parts: &'a [Section], follow: bool, scope: usize, path: &mut Path) {
        if parts.is_empty() {
            self.report(Finding::new(Problem::Empty));
        }
        for (index, part) in parts.iter().enumerate() {
            path.push((follow, index));
            self.flatten(part, scope, path);
            path.pop();
        }
    }

    fn flatten_loop(
        &mut self,
        spec: &'a LoopSpec,
        stoppable: bool,
        around: usize,
        path: &mut Path,
    ) {
        if spec.max == 0 {
            self.report(Finding::new(Problem::NoIteration).at(&spec.name));
        }
        if self.loops.iter().any(|other| other.name == spec.name) {
            let (what, name) = ("loops", spec.name.clone());
            self.report(Finding::new(Problem::SameName { what, name }));
        }
        let scope = self.open_scope(&spec.name, spec.max, stoppable, around);
        self.loops.push(spec);
        self.plan.scopes[around].entity_count += 1;
        let mut outer = around;
        loop {
            self.plan.scopes[outer].loops.push(scope);
            if outer == 0 {
                break;
            }
            outer = self.plan.scopes[outer].parent;
        }
        path.push((true, 0));
        self.flatten(&spec.body, scope, path);
        path.pop();
    }

    fn open_call(&mut self, call: &'a Call, scope: usize, path: &Path) {
        let Some(&node) = self.context.node_ids.get(call.node.as_str()) else {
            let finding = Finding::new(Problem::NoSuchNode(call.node.clone())).at(&call.node);
            return self.report(finding.near(&call.node, self.context.names()));
        };
        if self.plan.call_of[node].is_some() {
            return self.report(Finding::new(Problem::CalledTwice).at(&call.node));
        }
        let index = self.plan.calls.len();
        self.plan.call_of[node] = Some(index);
        self.plan.calls.push(CallPlan {
            node: NodeId::new(node),
            name: call.node.clone(),
            scope,
            slots: 0..0,
            slot_of: vec![None; self.context.nodes[node].inputs.len()],
            outputs: 0..0,
        });
        self.calls.push(call);
        self.paths.push(path.clone());
        self.plan.scopes[scope].entity_count += 1;
        let mut around = scope;
        loop {
            self.plan.scopes[around].calls.push(index);
            if around == 0 {
                break;
            }
            around = self.plan.scopes[around].parent;
        }
    }

    // Ports and results.

    fn open_ports(&mut self) {
        for call in 0..self.calls.len() {
            let slots = self.plan.slots.len();
            for input in self.taken(call) {
                self.open_slot(call, input);
            }
            self.plan.calls[call].slots = slots..self.plan.slots.len();
            let outputs = self.plan.outputs.len();
            for output in self.given(call) {
                self.plan.outputs.push(OutputPlan {
                    output,
                    targets: Vec::new(),
                    result: None,
                });
            }
            self.plan.calls[call].outputs = outputs..self.plan.outputs.len();
        }
    }

    fn taken(&mut self, call: usize) -> Vec<InputId> {
        let (declared, spec) = (self.calls[call], self.spec(call));
        let Some(names) = &declared.takes else {
            return (0..spec.inputs.len()).map(InputId::new).collect();
        };
        let mut inputs = Vec::new();
        for name in names {
            match spec.input_named(name) {
                Some(input) if inputs.contains(&input) => {
                    let (what, name) = ("inputs", name.clone());
                    self.report(Finding::new(Problem::SameName { what, name }).at(&spec.name));
                }
                Some(input) => inputs.push(input),
                None => {
                    let finding = Finding::new(Problem::NoSuchInput(name.clone()));
                    let right = spec.inputs.iter().map(|port| port.name.as_str());
                    self.report(finding.at(&spec.name).port(name).near(name, right));
                }
            }
        }
        inputs
    }

    fn open_slot(&mut self, call: usize, input: InputId) {
        let spec = self.spec(call);
        let plan = &self.plan.calls[call];
        let level = self.plan.scopes[plan.scope].level;
        let stream = self.context.connections.iter().find(|connection| {
            connection.to == self.partition
                && connection.node == plan.node
                && connection.input == input
        });
        let slot = self.plan.slots.len();
        self.plan.calls[call].slot_of[input.index()] = Some(slot);
        self.plan.slots.push(SlotPlan {
            call,
            input,
            name: spec.input_name(input).to_owned(),
            source: stream.map_or(Source::Outside, |connection| Source::Stream(connection.id)),
            level,
            cells: self.plan.cell_count,
            fed: Levels::default(),
            kept: Levels::default(),
        });
        self.plan.cell_count += level + 1;
    }

    /// The outputs that matter here: those of an edge, and those that the loop around names.
    fn given(&mut self, call: usize) -> Vec<OutputId> {
        let (declared, spec) = (self.calls[call], self.spec(call));
        let mut outputs = Vec::new();
        for edge in &declared.edges {
            match spec.output_named(&edge.output) {
                Some(output) if outputs.contains(&output) => {}
                Some(output) => outputs.push(output),
                None => {
                    let finding = Finding::new(Problem::NoSuchOutput(edge.output.clone()));
                    let right = spec.outputs.iter().map(|port| port.name.as_str());
                    let finding = finding.at(&spec.name).port(&edge.output);
                    self.report(finding.near(&edge.output, right));
                }
            }
        }
        let scope = self.plan.calls[call].scope;
        if let Some(around) = scope.checked_sub(1).and_then(|index| self.loops.get(index)) {
            let named = around.outputs.iter().chain(&around.accumulated);
            let implied = named.filter(|edge| !self.has_giver(scope, &edge.output));
            for output in implied.filter_map(|edge| spec.output_named(&edge.output)) {
                if !outputs.contains(&output) {
                    outputs.push(output);
                }
            }
        }
        outputs
    }

    /// Whether an edge or an inner loop directly in a scope gives a name. If not, a node that
    /// merely has the output gives it.
    fn has_giver(&self, scope: usize, name: &str) -> bool {
        let names = |edge: &Edge| edge.output == name;
        let mut calls = self.plan.calls.iter().zip(&self.calls);
        let mut loops = self.plan.scopes.iter().skip(1).zip(&self.loops);
        calls.any(|(plan, call)| plan.scope == scope && call.edges.iter().any(names))
            || loops.any(|(plan, spec)| {
                plan.parent == scope && spec.outputs.iter().chain(&spec.accumulated).any(names)
            })
    }

    /// Opens what leaves each loop, inner loops first: an outer one may pass on what an inner
    /// one gives.
    fn open_results(&mut self) {
        for scope in (1..self.plan.scopes.len()).rev() {
            let spec = self.loops[scope - 1];
            if self.plan.scopes[scope].entity_count == 0 {
                self.report(Finding::new(Problem::Empty).at(&spec.name));
            }
            let mut given = self.given_in(scope);
            self.check_same_outputs(&given);
            let first = self.plan.results.len();
            for (accumulated, edges) in [(false, &spec.outputs), (true, &spec.accumulated)] {
                for edge in edges {
                    self.open_result(scope, edge, accumulated, first, &mut given);
                }
            }
            self.plan.scopes[scope].results = first..self.plan.results.len();
        }
    }

    /// What the entities directly in a scope give, by name.
    fn given_in(&self, scope: usize) -> Vec<(String, Feeder)> {
        let mut given = Vec::new();
        for (index, call) in self.plan.calls.iter().enumerate() {
            if call.scope == scope {
                let spec = self.spec(index);
                for output in &self.plan.outputs[call.outputs.clone()] {
                    given.push((
                        spec.output_name(output.output).to_owned(),
                        Feeder::Call(index),
                    ));
                }
            }
        }
        for inner in self.plan.scopes.iter().skip(1) {
            if inner.parent == scope {
                for result in inner.results.clone() {
                    let name = self.plan.results[result].name.clone();
                    given.push((name, Feeder::Result(result)));
                }
            }
        }
        given
    }

    fn check_same_outputs(&mut self, given: &[(String, Feeder)]) {
        for (index, (name, second)) in given.iter().enumerate() {
            let Some((_, first)) = given[..index].iter().find(|(other, _)| other == name) else {
                continue;
            };
            let (first, second) = (self.entity_name(*first), self.entity_name(*second));
            let place = second.clone();
            let finding = Finding::new(Problem::SameOutput { first, second });
            self.report(finding.at(&place).port(name));
        }
    }

    fn entity_name(&self, feeder: Feeder) -> String {
        match feeder {
            Feeder::Call(call) => self.plan.calls[call].name.clone(),
            Feeder::Result(result) => {
                let of = |scope: &&ScopePlan| scope.results.contains(&result);
                let scope = self.plan.scopes.iter().find(of);
                scope.map_or_else(String::new, |scope| scope.name.clone())
            }
        }
    }

    fn open_result(
        &mut self,
        scope: usize,
        edge: &Edge,
        accumulated: bool,
        first: usize,
        given: &mut [(String, Feeder)],
    ) {
        let loop_name = self.loops[scope - 1].name.clone();
        let opened = self.plan.results[first..]
            .iter()
            .find(|result| result.name == edge.output);
        if let Some(opened) = opened {
            if opened.accumulated != accumulated {
                let finding = Finding::new(Problem::BothResults(edge.output.clone()));
                self.report(finding.at(&loop_name).port(&edge.output));
            }
            return;
        }
        let Some(&(_, feeder)) = given.iter().find(|(name, _)| *name == edge.output) else {
            let finding = Finding::new(Problem::NoSuchResult(edge.output.clone()));
            let right = given.iter().map(|(name, _)| name.as_str());
            let finding = finding
                .at(&loop_name)
                .port(&edge.output)
                .near(&edge.output, right);
            return self.report(finding);
        };
        let result = self.plan.results.len();
        let (node, output) = match feeder {
            Feeder::Call(call) => {
                let output = self.spec(call).output_named(&edge.output);
                let output = output.unwrap_or(OutputId::new(usize::MAX));
                let range = self.plan.calls[call].outputs.clone();
                for plan in &mut self.plan.outputs[range] {
                    if plan.output == output {
                        plan.result = Some(result);
                    }
                }
                (self.plan.calls[call].node, output)
            }
            Feeder::Result(inner) => {
                let inner = &mut self.plan.results[inner];
                inner.result = Some(result);
                (inner.node, inner.output)
            }
        };
        self.plan.results.push(ResultPlan {
            node,
            output,
            name: edge.output.clone(),
            accumulated,
            targets: Vec::new(),
            result: None,
        });
    }

    // Edges.

    fn connect(&mut self) {
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
            let calls: Vec<_> = self
                .plan
                .calls
                .iter()
                .map(|call| call.name.clone())
                .collect();
            let finding = finding.near(node, calls.iter().map(String::as_str));
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
    fn entity(&self, call: usize, scope: usize) -> usize {
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
    fn in_order(&self, first: usize, second: usize) -> bool {
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

    // The whole.

    /// Decides for each link whether it feeds the running iteration or the next one, so that
    /// within an iteration nothing waits for itself.
    ///
    /// A link that is on no cycle feeds the running iteration. On a cycle, the order of the
    /// sections says where an iteration starts: a link against it, or between parallel parts,
    /// feeds the next one. Outside loops there is no next one, and a cycle is a finding.
    fn order_links(&mut self) {
        for index in 0..self.links.len() {
            let link = &self.links[index];
            let Some(cycle) = self.way_back(link) else {
                continue;
            };
            let (in_order, is_root) = (link.in_order, link.scope == 0);
            if is_root {
                let first = cycle.first().cloned().unwrap_or_default();
                self.report(Finding::new(Problem::Cycle(cycle.join(" -> "))).at(&first));
            }
            self.links[index].ahead = !in_order;
        }
        for index in 0..self.links.len() {
            self.check_feeds(index);
            let link = &self.links[index];
            let (slot, level) = (link.slot, self.plan.scopes[link.scope].level);
            self.plan.slots[slot].fed.insert(level);
            if link.ahead {
                self.mark_ahead(slot, level);
            }
        }
    }

    /// The entities of some cycle that a link is part of, the first one at both ends.
    fn way_back(&self, link: &Link) -> Option<Vec<String>> {
        let (start, first) = link.ends;
        let mut reached = vec![(first, 0)];
        let mut next = 0;
        while let Some(&(entity, _)) = reached.get(next) {
            if entity == start {
                let mut cycle = vec![start];
                while next != 0 {
                    next = reached[next].1;
                    cycle.push(reached[next].0);
                }
                cycle.push(start);
                cycle.reverse();
                cycle.dedup();
                if cycle.len() == 1 {
                    cycle.push(start);
                }
                let label = |entity| self.entity_label(entity);
                return Some(cycle.into_iter().map(label).collect());
            }
            for other in self.links.iter().filter(|other| other.scope == link.scope) {
                let (from, to) = other.ends;
                if from == entity && !reached.iter().any(|&(entity, _)| entity == to) {
                    reached.push((to, next));
                }
            }
            next += 1;
        }
        None
    }

    fn entity_label(&self, entity: usize) -> String {
        match self.plan.calls.get(entity) {
            Some(call) => call.name.clone(),
            None => self.plan.scopes[entity - self.plan.calls.len()]
                .name
                .clone(),
        }
    }

    /// In no round of no level may two links feed one slot.
    fn check_feeds(&mut self, index: usize) {
        let link = &self.links[index];
        let level = |link: &Link| self.plan.scopes[link.scope].level;
        let clash = self.links[..index].iter().find(|other| {
            other.slot == link.slot
                && match (other.ahead, link.ahead) {
                    (false, false) => true,
                    (true, true) => level(other) == level(link),
                    (false, true) => level(link) <= level(other),
                    (true, false) => level(other) <= level(link),
                }
        });
        if let Some(other) = clash {
            let (first, second) = (other.from.clone(), link.from.clone());
            let slot = &self.plan.slots[link.slot];
            let (node, input) = (self.plan.calls[slot.call].name.clone(), slot.name.clone());
            let finding = Finding::new(Problem::FedTwice { first, second });
            self.report(finding.at(&node).port(&input));
        }
    }

    fn mark_ahead(&mut self, of_slot: usize, of_level: usize) {
        let outputs = self.plan.outputs.iter_mut().map(|plan| &mut plan.targets);
        let results = self.plan.results.iter_mut().map(|plan| &mut plan.targets);
        for target in outputs.chain(results).flatten() {
            if let Target::Slot { slot, level, ahead } = target
                && (*slot, *level) == (of_slot, of_level)
            {
                *ahead = true;
            }
        }
    }

    /// Settles where each slot's payloads come from and how long they are kept.
    fn settle(&mut self) {
        if self.plan.calls.is_empty() && self.findings.is_empty() {
            self.report(Finding::new(Problem::Empty));
        }
        for (slot, plan) in self.plan.slots.iter_mut().enumerate() {
            let links = || self.links.iter().filter(|link| link.slot == slot);
            if matches!(plan.source, Source::Outside) {
                plan.source = match (links().next(), links().any(|link| !link.ahead)) {
                    (None, _) => Source::Outside,
                    (Some(_), false) => Source::Seed,
                    (Some(_), true) => Source::Inside,
                };
            }
            for level in 0..plan.level {
                if (level + 1..=plan.level).any(|inner| !plan.fed.contains(inner)) {
                    plan.kept.insert(level);
                }
            }
        }
    }
}

fn leaving(to: Exit, edge: &Edge) -> Leaving {
    Leaving {
        to,
        persist: edge.persist,
        count: edge.count,
    }
}
