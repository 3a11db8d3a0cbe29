//! What the processor has, asked once, and the one way to compile a plain loop twice.
//!
//! Always holds: a loop under [`vectorised!`] says the same in both of its compilations, bit for
//! bit: the compiler neither reorders sums nor fuses a product with a sum by itself.

/// AVX2 with fused multiply-add and half-precision conversion: every x86 server since 2015.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
}

/// `a * b + c`, rounded once where the machine this was compiled for can do that in one
/// instruction, and twice elsewhere.
#[inline(always)]
pub(crate) fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        a.mul_add(b, c)
    } else {
        a * b + c
    }
}

/// Asks for memory that is needed soon: what a processor foresees by itself ends with each page of
/// 4 KiB. Any address will do, even one that there is no memory at.
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T) {
    for line in (0..size_of::<T>()).step_by(64) {
        let place = place.cast::<i8>().wrapping_add(line);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint reads nothing, and SSE is a part of x86-64.
        #[expect(unsafe_code, reason = "a hint to the processor")]
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(place);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = place;
    }
}

/// Compiles a function once for any processor and once for AVX2, and picks when it is called.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            if $crate::cpu::has_avx2() {
                #[target_feature(enable = "avx2,fma,f16c")]
                fn wide($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                // SAFETY: the instructions are there: the line above asked.
                #[expect(unsafe_code, reason = "instructions that a processor may lack")]
                return unsafe { wide($($arg),*) };
            }
            body($($arg),*)
        }
    };
}
pub(crate) use vectorised;
