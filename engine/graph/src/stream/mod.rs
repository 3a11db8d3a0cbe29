//! Streaming edges: how items that arrive one by one become chunks.
//!
//! A [`ChunkPolicy`] says when a chunk leaves and what it holds; a [`StreamBuffer`] is what one
//! request has waiting on one edge. Neither knows a clock: [`Time`] is an argument.
//!
//! ```
//! use graph::stream::{ChunkPolicy, Config, Event, StreamBuffer, Time};
//!
//! let config = Config::new(ChunkPolicy::Fixed { chunk: 2 });
//! let mut buffer = StreamBuffer::new(&config);
//! for item in ["a", "b", "c"] {
//!     buffer.push(item)?;
//! }
//! buffer.end();
//! let mut chunks = Vec::new();
//! while let Some(Event::Chunk(chunk)) = buffer.poll(Time::ZERO) {
//!     chunks.push((chunk.items, chunk.is_final));
//! }
//! assert_eq!(chunks, [(vec!["a", "b"], false), (vec!["c"], true)]);
//! # Ok::<(), graph::stream::Error>(())
//! ```

mod boundary;
mod buffer;
mod policy;

pub use self::buffer::{Error, StreamBuffer};
pub use self::policy::{ChunkPolicy, Config, Overflow, Unsound};

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A moment, in nanoseconds since a start that the driver chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The start.
    pub const ZERO: Self = Self(0);

    /// The moment this many nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// This moment and some time, saturating.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)),
        )
    }

    /// The time from `earlier` until this moment; zero when it lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// What a streaming edge counts. On an edge with a boundary policy, an item is a character.
pub trait Item: Clone {
    /// The character, where the item is one.
    fn as_char(&self) -> Option<char> {
        None
    }
}

impl Item for char {
    fn as_char(&self) -> Option<char> {
        Some(*self)
    }
}

macro_rules! plain_items {
    ($($ty:ty),* $(,)?) => { $(impl Item for $ty {})* };
}

plain_items!(
    (),
    bool,
    u8,
    u16,
    u32,
    u64,
    usize,
    i8,
    i16,
    i32,
    i64,
    f32,
    f64,
    String,
    &'static str,
);

impl<T> Item for Vec<T> where T: Clone {}
impl<T: ?Sized> Item for Arc<T> {}

/// Items handed over together.
///
/// `start..start + items.len()` are the positions of the items on the edge. Every item is in the
/// [`core`](Self::core) of exactly one chunk, in order: a consumer that turns each chunk's core
/// into output gives everything once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<T> {
    /// The items, context included.
    pub items: Vec<T>,
    /// The position of the first item on the edge.
    pub start: u64,
    /// The position of the first item that no earlier chunk held; the end of this chunk when it
    /// brings nothing new.
    pub fresh_from: u64,
    /// The items that this chunk answers for. What lies before it is left context, what lies
    /// behind it is right context.
    pub core: Range<u64>,
    /// How many chunks came before on this edge.
    pub index: u64,
    /// Everything announced before a flush, or before the end, has now left. The next chunk, if
    /// any, holds no context from this one or earlier.
    pub closes_segment: bool,
    /// No chunk follows.
    pub is_final: bool,
}

impl<T> Chunk<T> {
    /// How many items at the front are left context.
    #[must_use]
    pub fn left_context(&self) -> usize {
        span(self.start, self.core.start)
    }

    /// How many items at the back are right context.
    #[must_use]
    pub fn right_context(&self) -> usize {
        self.items.len() - self.left_context() - span(self.core.start, self.core.end)
    }

    /// The items that this chunk answers for.
    #[must_use]
    pub fn core_items(&self) -> &[T] {
        let from = self.left_context().min(self.items.len());
        let to = self.items.len() - self.right_context();
        self.items.get(from..to).unwrap_or_default()
    }
}

impl<T: Item> Chunk<T> {
    /// The characters of the core.
    #[must_use]
    pub fn text(&self) -> String {
        self.core_items().iter().filter_map(Item::as_char).collect()
    }
}

/// What a consumer finds on a streaming edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<T> {
    /// Items, or the end marker.
    Chunk(Chunk<T>),
    /// The producer gave up on purpose. Nothing follows.
    Aborted,
    /// The producer failed, for this reason. Nothing follows; it is not a normal end.
    Failed(Arc<str>),
}

/// The distance between two positions, as a count.
fn span(from: u64, to: u64) -> usize {
    usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX)
}

/// A count, as a distance between two positions.
fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
