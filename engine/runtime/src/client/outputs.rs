//! The way out: one reader, as a stream for tasks or by blocking.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;

use super::{Emitted, End, Shared, outlet::Taken};
use crate::RequestId;

/// What a requester reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A node emitted something.
    Emitted(Emitted),
    /// The request is over; nothing follows.
    End(End),
}

/// What a request emits, in order, ended by exactly one [`Event::End`]. Dropping it cancels the
/// request.
pub struct Outputs {
    shared: Arc<Shared>,
}

impl Outputs {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The request that it belongs to.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.shared.id
    }

    /// What has arrived and was not read yet.
    pub fn try_next(&mut self) -> Option<Event> {
        let taken = self.shared.outlet.take(None);
        self.event(taken)
    }

    /// The next event, waiting for it up to `timeout` on this thread; nothing after that, and
    /// nothing after the end.
    pub fn next_within(&mut self, timeout: Duration) -> Option<Event> {
        let taken = self.shared.outlet.take_within(timeout);
        self.event(taken)
    }

    fn event(&self, taken: Taken) -> Option<Event> {
        match taken {
            Taken::Item(item, waiting) => {
                self.shared.ring_all(waiting);
                Some(Event::Emitted(item))
            }
            Taken::End(end) => Some(Event::End(end)),
            Taken::Empty | Taken::Over => None,
        }
    }
}

impl Stream for Outputs {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        match self.shared.outlet.take(Some(context.waker())) {
            Taken::Empty => Poll::Pending,
            taken => Poll::Ready(self.event(taken)),
        }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.shared.cancel();
    }
}
