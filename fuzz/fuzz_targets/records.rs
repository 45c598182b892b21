//! `cargo +nightly fuzz run records`: see `checks::records`.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::records(bytes));
