//! Hints to the memory system.
#![allow(unsafe_code)] // One hint to the processor, which the standard library counts as unsafe.

/// Has the beginning of a value that is soon to be read fetched into the cache.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    // SAFETY: every x86-64 processor has the instruction, and it changes nothing but the cache.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
