//! `cargo +nightly fuzz run protocols`: see `checks::protocols`.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

/// No search for leaks: the NBoard server's reading thread may still be ending when a run is over, and what the system keeps for it
/// until then would be reported as a leak.
#[unsafe(no_mangle)]
extern "C" fn __lsan_is_turned_off() -> i32 {
    1
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::protocols(bytes));
