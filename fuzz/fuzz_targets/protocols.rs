//! `cargo +nightly fuzz run protocols`: see `checks::protocols`.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::protocols(bytes));
