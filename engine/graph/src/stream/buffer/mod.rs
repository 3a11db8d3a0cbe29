//! What one request has waiting on one streaming edge.
//!
//! Items take their place when they are announced, and become visible in that order, whatever
//! the order in which their bytes arrive. A segment is what lies between two flushes; the last
//! one ends with the stream. Whatever the policy, within a segment
//!
//! - the cores of the chunks are disjoint, in order, and cover every item;
//! - a chunk is complete when it leaves: nothing is handed over and filled in later;
//! - after the final chunk, an abort or a failure, nothing follows.

mod ready;

use std::collections::VecDeque;
use std::sync::Arc;

use self::ready::Take;
use super::boundary::Scan;
use super::policy::{ChunkPolicy, Config, Overflow};
use super::{Event, Item, Time, span, wide};

/// Why items were not taken. The producer's doing, each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// More was announced than there is room for. Wait for credit.
    #[error("the edge has room for {credit} more items, not for {announced}")]
    Full {
        /// How many may be announced now.
        credit: usize,
        /// How many were.
        announced: usize,
    },
    /// Something was sent after the end, an abort or a failure.
    #[error("the stream has ended")]
    Ended,
    /// An item that was never announced.
    #[error("item {0} was not announced")]
    NotAnnounced(u64),
    /// An item that is here already.
    #[error("item {0} came twice")]
    Twice(u64),
}

/// How the producer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Producer {
    Open,
    Done,
    Failed(Arc<str>),
    Aborted,
}

/// Where the next chunk starts from.
#[derive(Clone, Debug, Default)]
struct Cursor {
    /// The first item of the running segment.
    segment: u64,
    /// Whether a chunk of the running segment has left.
    started: bool,
    /// The first item that no chunk held.
    fresh: u64,
    /// The first item that no chunk answered for.
    core: u64,
}

/// What one request has waiting on one streaming edge.
#[derive(Clone, Debug)]
pub struct StreamBuffer<T> {
    config: Config,
    /// The items from `front` on; `None` is announced and not here yet.
    items: VecDeque<Option<T>>,
    front: u64,
    /// Everything before this position is here.
    arrived: u64,
    cursor: Cursor,
    /// Where segments end that were flushed and have not left.
    marks: VecDeque<u64>,
    producer: Producer,
    finished: bool,
    chunk_count: u64,
    dropped: u64,
    /// Core items of the next chunk of a ramp.
    ramp: usize,
    scan: Scan,
    /// Since when text waits for its boundary, and when it last grew.
    waiting: Option<(Time, Time)>,
    seen: u64,
}

impl<T: Item> StreamBuffer<T> {
    /// An empty buffer.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let ramp = match config.policy {
            ChunkPolicy::Ramp { first, .. } => first,
            _ => 0,
        };
        Self {
            config: config.clone(),
            items: VecDeque::new(),
            front: 0,
            arrived: 0,
            cursor: Cursor::default(),
            marks: VecDeque::new(),
            producer: Producer::Open,
            finished: false,
            chunk_count: 0,
            dropped: 0,
            ramp,
            scan: Scan::default(),
            waiting: None,
            seen: 0,
        }
    }

    /// How many more items the producer may announce now.
    #[must_use]
    pub fn credit(&self) -> usize {
        match self.config.overflow {
            Overflow::Pause => self.config.capacity.saturating_sub(self.items.len()),
            Overflow::DropOldest => self.config.capacity,
        }
    }

    /// How many items wait here, context included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no item waits here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The first position that was not announced yet.
    #[must_use]
    pub fn announced(&self) -> u64 {
        self.front + wide(self.items.len())
    }

    /// The first item that no chunk answered for.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.cursor.core
    }

    /// How many items wait that no chunk has answered for.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        let waiting = self.announced().saturating_sub(self.position());
        usize::try_from(waiting).unwrap_or(usize::MAX)
    }

    /// How many items were dropped because a live input was late.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Whether the last chunk, an abort or a failure has been handed over.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    /// Reserves places for `count` items, and gives the position of the first.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] beyond the credit of an edge that pauses its producer; nothing is reserved
    /// then. [`Error::Ended`] after the end.
    pub fn announce(&mut self, count: usize) -> Result<u64, Error> {
        let late = self.producer == Producer::Done && self.config.continue_after_done;
        if self.producer != Producer::Open && !late {
            return Err(Error::Ended);
        }
        let credit = self.credit();
        if count > credit {
            let announced = count;
            return Err(Error::Full { credit, announced });
        }
        let over = (self.items.len() + count).saturating_sub(self.config.capacity);
        self.drop_oldest(over);
        let first = self.announced();
        self.items.extend((0..count).map(|_| None));
        Ok(first)
    }

    /// Fills an announced place.
    ///
    /// # Errors
    ///
    /// [`Error::NotAnnounced`] and [`Error::Twice`]. An item that was dropped meanwhile, or whose
    /// stream was aborted, is no error.
    pub fn put(&mut self, position: u64, item: T) -> Result<(), Error> {
        if position < self.front || self.finished || self.producer == Producer::Aborted {
            return Ok(());
        }
        match self.items.get_mut(span(self.front, position)) {
            None => return Err(Error::NotAnnounced(position)),
            Some(Some(_)) => return Err(Error::Twice(position)),
            Some(place) => *place = Some(item),
        }
        self.advance_arrived();
        Ok(())
    }

    /// Announces an item and fills its place.
    ///
    /// # Errors
    ///
    /// Those of [`announce`](Self::announce).
    pub fn push(&mut self, item: T) -> Result<u64, Error> {
        let position = self.announce(1)?;
        self.put(position, item)?;
        Ok(position)
    }

    /// Announces some items and fills their places, all or none.
    ///
    /// # Errors
    ///
    /// Those of [`announce`](Self::announce).
    pub fn extend<I>(&mut self, items: I) -> Result<(), Error>
    where
        I: IntoIterator<Item = T>,
        I::IntoIter: ExactSizeIterator,
    {
        let items = items.into_iter();
        let first = self.announce(items.len())?;
        for (position, item) in (first..).zip(items) {
            self.put(position, item)?;
        }
        Ok(())
    }

    /// Closes the segment: what was announced so far leaves without waiting for more.
    pub fn flush(&mut self) {
        let here = self.announced();
        let opened = self.marks.back().copied().unwrap_or(self.cursor.segment);
        let is_empty = here == opened && (!self.marks.is_empty() || !self.cursor.started);
        if self.producer == Producer::Open && !is_empty {
            self.marks.push_back(here);
        }
    }

    /// The producer is done. What was announced still leaves.
    pub fn end(&mut self) {
        if self.producer == Producer::Open {
            self.producer = Producer::Done;
        }
    }

    /// The producer gave up on purpose: what waits is dropped.
    pub fn abort(&mut self) {
        if !self.finished && self.producer != Producer::Aborted {
            self.producer = Producer::Aborted;
            self.forget_items();
        }
    }

    /// The producer failed: chunks that are complete still leave, then the failure.
    pub fn error(&mut self, cause: impl Into<Arc<str>>) {
        if matches!(self.producer, Producer::Open | Producer::Done) {
            self.producer = Producer::Failed(cause.into());
        }
    }

    /// The next chunk or signal, if there is one now.
    pub fn poll(&mut self, now: Time) -> Option<Event<T>> {
        if self.finished {
            return None;
        }
        if self.producer == Producer::Aborted {
            self.finished = true;
            return Some(Event::Aborted);
        }
        let view = self.view();
        if let Some(take) = self.decide(view, now) {
            return Some(Event::Chunk(self.hand_over(&take, view)));
        }
        if view.complete {
            let to = self.cursor.core;
            let (core_to, keep_from) = (to, to);
            let marker = Take {
                to,
                core_to,
                keep_from,
            };
            return Some(Event::Chunk(self.hand_over(&marker, view)));
        }
        if let Producer::Failed(cause) = &self.producer {
            let cause = Arc::clone(cause);
            self.finished = true;
            self.forget_items();
            return Some(Event::Failed(cause));
        }
        None
    }

    /// When [`poll`](Self::poll) may have something without any further input.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        let ChunkPolicy::Boundary {
            max_wait: Some(wait),
            ..
        } = self.config.policy
        else {
            return None;
        };
        let (since, grown) = self.waiting?;
        let due = since.after(wait);
        Some(if self.scan.lone_word {
            due.max(grown.after(wait))
        } else {
            due
        })
    }

    fn advance_arrived(&mut self) {
        self.arrived = self.arrived.max(self.front);
        while let Some(Some(_)) = self.items.get(span(self.front, self.arrived)) {
            self.arrived += 1;
        }
    }

    /// Makes room: what follows the gap starts without context.
    fn drop_oldest(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let count = count.min(self.items.len());
        self.items.drain(..count);
        self.front += wide(count);
        self.dropped += self.front.saturating_sub(self.cursor.core);
        self.cursor.segment = self.cursor.segment.max(self.front);
        self.cursor.started = false;
        self.cursor.core = self.cursor.core.max(self.front);
        self.cursor.fresh = self.cursor.fresh.max(self.front);
        self.marks.retain(|&mark| mark > self.front);
        self.scan = Scan::default();
        self.advance_arrived();
    }

    fn forget_items(&mut self) {
        self.front = self.announced();
        self.arrived = self.front;
        self.items.clear();
        self.marks.clear();
        self.waiting = None;
    }
}
