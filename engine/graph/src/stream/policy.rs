//! When a chunk is ready, and what it holds.
//!
//! | policy | a chunk leaves when | it holds | the next one starts |
//! | --- | --- | --- | --- |
//! | `Fixed` | `chunk` items wait | these | behind them |
//! | `SlidingWindow` | `window` items wait | these | `stride` items on |
//! | `LeftContext` | `chunk` fresh items wait | up to `left` old ones and these | `left` items before the end |
//! | `Ramp` | a growing number of items and `right` more wait | up to `left` old ones, these, and a look ahead | `left` items before the core's end |
//! | `Boundary` | a sentence or, past `min`, a clause is complete | its characters | behind it |
//!
//! At a flush and at the end, what is left leaves as a shorter chunk.

use std::time::Duration;

use crate::payload::Ratio;

/// How far a boundary policy may have to look past a place before it knows whether to cut there:
/// a few closing marks, white space, and the longest word that sentences start with.
pub(super) const LOOK_AHEAD: usize = 24;

/// The rule for when and how many items leave together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkPolicy {
    /// Chunks of one size.
    Fixed {
        /// Items in a chunk, at least 1.
        chunk: usize,
    },
    /// Overlapping windows.
    SlidingWindow {
        /// Items in a chunk.
        window: usize,
        /// Items from one start to the next: `1 <= stride <= window`.
        stride: usize,
    },
    /// Chunks preceded by items given before, to warm up.
    LeftContext {
        /// Fresh items in a chunk, at least 1.
        chunk: usize,
        /// Items given again: `0 <= left <= chunk`.
        left: usize,
    },
    /// Chunks that grow: a small first one for a quick start, large ones for less overhead.
    Ramp {
        /// Core items of the first chunk, at least 1.
        first: usize,
        /// By how much each core is larger than the one before, at least 1.
        grow: Ratio,
        /// The most core items, at least `first`.
        max: usize,
        /// Items before the core that are given again.
        left: usize,
        /// Items behind the core that are given early, and again.
        right: usize,
    },
    /// Text, cut where a reader would breathe.
    Boundary {
        /// The fewest characters of the first piece that a clause may end.
        first_min: usize,
        /// The fewest characters of a later piece that a clause may end. A sentence may be
        /// shorter.
        min: usize,
        /// The most characters of a piece; then it is cut at the last space.
        max: usize,
        /// How long a character may wait for its piece to be complete.
        max_wait: Option<Duration>,
    },
}

impl ChunkPolicy {
    /// A growing policy without context.
    #[must_use]
    pub const fn ramp(first: usize, grow: Ratio, max: usize) -> Self {
        Self::Ramp {
            first,
            grow,
            max,
            left: 0,
            right: 0,
        }
    }

    /// The name as drawings show it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fixed { .. } => "fixed",
            Self::SlidingWindow { .. } => "sliding window",
            Self::LeftContext { .. } => "left context",
            Self::Ramp { .. } => "ramp",
            Self::Boundary { .. } => "boundary",
        }
    }

    /// How many items may have to wait at once before a chunk leaves: the least capacity.
    #[must_use]
    pub fn needs(&self) -> usize {
        match *self {
            Self::Fixed { chunk } => chunk,
            Self::SlidingWindow { window, .. } => window,
            Self::LeftContext { chunk, left } => chunk.saturating_add(left),
            Self::Ramp {
                max, left, right, ..
            } => max.saturating_add(left).saturating_add(right),
            Self::Boundary { max, .. } => max.saturating_add(1 + LOOK_AHEAD),
        }
    }

    /// What is wrong with the parameters, if anything.
    ///
    /// # Errors
    ///
    /// The first bound that does not hold.
    pub fn check(&self) -> Result<(), Unsound> {
        let rules: &[(bool, &'static str)] = match *self {
            Self::Fixed { chunk } => &[(chunk >= 1, "1 <= chunk")],
            Self::SlidingWindow { window, stride } => {
                &[(1 <= stride && stride <= window, "1 <= stride <= window")]
            }
            Self::LeftContext { chunk, left } => {
                &[(chunk >= 1, "1 <= chunk"), (left <= chunk, "left <= chunk")]
            }
            Self::Ramp {
                first, grow, max, ..
            } => &[
                (1 <= first && first <= max, "1 <= first <= max"),
                (grow.numerator() >= grow.denominator(), "1 <= grow"),
            ],
            Self::Boundary {
                first_min,
                min,
                max,
                max_wait,
            } => &[
                (first_min <= min, "first_min <= min"),
                (1 <= max && min <= max, "min <= max, 1 <= max"),
                (max_wait != Some(Duration::ZERO), "0 < max_wait"),
            ],
        };
        match rules.iter().find(|(holds, _)| !holds) {
            Some(&(_, rule)) => Err(Unsound {
                policy: self.name(),
                rule,
            }),
            None => Ok(()),
        }
    }
}

/// A bound on a policy's parameters that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {policy} policy needs {rule}")]
pub struct Unsound {
    /// The policy's name.
    pub policy: &'static str,
    /// What must hold.
    pub rule: &'static str,
}

/// What happens when more is announced than an edge holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overflow {
    /// The producer pauses: it announces no more than its credit, and more is refused.
    #[default]
    Pause,
    /// The oldest items are dropped: for live inputs, where late is worse than lost.
    DropOldest,
}

/// All that an edge needs to know about its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// When a chunk is ready.
    pub policy: ChunkPolicy,
    /// The most items that may wait, context included; at least [`ChunkPolicy::needs`].
    pub capacity: usize,
    /// What happens beyond.
    pub overflow: Overflow,
    /// After the end, give empty chunks for ever and never a final one: the consumer ends by its
    /// own logic.
    pub continue_after_done: bool,
}

impl Config {
    /// A policy with a capacity of four times what it needs, and at least 64 items.
    #[must_use]
    pub fn new(policy: ChunkPolicy) -> Self {
        Self {
            capacity: policy.needs().saturating_mul(4).max(64),
            policy,
            overflow: Overflow::Pause,
            continue_after_done: false,
        }
    }

    /// With room for this many items.
    #[must_use]
    pub fn capacity(mut self, items: usize) -> Self {
        self.capacity = items;
        self
    }

    /// Dropping the oldest items when full.
    #[must_use]
    pub fn drop_oldest(mut self) -> Self {
        self.overflow = Overflow::DropOldest;
        self
    }

    /// Giving empty chunks for ever after the end.
    #[must_use]
    pub fn continue_after_done(mut self) -> Self {
        self.continue_after_done = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_does_not_hold_is_named() {
        let check = |policy: ChunkPolicy, expected: Option<&'static str>| {
            assert_eq!(policy.check().err().map(|unsound| unsound.rule), expected);
        };
        let grow = Ratio::new(3, 2).unwrap();
        check(ChunkPolicy::Fixed { chunk: 1 }, None);
        check(ChunkPolicy::Fixed { chunk: 0 }, Some("1 <= chunk"));
        for (window, stride, sound) in [(4, 4, true), (4, 5, false), (4, 0, false)] {
            check(
                ChunkPolicy::SlidingWindow { window, stride },
                (!sound).then_some("1 <= stride <= window"),
            );
        }
        check(ChunkPolicy::LeftContext { chunk: 4, left: 4 }, None);
        check(
            ChunkPolicy::LeftContext { chunk: 4, left: 5 },
            Some("left <= chunk"),
        );
        check(ChunkPolicy::ramp(8, grow, 8), None);
        check(ChunkPolicy::ramp(9, grow, 8), Some("1 <= first <= max"));
        check(
            ChunkPolicy::ramp(1, Ratio::new(1, 2).unwrap(), 8),
            Some("1 <= grow"),
        );
        let boundary = |first_min, min, max| ChunkPolicy::Boundary {
            first_min,
            min,
            max,
            max_wait: None,
        };
        check(boundary(10, 40, 200), None);
        check(boundary(50, 40, 200), Some("first_min <= min"));
        check(boundary(10, 40, 30), Some("min <= max, 1 <= max"));
    }
}
