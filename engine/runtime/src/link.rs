//! A bounded queue between threads, read in whole.
//!
//! # Why nothing waits on a full link, and nothing can deadlock
//!
//! A sender never waits: [`Link::send`] either takes the message or gives it back. It is never
//! given back, either, because the protocol grants every message beforehand:
//!
//! - To a worker, each open request has at most one `Open`, one `Close` and one bell under way,
//!   one `Start` or `Finish` for each partition, one end for each connection, and for each
//!   connection as many items and credits as its capacity (plus what one step may put).
//! - The number of open requests is limited at submission.
//!
//! So the sum of the grants is a bound on the length, known when the link is made, and it is the
//! link's capacity. A thread that waits does so only on its own empty link (or for a deadline),
//! and holds nothing while it does; a cycle of threads that wait for each other cannot form,
//! whichever links are full. Should the protocol be broken, `send` fails and the request that was
//! concerned fails with it, rather than the queue growing.

use std::{collections::VecDeque, time::Duration};

use parking_lot::{Condvar, Mutex};

/// A queue with a bound: many senders, one reader that takes everything at once.
pub(crate) struct Link<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
    capacity: usize,
}

struct State<T> {
    queue: VecDeque<T>,
    closed: bool,
    /// The longest that it ever was.
    longest: usize,
    reading: bool,
}

/// A message that was not taken: more was sent than was granted, or the reader is gone.
#[derive(Debug)]
pub(crate) struct Refused<T>(pub(crate) T);

impl<T> Link<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        let state = State {
            queue: VecDeque::new(),
            closed: false,
            longest: 0,
            reading: false,
        };
        Self {
            state: Mutex::new(state),
            arrived: Condvar::new(),
            capacity,
        }
    }

    /// Puts a message behind the others and wakes the reader.
    pub(crate) fn send(&self, message: T) -> Result<(), Refused<T>> {
        let mut state = self.state.lock();
        if state.closed || state.queue.len() >= self.capacity {
            return Err(Refused(message));
        }
        state.queue.push_back(message);
        state.longest = state.longest.max(state.queue.len());
        let waiting = state.reading;
        drop(state);
        if waiting {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Moves all messages behind those in `into`, which is best empty so that the two swap.
    pub(crate) fn take(&self, into: &mut VecDeque<T>) {
        self.state.lock().move_to(into);
    }

    /// Like [`take`](Self::take), but waits for a message up to `timeout`, or as long as it takes.
    /// Returns whether the link is still open or still held something.
    pub(crate) fn wait(&self, into: &mut VecDeque<T>, timeout: Option<Duration>) -> bool {
        let mut state = self.state.lock();
        state.reading = true;
        let idle = |state: &mut State<T>| state.queue.is_empty() && !state.closed;
        match timeout {
            Some(timeout) => {
                self.arrived.wait_while_for(&mut state, idle, timeout);
            }
            None => self.arrived.wait_while(&mut state, idle),
        }
        state.reading = false;
        state.move_to(into);
        !state.closed || !into.is_empty()
    }

    /// Refuses further messages and wakes the reader for good.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.arrived.notify_all();
    }

    /// Whether it refuses messages for good.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// The longest that the queue ever was.
    pub(crate) fn longest(&self) -> usize {
        self.state.lock().longest
    }
}

impl<T> State<T> {
    fn move_to(&mut self, into: &mut VecDeque<T>) {
        if into.is_empty() {
            std::mem::swap(into, &mut self.queue);
        } else {
            into.append(&mut self.queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_link_gives_the_message_back() {
        let link = Link::new(2);
        assert!(link.send(1).is_ok() && link.send(2).is_ok());
        assert!(matches!(link.send(3), Err(Refused(3))));
        let mut taken = VecDeque::new();
        link.take(&mut taken);
        assert_eq!((taken, link.longest()), (VecDeque::from([1, 2]), 2));
        assert!(link.send(3).is_ok());
    }

    #[test]
    fn a_closed_link_hands_over_what_it_held_and_then_ends() {
        let link = Link::new(2);
        assert!(link.send(1).is_ok());
        link.close();
        assert!(matches!(link.send(2), Err(Refused(2))));
        let mut taken = VecDeque::new();
        assert!(link.wait(&mut taken, None));
        taken.clear();
        assert!(!link.wait(&mut taken, None));
    }

    #[test]
    fn a_reader_is_woken_by_a_message() {
        let link = std::sync::Arc::new(Link::new(1));
        let reader = std::thread::spawn({
            let link = std::sync::Arc::clone(&link);
            move || {
                let mut taken = VecDeque::new();
                link.wait(&mut taken, None);
                taken
            }
        });
        assert!(link.send(7).is_ok());
        assert_eq!(reader.join().unwrap(), [7]);
    }
}
