//! `cargo +nightly fuzz run kept_games`: see `checks::kept_games`.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::kept_games(bytes));
