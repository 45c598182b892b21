//! `cargo +nightly fuzz run open_layouts`: see `checks::open_layouts`.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::open_layouts(bytes));
