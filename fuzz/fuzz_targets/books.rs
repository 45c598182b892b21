//! `cargo +nightly fuzz run books`: see `checks::books`.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::books(bytes));
