//! How items move through a request's share of a worker: from lanes and backlogs into buffers, out
//! of buffers as chunks, and nodes into the scheduler once they are ready. A hot path.

use std::sync::Arc;

use graph::{ConnectionId, PartitionId, Payloads, Wanting, stream::Event};

use super::{
    Outbound, Seat,
    desk::Desk,
    local::{Life, Local},
    streams::{Origin, StreamEnd},
};
use crate::{Cause, Error, client::Arrival, message::Command};

impl Local {
    /// Whether the node may start: whatever it feeds has room.
    pub(super) fn has_credit(
        &mut self,
        group: usize,
        partition: PartitionId,
        desk: &Desk<'_>,
    ) -> bool {
        let Some(group) = desk.groups.list.get(group) else {
            return false;
        };
        if group.emits && !self.shared.outlet.has_room(desk.worker) {
            return false;
        }
        group
            .streams
            .iter()
            .all(|&connection| self.stream_has_room(partition, connection))
    }

    fn stream_has_room(&mut self, partition: PartitionId, connection: ConnectionId) -> bool {
        let Some(outgoing) = self
            .here(partition)
            .and_then(|here| here.outgoing(connection))
        else {
            return false;
        };
        let (to, is_clear) = (outgoing.to, outgoing.backlog.is_empty());
        match outgoing.remote {
            _ if !is_clear => false,
            Some((_, credit)) => credit > 0,
            None => {
                let incoming = self.here(to).and_then(|here| here.incoming(connection));
                incoming.is_some_and(|incoming| incoming.buffer.credit() > 0)
            }
        }
    }

    /// Looks at partitions until none has anything new. Each look either moves something forward
    /// (an item, a chunk, a node into a queue) or clears a bit, so it ends.
    pub(super) fn settle(&mut self, desk: &mut Desk<'_>) {
        while self.dirty != 0 && self.life == Life::Running {
            let index = self.dirty.trailing_zeros() as usize;
            self.dirty &= self.dirty - 1;
            let partition = PartitionId::new(index);
            self.drain_backlogs(partition, desk);
            self.pump_lanes(partition, desk);
            self.take_chunks(partition, desk);
            self.queue_ready(partition, desk);
        }
    }

    /// Gives what the consumers have room for, and the end after the last item.
    fn drain_backlogs(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        let count = self.here(partition).map_or(0, |here| here.outgoing.len());
        for index in 0..count {
            let Some(outgoing) = self
                .here(partition)
                .and_then(|here| here.outgoing.get_mut(index))
            else {
                return;
            };
            if outgoing.backlog.is_empty() && outgoing.end != StreamEnd::Due {
                continue;
            }
            match outgoing.remote {
                Some(_) => self.drain_there(partition, index, desk),
                None => self.drain_here(partition, index, desk),
            }
        }
    }

    fn drain_here(&mut self, partition: PartitionId, index: usize, desk: &mut Desk<'_>) {
        let Some(outgoing) = self
            .here(partition)
            .and_then(|here| here.outgoing.get_mut(index))
        else {
            return;
        };
        let (connection, to) = (outgoing.connection, outgoing.to);
        let mut backlog = std::mem::take(&mut outgoing.backlog);
        let is_due = outgoing.end == StreamEnd::Due;
        let (mut moved, mut refused) = (false, None);
        if let Some(incoming) = self.here(to).and_then(|here| here.incoming(connection)) {
            while incoming.buffer.credit() > 0
                && let Some(item) = backlog.pop_front()
            {
                refused = refused.or(incoming.push(item).err());
                moved = true;
            }
            if backlog.is_empty() && is_due {
                incoming.buffer.end();
                moved = true;
            }
        }
        if let Some(outgoing) = self
            .here(partition)
            .and_then(|here| here.outgoing.get_mut(index))
        {
            if backlog.is_empty() && is_due {
                outgoing.end = StreamEnd::Told;
            }
            outgoing.backlog = backlog;
        }
        self.dirty |= u64::from(moved) << to.index();
        if let Some(error) = refused {
            self.stall_internal(&error, desk);
        }
    }

    fn drain_there(&mut self, partition: PartitionId, index: usize, desk: &mut Desk<'_>) {
        let request = self.info.id;
        let Some(outgoing) = self
            .here(partition)
            .and_then(|here| here.outgoing.get_mut(index))
        else {
            return;
        };
        let Some((worker, credit)) = &mut outgoing.remote else {
            return;
        };
        let (worker, connection) = (*worker, outgoing.connection);
        let count = outgoing.backlog.len().min(*credit);
        if count > 0 {
            *credit -= count;
            let items = outgoing.backlog.drain(..count).collect();
            desk.outbox.push_back(Outbound::Send(
                worker,
                Command::Items {
                    request,
                    connection,
                    items,
                },
            ));
        }
        if outgoing.backlog.is_empty() && outgoing.end == StreamEnd::Due {
            outgoing.end = StreamEnd::Told;
            desk.outbox.push_back(Outbound::Send(
                worker,
                Command::EndStream {
                    request,
                    connection,
                },
            ));
        }
    }

    /// Takes from the requester what there is room for.
    fn pump_lanes(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        let shared = Arc::clone(&self.shared);
        let (mut taken, mut refused) = (0, None);
        let Some(here) = self.here(partition) else {
            return;
        };
        for incoming in &mut here.incoming {
            let Origin::Lane(lane) = incoming.from else {
                continue;
            };
            let Some(lane) = shared.lanes.get(lane) else {
                continue;
            };
            let is_over = lane.take(incoming.buffer.credit(), |arrival| match arrival {
                Arrival::Item(item) => {
                    taken += 1;
                    refused = refused.take().or(incoming.push(item).err());
                }
                Arrival::Flush => incoming.buffer.flush(),
            });
            if is_over {
                incoming.buffer.end();
            }
        }
        self.usage.input_items += taken;
        if let Some(error) = refused {
            self.stall_internal(&error, desk);
        }
    }

    /// Takes a chunk for every input that waits for one.
    fn take_chunks(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        let Some(here) = self.here(partition) else {
            return;
        };
        let Some(active) = here.active else { return };
        desk.wanting.clear();
        desk.wanting.extend(here.runs[active.run].wanting());
        for index in 0..desk.wanting.len() {
            let wanting = desk.wanting[index];
            if let Err(error) = self.take_chunk(partition, active.run, wanting, desk) {
                return self.stall(error, desk);
            }
        }
    }

    fn take_chunk(
        &mut self,
        partition: PartitionId,
        run: usize,
        wanting: Wanting,
        desk: &mut Desk<'_>,
    ) -> Result<(), Error> {
        let Wanting {
            node,
            input,
            connection,
        } = wanting;
        let request = self.info.id;
        let Some(here) = self
            .partitions
            .get_mut(partition.index())
            .and_then(Option::as_mut)
        else {
            return Ok(());
        };
        let Some(incoming) = here
            .incoming
            .iter_mut()
            .find(|incoming| incoming.connection == connection)
        else {
            return Ok(());
        };
        let over = || Cause::Failed("waits for a stream that is over".into());
        let chunk = match incoming.buffer.poll(desk.now) {
            Some(Event::Chunk(chunk)) => chunk,
            Some(Event::Aborted) => return Err(self.node_error(node, over())),
            Some(Event::Failed(cause)) => {
                return Err(self.node_error(node, Cause::Failed(cause.to_string())));
            }
            None if incoming.buffer.is_finished() => return Err(self.node_error(node, over())),
            None => {
                desk.set_timer(incoming);
                return Ok(());
            }
        };
        desk.clear_timer(incoming);
        match incoming.from {
            Origin::Here(producer) => self.dirty |= 1 << producer.index(),
            Origin::Lane(_) => self.dirty |= 1 << partition.index(),
            Origin::There { worker, .. } => {
                let count = incoming.grant();
                if count > 0 {
                    desk.outbox.push_back(Outbound::Send(
                        worker,
                        Command::Credit {
                            request,
                            connection,
                            count,
                        },
                    ));
                }
            }
        }
        here.chunks.push((node, input, chunk));
        let delivered = here.runs[run].deliver_chunk(node, input, Payloads::Signal);
        delivered.map_err(|error| self.node_error(node, Cause::failed(&error)))
    }

    /// Queues the nodes that are ready and have room for what they give.
    fn queue_ready(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        let Some(here) = self.here(partition) else {
            return;
        };
        let Some(active) = here.active else { return };
        let run = &here.runs[active.run];
        let walk = run.walk().id();
        desk.ready.clear();
        let parked = here.parked.iter().filter(|(_, turn)| !turn.waits);
        let parked = parked.map(|(node, _)| *node);
        let ready = run.ready_nodes().chain(parked);
        desk.ready
            .extend(ready.filter(|node| !here.queued.contains(node)));
        for index in 0..desk.ready.len() {
            let node = desk.ready[index];
            let Some(group) = desk.groups.of(self.model, walk, node) else {
                continue;
            };
            if self.has_credit(group, partition, desk) {
                let seat = Seat {
                    slot: desk.slot,
                    request: self.info.id,
                    partition,
                    walk,
                    node,
                };
                desk.scheduler.add(group, seat, desk.now);
                if let Some(here) = self.here(partition) {
                    here.queued.push(node);
                }
            }
        }
    }
}
