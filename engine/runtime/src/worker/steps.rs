//! How a step is put together from the scheduler's members, and taken apart again. A hot path.

use std::{sync::Arc, time::Duration};

use graph::stream::Time;

use super::{
    Batch, Seat, Worker,
    batch::Seated,
    desk::Desk,
    due::nanos,
    local::{Life, Local},
    scheduler::{Due, Policy},
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
        let mut first: Option<(Due, Duration)> = None;
        while batch.members.len() < max_batch
            && let Some(front) = self.scheduler.front(batch.group)
        {
            let (length, due) = (self.length(&front.member), front.due);
            if max_batch > 1 {
                let (count, all) = (batch.members.len() + 1, batch.length + length);
                match first {
                    None => first = Some((due, self.planned(batch.group, count, all))),
                    Some((due, alone)) => {
                        let longer = self.planned(batch.group, count, all).saturating_sub(alone);
                        if !self.allows(batch.start, due, longer) {
                            break;
                        }
                    }
                }
            }
            let Some(ready) = self.scheduler.take(batch.group) else {
                break;
            };
            if let Some((info, turn)) = self.join(batch, ready.member) {
                batch.length += length;
                batch.members.push(Seated {
                    seat: ready.member,
                    info,
                    since: ready.since,
                    turn,
                });
            }
        }
    }

    fn length(&self, seat: &Seat) -> usize {
        let local = self.locals.get(seat.slot).and_then(Option::as_ref);
        local.map_or(1, |local| local.length(seat))
    }

    /// What a step of a group is planned at.
    fn planned(&self, group: usize, members: usize, length: usize) -> Duration {
        let place = self.groups.list.get(group).map(|group| group.place);
        place.map_or(Duration::ZERO, |place| {
            self.costs.lock().step(place, members, length)
        })
    }

    fn allows(&self, now: Time, due: Due, longer: Duration) -> bool {
        let slack = due.saturating_sub(nanos(now));
        self.rules.policy != Policy::Deadline
            || slack < 0
            || slack >= Due::try_from(longer.as_nanos()).unwrap_or(Due::MAX)
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

    pub(super) fn record(&mut self, now: Time, batch: &Batch) {
        let Some(group) = self.groups.list.get(batch.group) else {
            return;
        };
        let took = now.since(batch.start);
        // It forgets a longest step in some hundred others.
        self.blocking = took.max(self.blocking - self.blocking / 128);
        self.usual = self.usual - self.usual / 16 + took / 16;
        self.costs
            .lock()
            .record(group.place, batch.members.len(), batch.length, took);
        let mut board = self.board.lock();
        let Some(stats) = board.nodes.get_mut(group.seat) else {
            return;
        };
        stats.steps += 1;
        stats.busy += took;
        stats.step_us.record_time(took);
        stats.batch.record(batch.members.len() as u64);
        for seated in &batch.members {
            stats.members += 1;
            stats.failures += u64::from(seated.turn.failure.is_some());
            stats.wait_us.record_time(batch.start.since(seated.since));
        }
    }

    /// A member leaves its step.
    pub(super) fn taken_back(&mut self, now: Time, batch: &Batch, seated: &mut Seated) {
        let (start, group) = (batch.start, batch.group);
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
        local.usage.steps += u64::from(!seated.turn.waits);
        local.usage.first_step_at.get_or_insert(start);
        local.usage.last_step_at = Some(now);
        local.usage.busy += now.since(start) / batch.size;
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
                self.drop_local(now, seat.slot);
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
        let has_come_to_wait = turn.waits && !turn.waited;
        if failure.is_none() {
            local.usage.tokens.add(turn.tokens);
            local.usage.finish = turn.finish.or(local.usage.finish);
        }
        let heard = local.heard;
        self.with_slot(now, seat.slot, |local, desk| match failure {
            Some(cause) => local.stall(local.node_error(seat.node, cause), desk),
            None => {
                if turn.again {
                    local.park(seat, turn, desk);
                } else {
                    local.complete(seat, turn, desk);
                }
                if local.usage.steps >= max_steps {
                    local.exhausted(desk);
                }
            }
        });
        self.record_audio(group, seat, &seated.turn, heard);
        if has_come_to_wait {
            self.stir(now, Some(seat.slot));
        }
    }

    /// What a step emitted: how far ahead of its listener it was, and what an item has become.
    fn record_audio(&mut self, group: usize, seat: Seat, turn: &Turn, heard: Duration) {
        let local = self.locals.get_mut(seat.slot).and_then(Option::as_mut);
        let (Some(local), Some(group)) = (local, self.groups.list.get(group)) else {
            return;
        };
        let audio = local.heard.saturating_sub(heard);
        if audio.is_zero() || local.info.id != seat.request {
            return;
        }
        if heard.is_zero() {
            let mut costs = self.costs.lock();
            costs.record_first_audio(group.model, local.usage.busy);
        }
        if let Some((input, connection)) = group.takes
            && let Some(Some(chunk)) = turn.chunks.get(input.index())
        {
            let items = chunk.core_items().len();
            let mut costs = self.costs.lock();
            costs.record_audio(group.model, connection, items, audio);
        }
        let mut board = self.board.lock();
        if let Some(stats) = board.nodes.get_mut(group.seat) {
            for slack in local.slacks.drain(..) {
                stats.stalls += u64::from(slack < 0);
                let ahead = Duration::from_nanos(u64::try_from(slack).unwrap_or(0));
                stats.slack_us.record_time(ahead);
            }
        }
    }
}
