//! Zeroed memory straight from the system, in large pages where it has them.
//!
//! Keys and values of a sequence lie all over the store. With pages of 4 KiB nearly every access
//! would first look up where its page is.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

use crate::matrix::{F16, Floats};

/// Any bits are one, and zeros too.
pub(crate) trait Plain: Copy {}
impl Plain for Floats {}
impl Plain for F16 {}

/// Panels, zero at first. The system gives the memory when it is first written.
pub(crate) struct Slab<T> {
    map: MmapMut,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Plain> Slab<T> {
    /// None if the system refuses so much.
    pub(crate) fn new(len: usize) -> Option<Self> {
        let map = MmapMut::map_anon(len.checked_mul(size_of::<T>())?).ok()?;
        // A wish: without it the memory is slower, not wrong.
        #[cfg(target_os = "linux")]
        drop(map.advise(memmap2::Advice::HugePage));
        Some(Self {
            map,
            len,
            kind: PhantomData,
        })
    }
}

impl<T: Plain> Deref for Slab<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the map is page-aligned, holds `len` panels, and any bits are some.
        #[expect(unsafe_code, reason = "memory from the system has no type")]
        unsafe {
            std::slice::from_raw_parts(self.map.as_ptr().cast(), self.len)
        }
    }
}

impl<T: Plain> DerefMut for Slab<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed mutably.
        #[expect(unsafe_code, reason = "memory from the system has no type")]
        unsafe {
            std::slice::from_raw_parts_mut(self.map.as_mut_ptr().cast(), self.len)
        }
    }
}

impl<T> fmt::Debug for Slab<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slab({} panels)", self.len)
    }
}
