//! What a requester has fed into one streaming edge and no worker has taken yet.

use std::{collections::VecDeque, task::Waker};

use parking_lot::Mutex;

use super::FeedError;
use crate::{Payload, WorkerId};

/// Something that a requester fed in, in its place among the items.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arrival {
    /// One item.
    Item(Payload),
    /// What came before it is to be handed over now, however little it is.
    Flush,
}

/// How many items were taken; the rest did not fit and may be fed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted(pub usize);

/// A queue of items with a bound, filled by the requester, emptied by one worker.
pub(crate) struct Lane {
    /// The worker that takes from it.
    pub(crate) worker: WorkerId,
    /// The streaming edge that it leads to, by its place in the graph.
    pub(crate) name: std::sync::Arc<str>,
    state: Mutex<State>,
}

struct State {
    queue: VecDeque<Arrival>,
    capacity: usize,
    /// Items that may still be fed over the request's life.
    allowance: u64,
    max_items: u64,
    life: Life,
    waiting: Vec<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Open,
    /// The requester said that nothing follows.
    Ended,
    /// Nobody takes from it any more.
    Closed,
}

impl Lane {
    pub(crate) fn new(
        worker: WorkerId,
        name: std::sync::Arc<str>,
        capacity: usize,
        max_items: u64,
    ) -> Self {
        let state = State {
            queue: VecDeque::new(),
            capacity: capacity.max(1),
            allowance: max_items,
            max_items,
            life: Life::Open,
            waiting: Vec::new(),
        };
        Self {
            worker,
            name,
            state: Mutex::new(state),
        }
    }

    /// Feeds as many of the items as there is room for. Without any room, `waker` is woken once
    /// there is.
    pub(crate) fn put(
        &self,
        items: &mut dyn Iterator<Item = Payload>,
        waker: Option<&Waker>,
    ) -> Result<Accepted, FeedError> {
        let mut state = self.state.lock();
        state.check_open()?;
        let room = state.capacity.saturating_sub(state.queue.len());
        if room == 0 {
            state.wait(waker);
            return Ok(Accepted(0));
        }
        let before = state.queue.len();
        for item in items.take(room) {
            state.allowance = state.allowance.checked_sub(1).ok_or(FeedError::TooLong {
                limit: state.max_items,
            })?;
            state.queue.push_back(Arrival::Item(item));
        }
        Ok(Accepted(state.queue.len() - before))
    }

    /// Marks this place in the queue. Two marks in a row are one, so that marks need no room.
    pub(crate) fn flush(&self) -> Result<(), FeedError> {
        let mut state = self.state.lock();
        state.check_open()?;
        if state.queue.back() != Some(&Arrival::Flush) {
            state.queue.push_back(Arrival::Flush);
        }
        Ok(())
    }

    /// Nothing follows. Says whether that is news.
    pub(crate) fn end(&self) -> bool {
        let mut state = self.state.lock();
        let news = state.life == Life::Open;
        if news {
            state.life = Life::Ended;
        }
        news
    }

    /// Nobody takes from it any more: what is queued goes, and whoever waits is told.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.life = Life::Closed;
        state.queue = VecDeque::new();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Hands over up to `room` items with the marks between them. Returns whether the requester
    /// ended the lane and nothing is left in it.
    pub(crate) fn take(&self, room: usize, mut sink: impl FnMut(Arrival)) -> bool {
        let mut state = self.state.lock();
        let mut left = room;
        loop {
            match state.queue.front() {
                Some(Arrival::Item(_)) if left > 0 => left -= 1,
                Some(Arrival::Flush) => {}
                Some(Arrival::Item(_)) | None => break,
            }
            if let Some(arrival) = state.queue.pop_front() {
                sink(arrival);
            }
        }
        let over = state.life == Life::Ended && state.queue.is_empty();
        let waiting = if left < room {
            std::mem::take(&mut state.waiting)
        } else {
            Vec::new()
        };
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        over
    }

    /// Items and marks that wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.state.lock().queue.len()
    }
}

impl State {
    fn check_open(&self) -> Result<(), FeedError> {
        match self.life {
            Life::Open => Ok(()),
            Life::Ended => Err(FeedError::Ended),
            Life::Closed => Err(FeedError::Closed),
        }
    }

    fn wait(&mut self, waker: Option<&Waker>) {
        if let Some(waker) =
            waker.filter(|waker| !self.waiting.iter().any(|known| known.will_wake(waker)))
        {
            self.waiting.push(waker.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(capacity: usize) -> Lane {
        Lane::new(WorkerId(0), "text".into(), capacity, 5)
    }

    fn put(lane: &Lane, text: &str) -> Result<Accepted, FeedError> {
        lane.put(&mut text.chars().map(Payload::Char), None)
    }

    #[test]
    fn a_full_lane_takes_what_fits_and_keeps_the_order() {
        let lane = lane(3);
        assert_eq!(put(&lane, "ab"), Ok(Accepted(2)));
        assert_eq!(lane.flush(), Ok(()));
        assert_eq!(lane.flush(), Ok(()));
        assert_eq!(
            put(&lane, "cd"),
            Ok(Accepted(0)),
            "a mark counts while it is queued"
        );
        let mut taken = Vec::new();
        assert!(!lane.take(1, |arrival| taken.push(arrival)));
        assert!(!lane.take(1, |arrival| taken.push(arrival)));
        let item = |c| Arrival::Item(Payload::Char(c));
        assert_eq!(taken, [item('a'), item('b'), Arrival::Flush]);
        assert_eq!(lane.len(), 0);
    }

    #[test]
    fn an_ended_lane_is_over_once_it_is_empty() {
        let lane = lane(3);
        assert_eq!(put(&lane, "ab"), Ok(Accepted(2)));
        assert!(lane.end());
        assert!(!lane.end());
        assert_eq!(put(&lane, "c"), Err(FeedError::Ended));
        assert!(!lane.take(1, |_| ()));
        assert!(lane.take(1, |_| ()));
    }

    #[test]
    fn the_whole_input_has_a_limit() {
        let lane = lane(9);
        assert_eq!(put(&lane, "abcde"), Ok(Accepted(5)));
        assert_eq!(put(&lane, "f"), Err(FeedError::TooLong { limit: 5 }));
    }

    #[test]
    fn a_closed_lane_holds_nothing() {
        let lane = lane(3);
        assert_eq!(put(&lane, "ab"), Ok(Accepted(2)));
        lane.close();
        assert_eq!((lane.len(), put(&lane, "c")), (0, Err(FeedError::Closed)));
    }
}
