//! The trait [`Submodule`]: the weights and arithmetic behind a node.
//!
//! A submodule is made on the worker that its node is placed on and never moves from it. It sees
//! batches: each [`Member`] is one request's turn.

use std::{any::Any, time::Duration};

use crate::{Cause, Member, RequestInfo, kv};

/// What a streaming node remembers of one request between its steps.
pub type State = Box<dyn Any + Send>;

/// The weights and arithmetic behind a node. It lives on one worker's thread.
pub trait Submodule: Send {
    /// The most requests that one step may work on together.
    fn max_batch(&self) -> usize {
        1
    }

    /// Whether members in different walks may share a step, such as prompts with answers. Where
    /// they do, a member waits until there is room behind the node in all of these walks.
    fn mixes_walks(&self) -> bool {
        false
    }

    /// How long after it became ready a step is due that nobody hears; none is as the scheduling
    /// says. Short for what costs little and decides much, such as whether someone speaks.
    fn due_within(&self) -> Option<Duration> {
        None
    }

    /// The pages that the node keeps its requests' tokens in, to be counted; none where it has
    /// none.
    fn pages(&self) -> Option<kv::Pool> {
        None
    }

    /// What the node remembers of a request, before its first step. The state is dropped on the
    /// same thread when the request ends, for whatever reason.
    ///
    /// # Errors
    /// Whatever keeps this one request from being served.
    fn open(&mut self, request: &RequestInfo) -> Result<State, Cause> {
        let _ = request;
        Ok(Box::new(()))
    }

    /// One step of the node for each member. A member that cannot be served fails alone, by
    /// [`Member::fail`]; a panic fails all of them.
    fn step(&mut self, batch: &mut [Member<'_>]);
}
