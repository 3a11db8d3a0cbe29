//! Ten minutes of speech through each encoder: what is held does not grow.

#![allow(unsafe_code, reason = "an allocator that counts can't do without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use codecs::SampleRate;
use codecs::audio::{Encoder, Format};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything on to the system's allocator, and only counts beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test in this file, so that nothing else allocates beside it.
#[test]
fn ten_minutes_hold_no_more_than_a_second() {
    let source = SampleRate::HZ_22050;
    // Something that is not silence, and not the same in every codec's block.
    let half_second: Vec<f32> = (0_u16..11_025)
        .map(|n| 0.4 * (f32::from(n) * 0.05).sin() * (f32::from(n) * 0.0007).cos())
        .collect();
    let mut bytes = Vec::with_capacity(1 << 20);
    for &format in Format::ALL {
        let mut encoder = Encoder::new(format, source).unwrap();
        let mut push = |times: usize| {
            for _ in 0..times {
                bytes.clear();
                encoder.push(&half_second, &mut bytes).unwrap();
            }
            LIVE.load(Ordering::Relaxed)
        };
        let after_a_second = push(2);
        let after_ten_minutes = push(1_198);
        assert!(
            after_ten_minutes <= after_a_second + 4_096,
            "{format}: {after_a_second} bytes, then {after_ten_minutes}"
        );
    }
}
