//! The way in: a handle that any number of tasks may share.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};

use super::{Accepted, Shared};
use crate::{Payload, RequestId};

/// Why nothing more can be fed in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedError {
    /// The requester ended its input before.
    #[error("the input was ended before")]
    Ended,
    /// The request is over: done, failed or cancelled. Its outputs say which.
    #[error("the request is over")]
    Closed,
    /// Over its life, a request may feed in so much and no more.
    #[error("the input is longer than {limit} items")]
    TooLong {
        /// Items that one request may feed in.
        limit: u64,
    },
    /// The model takes no such input.
    #[error("the model has no input `{name}`")]
    NoSuchInput {
        /// The input as named.
        name: String,
    },
}

/// Feeds one request. Dropping it neither ends nor cancels anything.
#[derive(Clone)]
pub struct Feed {
    shared: Arc<Shared>,
}

impl Feed {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The request that it feeds.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.shared.id
    }

    /// The inputs of the request, by the names of their ports.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.shared.lanes.iter().map(|lane| &*lane.name)
    }

    /// Feeds items into the input with this index, as many as there is room for. Never waits.
    ///
    /// # Errors
    /// Where nothing more can be fed in, by whatever reason.
    pub fn put(
        &self,
        input: usize,
        items: &mut dyn Iterator<Item = Payload>,
    ) -> Result<Accepted, FeedError> {
        self.put_or_wait(input, items, None)
    }

    /// Feeds a text character by character, waiting for room as long as it takes. It needs no
    /// particular async runtime. What was taken when the future is dropped stays taken.
    ///
    /// # Errors
    /// Where nothing more can be fed in, by whatever reason.
    pub async fn send_text(&self, input: usize, text: &str) -> Result<(), FeedError> {
        let mut characters = text.chars().map(Payload::Char).peekable();
        poll_fn(|context| {
            while characters.peek().is_some() {
                match self.put_or_wait(input, &mut characters, Some(context.waker())) {
                    Ok(Accepted(0)) => return Poll::Pending,
                    Ok(_) => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Asks that whatever was fed in so far is worked on now, even where more text would make a
    /// better cut. Does nothing on an input that is over.
    pub fn flush(&self) {
        for lane in &self.shared.lanes {
            if lane.flush().is_ok() {
                self.shared.ring(lane.worker);
            }
        }
    }

    /// Says that nothing follows, on every input.
    pub fn end(&self) {
        for lane in &self.shared.lanes {
            if lane.end() {
                self.shared.ring(lane.worker);
            }
        }
    }

    /// Ends the request within one step of each worker; its outputs end with an error that says
    /// so. Does nothing once the request is over.
    pub fn cancel(&self) {
        self.shared.cancel();
    }

    fn put_or_wait(
        &self,
        input: usize,
        items: &mut dyn Iterator<Item = Payload>,
        waker: Option<&Waker>,
    ) -> Result<Accepted, FeedError> {
        let lane = self
            .shared
            .lanes
            .get(input)
            .ok_or_else(|| FeedError::NoSuchInput {
                name: input.to_string(),
            })?;
        let accepted = lane.put(items, waker)?;
        if accepted.0 > 0 {
            self.shared.ring(lane.worker);
        }
        Ok(accepted)
    }
}
