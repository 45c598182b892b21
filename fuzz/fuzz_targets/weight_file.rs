//! `cargo +nightly fuzz run weight_file`: see `checks::weight_file`.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::weight_file(bytes));
