//! flipside: a self-play evaluation-weight tuner for Othello.
#![deny(unsafe_code)]

pub mod arena;
pub mod board;
pub mod record;
