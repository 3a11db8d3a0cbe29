//! What a request has emitted and its requester has not taken yet.

use std::{collections::VecDeque, sync::Arc, task::Waker, time::Duration};

use graph::{Modality, stream::Time};
use parking_lot::{Condvar, Mutex};

use super::playout::Playout;
use crate::{Error, Payload, Tokens, WorkerId};

/// Something that a node emitted to the requester.
#[derive(Clone, Debug, PartialEq)]
pub struct Emitted {
    /// The port that it left by, by its name.
    pub port: Arc<str>,
    /// What it is to the requester.
    pub modality: Modality,
    /// What it is.
    pub payload: Payload,
    /// When the model handed it over.
    pub at: Time,
}

/// Something emitted, and how long it sounds; zero where it makes no sound.
struct Queued {
    item: Emitted,
    audio: Duration,
}

/// What a finished request has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Items that the requester fed in and the model took.
    pub input_items: u64,
    /// Items that were emitted.
    pub output_items: u64,
    /// Tokens that a language model has read and written, as its nodes have counted them.
    pub tokens: Tokens,
    /// Steps that the request was a member of.
    pub steps: u64,
    /// When the first of them started.
    pub first_step_at: Option<Time>,
    /// When the last of them ended.
    pub last_step_at: Option<Time>,
    /// Why the model's nodes say that it ended, where they have said so.
    pub(crate) finish: Option<Finish>,
    /// Time of its steps, that of a batch divided among its members.
    pub busy: Duration,
}

impl Usage {
    /// Adds what another worker has seen of the same request.
    pub(crate) fn add(&mut self, other: &Self) {
        self.input_items += other.input_items;
        self.output_items += other.output_items;
        self.tokens.add(other.tokens);
        self.steps += other.steps;
        self.first_step_at = [self.first_step_at, other.first_step_at]
            .into_iter()
            .flatten()
            .min();
        self.last_step_at = self.last_step_at.max(other.last_step_at);
        self.finish = self.finish.or(other.finish);
        self.busy += other.busy;
    }
}

/// Why a request that did not fail came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model had nothing more to give.
    Stop,
    /// The answer was cut off: the request has had as many steps as a request may have, or a
    /// language model has written as many tokens as it was to.
    Length,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Why, where it did not fail.
    pub finish: Finish,
    /// What it used.
    pub usage: Usage,
    /// Why it ended early, where it did.
    pub error: Option<Error>,
    /// When it ended.
    pub at: Time,
}

/// A queue of outputs with a bound, filled by workers, emptied by one requester.
///
/// The bound is soft by what one step puts: a step starts only where there is room, and whatever
/// it puts then is taken. The end is kept apart and always has its place.
pub(crate) struct Outlet {
    state: Mutex<State>,
    arrived: Condvar,
    capacity: usize,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Queued>,
    playout: Playout,
    end: Option<End>,
    /// The end was set; nothing is taken in any more.
    ended: bool,
    waker: Option<Waker>,
    /// Workers that wait for room, a bit each.
    waiting: u64,
}

/// What a requester found when it looked.
pub(crate) enum Taken {
    /// An item, and the workers that waited for its room.
    Item(Emitted, u64),
    End(End),
    /// Nothing yet.
    Empty,
    /// The end was taken before.
    Over,
}

impl Outlet {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            state: Mutex::default(),
            arrived: Condvar::new(),
            capacity: capacity.max(1),
        }
    }

    /// Whether a step that emits may start. Where it may not, the worker is rung once it may.
    pub(crate) fn has_room(&self, worker: WorkerId) -> bool {
        let mut state = self.state.lock();
        let room = state.queue.len() < self.capacity;
        if !room {
            state.waiting |= worker.bit();
        }
        room
    }

    /// Hands an item to the requester, which sounds for so long; drops it after the end. Returns by
    /// how many nanoseconds audio came before the listener ran dry, negative where it came after;
    /// none for the first, and for what makes no sound.
    pub(crate) fn emit(&self, item: Emitted, audio: Duration) -> Option<i64> {
        let mut state = self.state.lock();
        if state.ended {
            return None;
        }
        let slack = (!audio.is_zero())
            .then(|| state.playout.give(item.at, audio))
            .flatten();
        state.queue.push_back(Queued { item, audio });
        self.wake(state);
        slack
    }

    /// When the listener runs dry, or ran; none before the first audio.
    pub(crate) fn dry_at(&self, now: Time) -> Option<Time> {
        self.state.lock().playout.dry_at(now)
    }

    /// All audio that was emitted.
    pub(crate) fn audio(&self) -> Duration {
        self.state.lock().playout.given()
    }

    /// Sets the end, after all that was emitted; a cancelled or failed request's outputs are
    /// dropped so that the end is what the requester sees next. Only the first end counts.
    pub(crate) fn end(&self, end: End) {
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        if end.error == Some(Error::Cancelled) {
            state.queue = VecDeque::new();
        }
        state.ended = true;
        state.end = Some(end);
        self.wake(state);
    }

    pub(crate) fn ended(&self) -> bool {
        self.state.lock().ended
    }

    /// Takes what comes next; registers the waker where nothing is there yet.
    pub(crate) fn take(&self, now: impl FnOnce() -> Time, waker: Option<&Waker>) -> Taken {
        let mut state = self.state.lock();
        let taken = state.take(now);
        if let (Taken::Empty, Some(waker)) = (&taken, waker) {
            match &mut state.waker {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
        taken
    }

    /// Takes what comes next, waiting for it up to `timeout`.
    pub(crate) fn take_within(&self, now: impl FnOnce() -> Time, timeout: Duration) -> Taken {
        let mut state = self.state.lock();
        if state.queue.is_empty() && !state.ended {
            self.arrived.wait_while_for(
                &mut state,
                |state| state.queue.is_empty() && !state.ended,
                timeout,
            );
        }
        state.take(now)
    }

    fn wake(&self, mut state: parking_lot::MutexGuard<'_, State>) {
        let waker = state.waker.take();
        drop(state);
        self.arrived.notify_one();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl State {
    fn take(&mut self, now: impl FnOnce() -> Time) -> Taken {
        if let Some(Queued { item, audio }) = self.queue.pop_front() {
            if !audio.is_zero() {
                self.playout.take(now(), audio);
            }
            return Taken::Item(item, std::mem::take(&mut self.waiting));
        }
        match (self.end.take(), self.ended) {
            (Some(end), _) => Taken::End(end),
            (None, true) => Taken::Over,
            (None, false) => Taken::Empty,
        }
    }
}
