//! The two ends of a streaming edge on a worker: what waits for a consumer that lives here, and
//! what a producer that lives here may still give.
//!
//! Credit is counted in items. The consumer's end owns the buffer and its capacity; the producer's
//! end may give as many items as there is room for. On one worker the producer looks at the buffer
//! itself. Between workers, the consumer grants: what it has granted, what is under way and what
//! waits are never more than the capacity. What a step gives beyond the credit stays in the
//! producer's backlog, and no further step that feeds the edge starts before that is gone: the
//! bound is soft by one step's outputs.

use std::collections::VecDeque;

use graph::{
    Connection, ConnectionId, PartitionId,
    stream::{self, StreamBuffer, Time},
};

use crate::{Payload, WorkerId};

/// The consumer's end.
pub(super) struct Incoming {
    pub(super) connection: ConnectionId,
    pub(super) buffer: StreamBuffer<Payload>,
    pub(super) from: Origin,
    /// When the worker looks at it again, if nothing arrives before.
    pub(super) timer: Option<Time>,
}

/// Where a stream comes from.
pub(super) enum Origin {
    /// The requester, by this lane.
    Lane(usize),
    /// A partition on this worker.
    Here(PartitionId),
    /// A partition on another worker, which may still give `granted` items without asking.
    There { worker: WorkerId, granted: usize },
}

impl Incoming {
    pub(super) fn new(connection: &Connection, from: Origin) -> Self {
        Self {
            connection: connection.id(),
            buffer: StreamBuffer::new(connection.stream()),
            from,
            timer: None,
        }
    }

    /// Takes an item that there is room for. One that ends what belongs together closes the
    /// chunk behind it.
    pub(super) fn push(&mut self, item: Payload) -> Result<(), stream::Error> {
        let closes = matches!(item, Payload::Last(_));
        self.buffer.push(item)?;
        if closes {
            self.buffer.flush();
        }
        Ok(())
    }

    /// The worker of the producer, where that is another one.
    pub(super) fn home(&self) -> Option<WorkerId> {
        match self.from {
            Origin::There { worker, .. } => Some(worker),
            Origin::Lane(_) | Origin::Here(_) => None,
        }
    }

    /// What the producer on another worker may be granted now. Small grants wait for more, unless
    /// the producer has nothing left.
    pub(super) fn grant(&mut self) -> usize {
        let credit = self.buffer.credit();
        let Origin::There { granted, .. } = &mut self.from else {
            return 0;
        };
        let more = credit.saturating_sub(*granted);
        if *granted > 0 && more < GRANT {
            return 0;
        }
        *granted += more;
        more
    }
}

/// Items granted at once, where the producer can wait: one message for several items.
const GRANT: usize = 8;

/// The producer's end.
pub(super) struct Outgoing {
    pub(super) connection: ConnectionId,
    pub(super) to: PartitionId,
    /// Set where the consumer lives on another worker: items that may be given without asking.
    pub(super) remote: Option<(WorkerId, usize)>,
    /// What a step gave beyond the credit.
    pub(super) backlog: VecDeque<Payload>,
    pub(super) end: StreamEnd,
}

/// How far the end of a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The producer may give more.
    Open,
    /// It is done, and its backlog is not gone yet.
    Due,
    /// The consumer's end has been told.
    Told,
}
