//! Hints to the memory system.
#![allow(unsafe_code)] // Hints to processor and system, which change no contents but count as unsafe.

/// Prefetches into the cache what is at an address and will soon be read. Any address will do.
#[inline]
pub(crate) fn prefetch<T>(address: *const T) {
    // SAFETY: every x86-64 processor has the instruction. It changes nothing but the cache, and an invalid address causes no fault.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for huge pages, so that lookups in a large table cause fewer TLB misses. Must be called before anything is written.
#[cfg(target_os = "linux")]
pub(crate) fn prefer_huge_pages<T>(memory: &mut [T]) {
    use rustix::mm::{Advice, madvise};

    const HUGE_PAGE: usize = 1 << 21;
    let start = memory.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(HUGE_PAGE).min(size_of_val(memory));
    let length = (size_of_val(memory) - before) / HUGE_PAGE * HUGE_PAGE;
    if length == 0 {
        return;
    }
    // SAFETY: whole pages within the slice; the advice changes no contents.
    let advised = unsafe { madvise(start.add(before).cast(), length, Advice::LinuxHugepage) };
    // Without huge pages the program is only slower.
    advised.ok();
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn prefer_huge_pages<T>(_: &mut [T]) {}
