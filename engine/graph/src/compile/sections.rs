//! First pass: the sections become calls, and scopes for the loops.

use super::{Compiler, MAX_DEPTH, Path};
use crate::check::{Finding, Problem};
use crate::id::{LoopId, NodeId};
use crate::section::{Call, LoopSpec, Section};
use crate::walk::{CallPlan, ScopePlan};

impl<'a> Compiler<'a, '_> {
    pub(super) fn open_scope(
        &mut self,
        name: &str,
        max: u32,
        stoppable: bool,
        parent: usize,
    ) -> usize {
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

    pub(super) fn flatten(&mut self, section: &'a Section, scope: usize, path: &mut Path) {
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
}
