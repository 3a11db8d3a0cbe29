//! A request's node before and after its step: what it takes, and where what it gave goes. A hot
//! path.

use std::{sync::Arc, time::Duration};

use graph::{Departure, Exit, InputId, Modality, OutputId, PartitionId, Payloads, stream::Time};

use super::{Outbound, Seat, desk::Desk, here::Active, local::Local};
use crate::{Cause, Emitted, Payload, Tokens, member::Turn, message::Report};

impl Local {
    /// Takes what a node needs for its step. None where it is not ready after all.
    pub(super) fn take_turn(
        &mut self,
        seat: Seat,
        inputs: &mut Vec<(InputId, Payloads<Payload>)>,
        turn: &mut Turn,
    ) -> Option<()> {
        let here = self.partitions.get_mut(seat.partition.index())?.as_mut()?;
        let active = here.active?;
        let mut parked = here.parked.iter();
        if let Some(parked) = parked.position(|(node, _)| *node == seat.node) {
            *turn = here.parked.swap_remove(parked).1;
            turn.state = self.states.get_mut(seat.node.index())?.take();
            return Some(());
        }
        inputs.clear();
        here.runs
            .get_mut(active.run)?
            .take_inputs(seat.node, inputs)
            .ok()?;
        for (input, payloads) in inputs.drain(..) {
            *turn.inputs.get_mut(input.index())? = payloads;
        }
        while let Some(index) = here.chunks.iter().position(|&(node, ..)| node == seat.node) {
            let (_, input, chunk) = here.chunks.swap_remove(index);
            *turn.chunks.get_mut(input.index())? = Some(chunk);
        }
        turn.state = self.states.get_mut(seat.node.index())?.take();
        Some(())
    }

    /// A node keeps what it took and waits for another step.
    pub(super) fn park(&mut self, seat: Seat, turn: &mut Turn, desk: &mut Desk<'_>) {
        let mut turn = std::mem::take(turn);
        // Both are counted already.
        (turn.tokens, turn.again, turn.waited) = (Tokens::default(), false, turn.waits);
        if let Some(here) = self.here(seat.partition) {
            here.parked.push((seat.node, turn));
        }
        self.touch(seat.partition, desk);
    }

    /// Others have given something back: nodes that wait for it look again.
    pub(super) fn stir(&mut self, desk: &mut Desk<'_>) {
        for here in self.partitions.iter_mut().flatten() {
            for (_, turn) in &mut here.parked {
                turn.waits = false;
            }
        }
        self.look_at_all(desk);
    }

    /// The node is queued no more.
    pub(super) fn unqueue(&mut self, seat: Seat) {
        if let Some(here) = self.here(seat.partition) {
            here.queued.retain(|&node| node != seat.node);
        }
    }

    /// A node has made its step: what it gave goes where the walk says.
    pub(super) fn complete(&mut self, seat: Seat, turn: &mut Turn, desk: &mut Desk<'_>) {
        let Some(here) = self.here(seat.partition) else {
            return;
        };
        let Some(Active { run, .. }) = here.active else {
            return;
        };
        let outputs = turn.outputs.iter_mut().enumerate();
        let outputs =
            outputs.map(|(index, payloads)| (OutputId::new(index), std::mem::take(payloads)));
        if let Err(error) = here.runs[run].complete(seat.node, outputs, &turn.stops) {
            let cause = Cause::failed(&error);
            return self.stall(self.node_error(seat.node, cause), desk);
        }
        while let Some(departure) = self
            .here(seat.partition)
            .and_then(|here| here.runs[run].next_departure())
        {
            self.depart(seat.partition, departure, desk.now);
        }
        self.pass_ended(seat.partition, desk);
        self.touch(seat.partition, desk);
    }

    /// What leaves a walk.
    fn depart(&mut self, partition: PartitionId, departure: Departure<Payload>, now: Time) {
        let Departure {
            node,
            output,
            leaving,
            payloads,
        } = departure;
        if leaving.persist {
            let name = self
                .graph
                .node(node)
                .map_or("?", |spec| spec.output_name(output));
            match self.kept.iter_mut().find(|(known, _)| &**known == name) {
                Some((_, kept)) => *kept = payloads.clone(),
                None => self.kept.push((name.into(), payloads.clone())),
            }
        }
        match leaving.to {
            Exit::Emit(modality) => {
                let port: Arc<str> = self
                    .graph
                    .node(node)
                    .map_or("?", |spec| spec.output_name(output))
                    .into();
                for payload in payloads {
                    self.usage.output_items += 1;
                    let payload = payload.into_inner();
                    let audio = self.audio(modality, &payload);
                    let emitted = Emitted {
                        port: Arc::clone(&port),
                        modality,
                        payload,
                        at: now,
                    };
                    self.heard += audio;
                    self.slacks.extend(self.shared.outlet.emit(emitted, audio));
                }
            }
            Exit::Stream(connection) => {
                if let Some(outgoing) = self
                    .here(partition)
                    .and_then(|here| here.outgoing(connection))
                {
                    outgoing.backlog.extend(payloads);
                }
            }
            Exit::Nowhere => {}
        }
    }

    /// How long something sounds; zero for what is not audio.
    fn audio(&self, modality: Modality, payload: &Payload) -> Duration {
        let (Modality::Audio, Some(rate @ 1..), Some(samples)) =
            (modality, self.rate, payload.as_tensor())
        else {
            return Duration::ZERO;
        };
        let nanos = samples.shape().elements() as u64 * 1_000_000_000 / u64::from(rate);
        Duration::from_nanos(nanos)
    }

    /// Where the pass is over, the next one begins or the conductor is asked.
    fn pass_ended(&mut self, partition: PartitionId, desk: &mut Desk<'_>) {
        let Some(here) = self.here(partition) else {
            return;
        };
        let Some(active) = here.active.as_mut() else {
            return;
        };
        let run = &mut here.runs[active.run];
        if !run.is_done() {
            return;
        }
        active.passes += 1;
        let over = |connection| {
            let mut incoming = here.incoming.iter();
            incoming
                .find(|incoming| incoming.connection == connection)
                .is_none_or(|found| found.buffer.is_finished())
        };
        if active.repeats && !run.walk().streams().all(over) {
            run.restart();
            return;
        }
        let passes = active.passes;
        let streams_over = here
            .incoming
            .iter()
            .all(|incoming| incoming.buffer.is_finished());
        here.active = None;
        let request = self.info.id;
        desk.outbox.push_back(Outbound::Report(Report::Ended {
            request,
            partition,
            passes,
            streams_over,
        }));
    }
}
