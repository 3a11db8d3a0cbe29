//! One step: gathered from the scheduler, executed by a submodule, and taken apart again. A hot
//! path.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use graph::{Graph, NodeSpec, stream::Time};

use super::{Seat, groups::NodeHere};
use crate::{Cause, Member, RequestInfo, Submodule, member::Turn, panics::panic_message};

/// Members that make one step together, each with what it takes and gives.
pub(crate) struct Batch {
    pub(super) group: usize,
    /// What all members take together: see [`Payload::length`](crate::Payload::length).
    pub(super) length: usize,
    pub(super) members: Vec<Seated>,
    /// How many members it had when it was over.
    pub(super) size: u32,
    /// When the step began.
    pub(super) start: Time,
}

/// A request's turn in a batch.
pub(super) struct Seated {
    pub(super) seat: Seat,
    pub(super) info: Arc<RequestInfo>,
    /// Since when it was ready.
    pub(super) since: Time,
    pub(super) turn: Turn,
}

impl Batch {
    /// Lets the submodule make the step. What goes wrong is noted at the members that it concerns.
    pub(super) fn execute(&mut self, here: &mut NodeHere, graph: &Graph, node: &NodeSpec) {
        for seated in self
            .members
            .iter_mut()
            .filter(|seated| seated.turn.state.is_none())
        {
            open(&mut *here.submodule, seated);
        }
        let Err(message) = step(&mut *here.submodule, graph, node, &mut self.members) else {
            return;
        };
        // A step that panicked has left states half changed, and no one knows whose turn it was.
        // A member without a state has lost nothing, so each of these is tried once more alone:
        // only the one that panics again fails.
        let is_alone = self.members.len() == 1;
        for seated in self
            .members
            .iter_mut()
            .filter(|seated| seated.turn.failure.is_none())
        {
            let has_state = !seated
                .turn
                .state
                .as_ref()
                .is_some_and(|state| state.is::<()>());
            seated.turn.forget_outputs();
            let again = if is_alone || has_state {
                Err(message.clone())
            } else {
                step(
                    &mut *here.submodule,
                    graph,
                    node,
                    std::slice::from_mut(seated),
                )
            };
            if let Err(message) = again {
                seated.turn.failure = Some(Cause::Panicked(message));
            }
        }
    }
}

/// Makes the state of a request that comes to the node for the first time.
fn open(submodule: &mut dyn Submodule, seated: &mut Seated) {
    let opened = catch_unwind(AssertUnwindSafe(|| submodule.open(&seated.info)));
    match opened.unwrap_or_else(|panic| Err(Cause::Panicked(panic_message(&*panic)))) {
        Ok(state) => seated.turn.state = Some(state),
        Err(cause) => seated.turn.failure = Some(cause),
    }
}

/// One step of the members that have not failed; the message of a panic, if there was one.
fn step(
    submodule: &mut dyn Submodule,
    graph: &Graph,
    node: &NodeSpec,
    members: &mut [Seated],
) -> Result<(), String> {
    let mut turns: Vec<Member<'_>> = members
        .iter_mut()
        .filter(|seated| seated.turn.failure.is_none())
        .filter_map(
            |Seated {
                 seat, info, turn, ..
             }| {
                Some(Member {
                    node,
                    walk: graph.walk(seat.walk)?,
                    request: info,
                    turn,
                })
            },
        )
        .collect();
    if turns.is_empty() {
        return Ok(());
    }
    catch_unwind(AssertUnwindSafe(|| submodule.step(&mut turns)))
        .map_err(|panic| panic_message(&*panic))
}
