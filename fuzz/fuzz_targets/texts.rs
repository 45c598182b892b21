//! `cargo +nightly fuzz run texts`: see `checks::texts`.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::texts(bytes));
