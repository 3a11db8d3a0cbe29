//! How payloads move inside a run: along edges, into the next round, out of a loop. A hot path.
//!
//! A round is an iteration of a loop, or one pass of the walk itself.

use std::sync::Arc;

use super::{CallState, Departure, Phase, ScopeState, WalkRun};
use crate::error::{Error, Result};
use crate::id::{NodeId, OutputId};
use crate::payload::Payloads;
use crate::walk::{Source, Target};

impl<P: Clone> WalkRun<P> {
    /// Keeps a payload for the next round.
    pub(super) fn wait(&mut self, slot: usize, cell: usize, payloads: Payloads<P>) -> Result<()> {
        if self.cells[cell].next.is_some() {
            let (node, input) = self.names(slot);
            return Err(Error::InputFull { node, input });
        }
        self.cells[cell].next = Some(payloads);
        Ok(())
    }

    /// Puts the payload of a level's round where the node takes it.
    pub(super) fn present(&mut self, slot: usize, level: usize, payloads: Payloads<P>) {
        let plan = &self.walk.plan.slots[slot];
        let (call, innermost) = (plan.call, plan.cells + plan.level);
        let cell = plan.cells + level;
        self.cells[cell].kept = plan.kept.contains(level).then(|| payloads.clone());
        for inner in cell + 1..=innermost {
            self.cells[inner].kept = None;
        }
        if self.current[slot].replace(payloads).is_none() {
            self.calls[call].missing_plain -= 1;
            self.check_ready(call);
        }
    }

    pub(super) fn check_ready(&mut self, call: usize) {
        let state = &mut self.calls[call];
        let complete = state.missing_plain == 0 && state.missing_chunks == 0;
        if state.phase == Phase::Waiting && complete {
            state.phase = Phase::Ready;
            self.ready.push_back(call);
        }
    }

    /// Sends what one output gave along all its edges.
    pub(super) fn send(
        &mut self,
        node: NodeId,
        output: OutputId,
        targets: &[Target],
        result: Option<usize>,
        payloads: Payloads<P>,
    ) -> Result<()> {
        let Some((last, first)) = targets.split_last() else {
            self.record(result, payloads);
            return Ok(());
        };
        for target in first {
            self.follow(node, output, *target, payloads.clone())?;
        }
        if result.is_some() {
            self.record(result, payloads.clone());
        }
        self.follow(node, output, *last, payloads)
    }

    fn follow(
        &mut self,
        node: NodeId,
        output: OutputId,
        target: Target,
        payloads: Payloads<P>,
    ) -> Result<()> {
        match target {
            Target::Slot { slot, level, ahead } => {
                if ahead {
                    let cell = self.walk.plan.slots[slot].cells + level;
                    return self.wait(slot, cell, payloads);
                }
                self.present(slot, level, payloads);
                Ok(())
            }
            Target::Leaves(leaving) => {
                if !payloads.is_empty() {
                    self.departures.push_back(Departure {
                        node,
                        output,
                        leaving,
                        payloads,
                    });
                }
                Ok(())
            }
        }
    }

    fn record(&mut self, result: Option<usize>, payloads: Payloads<P>) {
        let Some(result) = result else { return };
        if self.walk.plan.results[result].accumulated {
            self.results[result].append(payloads);
        } else {
            self.results[result] = payloads;
        }
    }

    /// An entity of a scope has completed. At the barrier, the loop goes round or is done; a loop
    /// that is done is a completed entity of the scope around it.
    pub(super) fn close_entity(&mut self, mut scope: usize) -> Result<()> {
        let walk = Arc::clone(&self.walk);
        loop {
            let plan = &walk.plan.scopes[scope];
            self.scopes[scope].open -= 1;
            if self.scopes[scope].open > 0 {
                return Ok(());
            }
            if scope == 0 {
                self.done = true;
                return Ok(());
            }
            let next = self.scopes[scope].iteration + 1;
            if !self.scopes[scope].stopped && next < plan.max {
                self.start_round(scope);
                self.scopes[scope].iteration = next;
                return Ok(());
            }
            self.drop_payloads(scope);
            for result in plan.results.clone() {
                let plan = &walk.plan.results[result];
                let payloads = std::mem::take(&mut self.results[result]);
                self.send(plan.node, plan.output, &plan.targets, plan.result, payloads)?;
            }
            scope = plan.parent;
        }
    }

    /// Starts an iteration of a loop, or the walk itself: everything in it is at its start, and
    /// each slot has what waited for this round or comes from further out.
    pub(super) fn start_round(&mut self, scope: usize) {
        let walk = Arc::clone(&self.walk);
        let plan = &walk.plan.scopes[scope];
        self.open_scope(scope, plan.entity_count);
        for &inner in &plan.loops {
            self.open_scope(inner, walk.plan.scopes[inner].entity_count);
            for result in walk.plan.scopes[inner].results.clone() {
                self.results[result] = Payloads::Signal;
            }
        }
        if scope == 0 {
            self.done = false;
        }
        for &call in &plan.calls {
            self.open_call(call);
        }
        for &call in &plan.calls {
            for slot in walk.plan.calls[call].slots.clone() {
                self.turn_slot(slot, plan.level);
            }
            self.check_ready(call);
        }
    }

    fn open_scope(&mut self, scope: usize, entities: usize) {
        self.scopes[scope] = ScopeState {
            iteration: 0,
            open: entities,
            stopped: false,
        };
    }

    fn open_call(&mut self, call: usize) {
        let walk = Arc::clone(&self.walk);
        let slots = walk.plan.calls[call].slots.clone();
        let chunks = slots
            .clone()
            .filter(|&slot| matches!(walk.plan.slots[slot].source, Source::Stream(_)))
            .count();
        self.calls[call] = CallState {
            phase: Phase::Waiting,
            missing_plain: slots.len() - chunks,
            missing_chunks: chunks,
        };
    }

    /// Gives a slot the payload of a new round of a level.
    fn turn_slot(&mut self, slot: usize, level: usize) {
        let walk = Arc::clone(&self.walk);
        let plan = &walk.plan.slots[slot];
        self.current[slot] = None;
        let cell = plan.cells + level;
        let next = self.cells[cell].next.take();
        for cell in &mut self.cells[cell..=plan.cells + plan.level] {
            cell.kept = None;
            cell.next = None;
        }
        if level == 0 {
            self.delivered[slot] = next.is_some();
        }
        if let Some(payloads) = next {
            self.present(slot, level, payloads);
        } else if level > 0 && !plan.fed.contains(level) {
            let outer = self.cells[plan.cells..cell].iter().rev();
            let kept = outer.into_iter().find_map(|cell| cell.kept.clone());
            if let Some(payloads) = kept {
                self.present(slot, level, payloads);
            }
        }
    }

    /// A loop is done: nothing in it is needed any more.
    fn drop_payloads(&mut self, scope: usize) {
        let walk = Arc::clone(&self.walk);
        let plan = &walk.plan.scopes[scope];
        for &call in &plan.calls {
            for slot in walk.plan.calls[call].slots.clone() {
                let slot_plan = &walk.plan.slots[slot];
                self.current[slot] = None;
                let cells = slot_plan.cells + plan.level..=slot_plan.cells + slot_plan.level;
                for cell in &mut self.cells[cells] {
                    cell.kept = None;
                    cell.next = None;
                }
            }
        }
    }
}
