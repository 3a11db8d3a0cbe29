//! Second pass, loops: what leaves each loop, and who gives it.

use super::{Compiler, Feeder};
use crate::check::{Finding, Problem};
use crate::edge::Edge;
use crate::id::OutputId;
use crate::walk::{ResultPlan, ScopePlan};

impl<'a> Compiler<'a, '_> {
    /// Opens what leaves each loop, inner loops first: an outer one may pass on what an inner
    /// one gives.
    pub(super) fn open_results(&mut self) {
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

    pub(super) fn entity_name(&self, feeder: Feeder) -> String {
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
}
