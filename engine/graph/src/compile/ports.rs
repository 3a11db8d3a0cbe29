//! Second pass, nodes: which inputs each call takes, and which outputs matter.

use super::Compiler;
use crate::check::{Finding, Problem};
use crate::edge::Edge;
use crate::id::{InputId, OutputId};
use crate::walk::{Levels, OutputPlan, SlotPlan, Source};

impl<'a> Compiler<'a, '_> {
    pub(super) fn open_ports(&mut self) {
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
}
