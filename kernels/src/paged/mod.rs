//! Attention over keys and values that lie in pages.
//!
//! A sequence does not own a stretch of memory but a list of pages of a few tokens each, which may
//! be shared with others. Which page belongs to whom is not known here; [`Store`] is the memory and
//! [`attend`] is the arithmetic.
//!
//! Always holds: what a row of queries gets depends on its own keys and values alone, and on the
//! order of its positions: not on which pages hold them, how large pages are, which other rows
//! there are, or how many threads.

mod attend;
mod store;

pub use attend::{Queries, Row, attend};
pub use store::{Shape, Store};
