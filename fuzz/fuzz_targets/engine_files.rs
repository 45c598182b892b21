//! `cargo +nightly fuzz run engine_files`: see `checks::engine_files`.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::engine_files(bytes));
