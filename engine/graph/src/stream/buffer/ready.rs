//! What may leave a buffer now, by its policy, and how it leaves.

use super::{Cursor, Producer, StreamBuffer};
use crate::stream::boundary::{Scan, Text};
use crate::stream::policy::ChunkPolicy;
use crate::stream::{Chunk, Item, Time, span, wide};

/// What a policy wants to hand over: items up to `to`, answering for those before `core_to`.
/// Items before `keep_from` are not needed any more.
pub(super) struct Take {
    pub(super) to: u64,
    pub(super) core_to: u64,
    pub(super) keep_from: u64,
}

/// The part of the buffer that a policy may look at.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// Behind the last item that a chunk may hold.
    pub(super) to: u64,
    /// The segment ends there.
    pub(super) complete: bool,
    /// The stream does, too.
    pub(super) last: bool,
}

impl<T: Item> StreamBuffer<T> {
    /// Everything that a chunk may hold now.
    pub(super) fn view(&self) -> View {
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

    pub(super) fn decide(&mut self, view: View, now: Time) -> Option<Take> {
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

    pub(super) fn hand_over(&mut self, take: &Take, view: View) -> Chunk<T> {
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
}
