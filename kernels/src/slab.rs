//! Zeroed memory straight from the system, in large pages where it has them.
//!
//! Keys and values of a sequence lie all over the store. With pages of 4 KiB nearly every access
//! would first look up where its page is.

use std::fmt;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

use crate::matrix::Floats;

/// Panels, zero at first. The system gives the memory when it is first written.
pub(crate) struct Slab {
    map: MmapMut,
    len: usize,
}

impl Slab {
    /// None if the system refuses so much.
    pub(crate) fn new(len: usize) -> Option<Self> {
        let map = MmapMut::map_anon(len.checked_mul(size_of::<Floats>())?).ok()?;
        // A wish: without it the memory is slower, not wrong.
        #[cfg(target_os = "linux")]
        drop(map.advise(memmap2::Advice::HugePage));
        Some(Self { map, len })
    }
}

impl Deref for Slab {
    type Target = [Floats];

    fn deref(&self) -> &[Floats] {
        // SAFETY: the map is page-aligned, holds `len` panels, and any bits are numbers.
        #[expect(unsafe_code, reason = "memory from the system has no type")]
        unsafe {
            std::slice::from_raw_parts(self.map.as_ptr().cast(), self.len)
        }
    }
}

impl DerefMut for Slab {
    fn deref_mut(&mut self) -> &mut [Floats] {
        // SAFETY: as above, and borrowed mutably.
        #[expect(unsafe_code, reason = "memory from the system has no type")]
        unsafe {
            std::slice::from_raw_parts_mut(self.map.as_mut_ptr().cast(), self.len)
        }
    }
}

impl fmt::Debug for Slab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slab({} panels)", self.len)
    }
}
