//! The servers against scripts and rubbish, the clients against our own servers and against engines that misbehave.
#![cfg(unix)]

mod clients;
mod engine;
mod gtp;
#[path = "../naive_rules/mod.rs"]
mod naive_rules;
mod nboard;
mod passes;
mod servers;
mod support;
