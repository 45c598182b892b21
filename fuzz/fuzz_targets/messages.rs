//! `cargo +nightly fuzz run messages`: see `messages::messages`.
#![no_main]

#[path = "../messages.rs"]
mod messages;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| messages::messages(bytes));
