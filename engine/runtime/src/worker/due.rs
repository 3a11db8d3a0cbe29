//! When a step should begin, for the listener not to run dry. A hot path.
//!
//! For a node of a request whose audio is being heard,
//!
//! ```text
//! due = dry + waiting - step - behind - margin
//! ```
//!
//! - `dry`: when the listener will have heard all that was given ([`Playout`]);
//! - `waiting`: the audio that the items waiting on streaming edges behind the node will become,
//!   so a node far ahead of the listener is not urgent;
//! - `step`: what the node's own step is planned at, by the cost model;
//! - `behind`: what one step of each node on the way from it to the audio is planned at;
//! - `margin`: the longest step of this worker of late, because a step that has begun is not
//!   interrupted, and a usual one for each member that is ready, because they may all be due at
//!   the same moment.
//!
//! Slack is `due` less the time that it is. Around it:
//!
//! - Before the first audio, `dry` is the moment of opening plus the time that a first output may
//!   take, `margin` is left out, and the result is not before the present: newcomers go before
//!   whoever has slack left, and not before a listener about to run dry. Where those who are served
//!   take all that the worker can give, they wait up to [`PATIENCE`] for a place; after that they
//!   count as late like everyone else.
//! - A request with a hard deadline has `dry` there.
//! - What nobody hears (text, images, background work) is due a fixed time after it became ready,
//!   or as its node says: at once for one that listens.
//!   That time passes by itself, while a late listener counts as late by [`LATEST`] at most: so
//!   everything ready is the most urgent at some time, and nothing waits for ever.
//!
//! [`Playout`]: crate::client::Playout

use std::time::Duration;

use graph::{ConnectionId, PartitionId, stream::Time};

use super::{Seat, groups::Group, local::Local, scheduler::Due};
use crate::{
    Scheduling, Timing,
    cost::{CostModel, Place},
};

/// By how much a listener who has run dry counts as late at most.
const LATEST: Duration = Duration::from_millis(200);
/// After how long without the first audio, past its due time, a newcomer begins to count as late.
const PATIENCE: Duration = Duration::from_secs(2);

/// What deadlines are told from.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) now: Time,
    pub(super) costs: &'a CostModel,
    pub(super) rules: &'a Scheduling,
    /// Whether those who are being served take all that the worker can give.
    pub(super) is_full: bool,
    /// How much before the listener runs dry a step should begin at the latest.
    pub(super) margin: Duration,
}

impl Local {
    /// When the step of a node that is ready since `since` should begin.
    pub(super) fn due(&self, seat: &Seat, since: Time, group: &Group, view: &View<'_>) -> Due {
        let (now, rules) = (nanos(view.now), view.rules);
        if self.info.options.timing == Timing::Background {
            return nanos(since) + signed(rules.background);
        }
        let way = self.routes.of(seat.walk, seat.node);
        let (deadline, latest) = match (self.info.options.timing, way) {
            (Timing::Within(time), _) => (nanos(self.opened) + signed(time), signed(LATEST)),
            (_, None) => return nanos(since) + signed(group.due_within.unwrap_or(rules.text)),
            (_, Some(_)) => match self.shared.outlet.dry_at(view.now) {
                Some(dry) => (nanos(dry) - signed(view.margin), signed(LATEST)),
                None => {
                    let wait = if view.is_full {
                        PATIENCE
                    } else {
                        Duration::ZERO
                    };
                    let first = nanos(self.opened) + signed(rules.first_output + wait);
                    let late = now - nanos(self.opened) - signed(rules.first_output + PATIENCE);
                    (first, late.clamp(0, signed(LATEST)))
                }
            },
        };
        let mut due = deadline - signed(view.costs.step(group.place, 1, self.length(seat)));
        for stage in way.unwrap_or_default() {
            let place = Place {
                model: self.model,
                walk: stage.walk,
                node: stage.node,
            };
            due -= signed(view.costs.any_step(place));
            if let Some(edge) = stage.by {
                let waiting = i64::try_from(self.waiting(edge)).unwrap_or(i64::MAX);
                let each = signed(view.costs.item_audio(self.model, edge));
                due = due.saturating_add(each.saturating_mul(waiting));
            }
        }
        due.max(now - latest)
    }

    /// How much a node that is ready takes: its items, rows or characters together.
    pub(super) fn length(&self, seat: &Seat) -> usize {
        let here = self
            .partitions
            .get(seat.partition.index())
            .and_then(Option::as_ref);
        let Some(here) = here else { return 1 };
        let chunks = here.chunks.iter().filter(|(node, ..)| *node == seat.node);
        let chunks: usize = chunks.map(|(.., chunk)| chunk.items.len()).sum();
        let run = here.active.and_then(|active| here.runs.get(active.run));
        let plain = run.into_iter().flat_map(|run| run.waiting_at(seat.node));
        let plain = plain.flat_map(graph::Payloads::as_slice);
        (chunks + plain.map(crate::Payload::length).sum::<usize>()).max(1)
    }

    /// Items on a streaming edge that have not gone through its consumer.
    fn waiting(&self, edge: ConnectionId) -> usize {
        let part = |id: PartitionId| self.partitions.get(id.index()).and_then(Option::as_ref);
        let Some(spec) = self.graph.connection(edge) else {
            return 0;
        };
        let outgoing = part(spec.from()).and_then(|here| {
            let mut outgoing = here.outgoing.iter();
            outgoing.find(|outgoing| outgoing.connection == edge)
        });
        let backlog = outgoing.map_or(0, |outgoing| outgoing.backlog.len());
        if let Some(here) = part(spec.to()) {
            let incoming = here
                .incoming
                .iter()
                .find(|incoming| incoming.connection == edge);
            let buffered = incoming.map_or(0, |incoming| incoming.buffer.unanswered());
            let taken = here
                .chunks
                .iter()
                .filter(|(node, input, _)| (*node, *input) == (spec.node(), spec.input()));
            let taken: usize = taken.map(|(.., chunk)| chunk.core_items().len()).sum();
            return backlog + buffered + taken;
        }
        // The consumer lives elsewhere: what may not be given again is still there.
        let credit = outgoing
            .and_then(|outgoing| outgoing.remote)
            .map_or(0, |(_, credit)| credit);
        backlog + spec.stream().capacity.saturating_sub(credit)
    }
}

/// Nanoseconds since the start, to be subtracted.
pub(super) fn nanos(time: Time) -> Due {
    Due::try_from(time.nanos()).unwrap_or(Due::MAX)
}

fn signed(time: Duration) -> Due {
    Due::try_from(time.as_nanos()).unwrap_or(Due::MAX / 4)
}
