//! How a step is put together from the scheduler's members, and taken apart again. A hot path.

use std::sync::Arc;

use graph::stream::Time;

use super::{
    Batch, Seat, Worker,
    batch::Seated,
    desk::Desk,
    local::{Life, Local},
};
use crate::{Cause, RequestInfo, member::Turn};

impl Worker {
    /// Fills a batch from its group, as far as its node takes members.
    pub(super) fn gather(&mut self, batch: &mut Batch) {
        let seat_limit = self
            .groups
            .list
            .get(batch.group)
            .and_then(|group| self.groups.nodes.get(group.seat));
        let max_batch = seat_limit.map_or(1, |here| here.max_batch);
        while batch.members.len() < max_batch
            && let Some(ready) = self.scheduler.take(batch.group)
        {
            if let Some((info, turn)) = self.join(batch, ready.member) {
                batch.members.push(Seated {
                    seat: ready.member,
                    info,
                    since: ready.since,
                    turn,
                });
            }
        }
    }

    /// A ready node joins a step, unless its request is over or what it feeds has filled up.
    fn join(&mut self, batch: &Batch, seat: Seat) -> Option<(Arc<RequestInfo>, Turn)> {
        let mut turn = self.turns.pop().unwrap_or_default();
        let inputs = &mut self.inputs;
        let local = self
            .locals
            .get_mut(seat.slot)?
            .as_mut()
            .filter(|local| local.info.id == seat.request)?;
        if local.life != Life::Running || local.shared.cancelled().is_some() {
            local.unqueue(seat);
            return None;
        }
        let spec = local
            .graph
            .node(seat.node)
            .map(|spec| (spec.inputs.len(), spec.outputs.len()));
        let (input_count, output_count) = spec.unwrap_or_default();
        turn.clear(input_count, output_count);
        let desk = Desk {
            worker: self.id,
            slot: seat.slot,
            now: batch.start,
            groups: &self.groups,
            scheduler: &mut self.scheduler,
            outbox: &mut self.outbox,
            timers: &mut self.timers,
            wanting: &mut self.wanting,
            ready: &mut self.ready,
        };
        if !local.has_credit(batch.group, seat.partition, &desk) {
            local.unqueue(seat);
            return None;
        }
        if local.take_turn(seat, inputs, &mut turn).is_none() {
            local.unqueue(seat);
            return None;
        }
        local.in_step += 1;
        Some((Arc::clone(&local.info), turn))
    }

    pub(super) fn record(&self, now: Time, batch: &Batch) {
        let Some(group) = self.groups.list.get(batch.group) else {
            return;
        };
        let mut board = self.board.lock();
        let Some(stats) = board.nodes.get_mut(group.seat) else {
            return;
        };
        let busy = now.since(batch.start);
        stats.steps += 1;
        stats.busy += busy;
        stats.step_us.record_time(busy);
        stats.batch.record(batch.members.len() as u64);
        for seated in &batch.members {
            stats.members += 1;
            stats.failures += u64::from(seated.turn.failure.is_some());
            stats.wait_us.record_time(batch.start.since(seated.since));
        }
    }

    /// A member leaves its step.
    pub(super) fn taken_back(&mut self, now: Time, start: Time, seated: &mut Seated) {
        let (seat, max_steps) = (seated.seat, self.max_steps);
        let is_same = |local: &&mut Box<Local>| local.info.id == seat.request;
        let Some(local) = self
            .locals
            .get_mut(seat.slot)
            .and_then(Option::as_mut)
            .filter(is_same)
        else {
            return;
        };
        local.in_step -= 1;
        local.unqueue(seat);
        local.usage.steps += 1;
        local.usage.first_step_at.get_or_insert(start);
        local.usage.last_step_at = Some(now);
        if let Some(state) = local.states.get_mut(seat.node.index()) {
            *state = seated.turn.state.take();
        }
        if local
            .shared
            .cancelled()
            .is_some_and(|cancelled| cancelled < start)
        {
            self.board.lock().steps_after_cancel += 1;
        }
        if local.life == Life::Closing {
            if local.in_step == 0 {
                self.drop_local(seat.slot);
            }
            return;
        }
        let failure = seated.turn.failure.take().or_else(|| {
            let output = seated.turn.output_not_finite()?;
            let spec = local.graph.node(seat.node)?;
            Some(Cause::NotFinite {
                port: spec.output_name(output).into(),
            })
        });
        let turn = &mut seated.turn;
        if failure.is_none() {
            local.usage.tokens.add(turn.tokens);
            local.usage.finish = turn.finish.or(local.usage.finish);
        }
        self.with_slot(now, seat.slot, |local, desk| match failure {
            Some(cause) => local.stall(local.node_error(seat.node, cause), desk),
            None => {
                local.complete(seat, turn, desk);
                if local.usage.steps >= max_steps {
                    local.exhausted(desk);
                }
            }
        });
    }
}
