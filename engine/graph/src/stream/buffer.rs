//! What one request has waiting on one streaming edge.
//!
//! Items take their place when they are announced, and become visible in that order, whatever
//! the order in which their bytes arrive. A segment is what lies between two flushes; the last
//! one ends with the stream. Whatever the policy, within a segment
//!
//! - the cores of the chunks are disjoint, in order, and cover every item;
//! - a chunk is complete when it leaves: nothing is handed over and filled in later;
//! - after the final chunk, an abort or a failure, nothing follows.

use std::collections::VecDeque;
use std::sync::Arc;

use super::boundary::{Scan, Text};
use super::policy::{ChunkPolicy, Config, Overflow};
use super::{Chunk, Event, Item, Time, span, wide};

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

/// What a policy wants to hand over: items up to `to`, answering for those before `core_to`.
/// Items before `keep_from` are not needed any more.
struct Take {
    to: u64,
    core_to: u64,
    keep_from: u64,
}

/// The part of the buffer that a policy may look at.
#[derive(Clone, Copy)]
struct View {
    /// Behind the last item that a chunk may hold.
    to: u64,
    /// The segment ends there.
    complete: bool,
    /// The stream does, too.
    last: bool,
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

    /// Everything that a chunk may hold now.
    fn view(&self) -> View {
        let announced = self.announced();
        let ended = self.producer == Producer::Done && self.arrived == announced;
        let end = match self.marks.front() {
            Some(&mark) if self.arrived >= mark => Some(mark),
            Some(_) => None,
            None => ended.then_some(announced),
        };
        View {
            to: end.unwrap_or(self.arrived),
            complete: end.is_some(),
            last: ended && end == Some(announced),
        }
    }

    fn decide(&mut self, view: View, now: Time) -> Option<Take> {
        let front = self.front;
        match self.config.policy {
            ChunkPolicy::Fixed { chunk } => self.window(view, chunk, chunk),
            ChunkPolicy::SlidingWindow { window, stride } => self.window(view, window, stride),
            ChunkPolicy::LeftContext { chunk, left } if self.cursor.started => {
                self.window(view, chunk + left, chunk)
            }
            ChunkPolicy::LeftContext { chunk, left } => self.window(view, chunk, chunk - left),
            ChunkPolicy::Ramp { left, right, .. } => self.ramp(view, left, right),
            ChunkPolicy::Boundary { .. } => {
                let length = self.boundary(view, now)?;
                let to = front + wide(length);
                let (core_to, keep_from) = (to, to);
                Some(Take {
                    to,
                    core_to,
                    keep_from,
                })
            }
        }
    }

    /// `size` items, moving on by `stride`; at the end whatever is left, if some of it is fresh.
    fn window(&self, view: View, size: usize, stride: usize) -> Option<Take> {
        let full = self.front + wide(size);
        if full <= view.to && (full > self.cursor.fresh || !view.complete) {
            return Some(Take {
                to: full,
                core_to: full,
                keep_from: self.front + wide(stride),
            });
        }
        let to = view.to;
        (view.complete && to > self.cursor.fresh).then_some(Take {
            to,
            core_to: to,
            keep_from: to,
        })
    }

    fn ramp(&self, view: View, left: usize, right: usize) -> Option<Take> {
        let core_to = self.cursor.core + wide(self.ramp);
        let to = core_to + wide(right);
        let (core_to, to) = if to <= view.to {
            (core_to, to)
        } else if view.complete && view.to > self.cursor.core {
            (core_to.min(view.to), view.to)
        } else {
            return None;
        };
        let keep_from = core_to
            .saturating_sub(wide(left))
            .max(self.cursor.segment)
            .max(self.front);
        Some(Take {
            to,
            core_to,
            keep_from,
        })
    }

    /// The length of the next piece of text.
    fn boundary(&mut self, view: View, now: Time) -> Option<usize> {
        let ChunkPolicy::Boundary {
            first_min,
            min,
            max,
            max_wait,
        } = self.config.policy
        else {
            return None;
        };
        let min = if self.chunk_count == 0 {
            first_min
        } else {
            min
        };
        let items = &self.items;
        let text = Text {
            at: &|index| {
                let item = items.get(index).and_then(Option::as_ref);
                item.and_then(Item::as_char).unwrap_or('\u{FFFD}')
            },
            len: span(self.front, view.to),
            complete: view.complete,
        };
        if let Some(length) = self.scan.cut(&text, min, max) {
            return Some(length);
        }
        if !self.scan.spoken {
            self.waiting = None;
            return None;
        }
        let (since, grown) = self.waiting.unwrap_or((now, now));
        let grown = if view.to > self.seen { now } else { grown };
        self.seen = view.to;
        self.waiting = Some((since, grown));
        let wait = max_wait?;
        if now < since.after(wait) {
            return None;
        }
        let idle = now >= grown.after(wait);
        let cut = self.scan.late_cut(&text, idle);
        cut.filter(|&length| length > 0)
    }

    fn hand_over(&mut self, take: &Take, view: View) -> Chunk<T> {
        let closes_segment = view.complete && take.core_to == view.to;
        let is_final = closes_segment && view.last && !self.config.continue_after_done;
        let start = if take.to > take.core_to || take.to > self.cursor.core {
            self.front
        } else {
            take.to
        };
        let chunk = Chunk {
            start,
            fresh_from: self.cursor.fresh.min(take.to),
            core: self.cursor.core..take.core_to,
            index: self.chunk_count,
            closes_segment,
            is_final,
            items: self.copy_or_take(start, take),
        };
        self.chunk_count += 1;
        self.cursor.started = true;
        self.cursor.fresh = self.cursor.fresh.max(take.to);
        self.cursor.core = take.core_to;
        self.grow();
        self.scan = Scan::default();
        self.waiting = None;
        if closes_segment {
            self.close_segment(view.to);
        }
        self.finished = is_final;
        chunk
    }

    /// The items of a chunk: moved out where nothing later needs them, otherwise copied.
    fn copy_or_take(&mut self, start: u64, take: &Take) -> Vec<T> {
        let mut items = Vec::with_capacity(span(start, take.to));
        let gone = span(self.front, take.keep_from).min(self.items.len());
        let moved = self.items.drain(..gone);
        let held = span(start, take.to);
        if start < take.to {
            items.extend(moved.take(held).flatten());
        } else {
            drop(moved);
        }
        let copied = held - items.len();
        items.extend(self.items.iter().take(copied).flatten().cloned());
        self.front += wide(gone);
        items
    }

    fn close_segment(&mut self, end: u64) {
        if self.marks.front() == Some(&end) {
            self.marks.pop_front();
        }
        self.cursor = Cursor {
            segment: end,
            started: false,
            fresh: end,
            core: end,
        };
        let gone = span(self.front, end).min(self.items.len());
        self.items.drain(..gone);
        self.front += wide(gone);
    }

    fn grow(&mut self) {
        if let ChunkPolicy::Ramp { grow, max, .. } = self.config.policy {
            self.ramp = grow.scale_up(self.ramp).min(max);
        }
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
