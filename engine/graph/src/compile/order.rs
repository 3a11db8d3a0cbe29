//! Last pass: which edges feed the running iteration, and which the next one.

use super::{Compiler, Link};
use crate::check::{Finding, Problem};
use crate::walk::Target;

impl<'a> Compiler<'a, '_> {
    /// Decides for each link whether it feeds the running iteration or the next one, so that
    /// within an iteration nothing waits for itself.
    ///
    /// A link that is on no cycle feeds the running iteration. On a cycle, the order of the
    /// sections says where an iteration starts: a link against it, or between parallel parts,
    /// feeds the next one. Outside loops there is no next one, and a cycle is a finding.
    pub(super) fn order_links(&mut self) {
        let mut reported = Vec::new();
        for index in 0..self.links.len() {
            let link = &self.links[index];
            let Some(cycle) = self.way_back(link) else {
                continue;
            };
            let (in_order, is_root) = (link.in_order, link.scope == 0);
            let mut members = cycle.clone();
            members.sort();
            members.dedup();
            if is_root && !reported.contains(&members) {
                reported.push(members);
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
}
