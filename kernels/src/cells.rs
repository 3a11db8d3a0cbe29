//! One buffer that several tasks write at once, each its own part.
//!
//! Always holds: the buffer is borrowed for as long as a [`Cells`] lives, so nobody else sees it
//! meanwhile. That the parts of two tasks do not overlap is the promise of whoever splits the work.

use std::marker::PhantomData;

/// A mutable slice whose parts are handed out to tasks.
pub(crate) struct Cells<'a, T> {
    start: *mut T,
    len: usize,
    owner: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Cells` is a mutable slice that is cut in pieces; a piece may go to another thread
// wherever its elements may.
#[expect(unsafe_code, reason = "tasks write parts of one buffer")]
unsafe impl<T: Send> Sync for Cells<'_, T> {}

impl<'a, T> Cells<'a, T> {
    /// Takes the buffer for as long as it lends parts.
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            owner: PhantomData,
        }
    }

    /// `count` elements from `start` on.
    ///
    /// # Safety
    /// No part that overlaps with this one is in use while this one is.
    #[expect(unsafe_code, reason = "tasks write parts of one buffer")]
    #[expect(
        clippy::mut_from_ref,
        reason = "parts do not overlap, as the caller promises"
    )]
    pub(crate) unsafe fn part(&self, start: usize, count: usize) -> &mut [T] {
        assert!(
            start <= self.len && count <= self.len - start,
            "part {start}+{count} of {}",
            self.len
        );
        // SAFETY: within the borrowed buffer, as just checked; not shared, as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), count) }
    }
}
