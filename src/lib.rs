//! flipside: a self-play evaluation-weight tuner for Othello.
#![deny(unsafe_code)]

pub mod arena;
pub mod board;
pub mod cli;
pub mod eval;
pub mod export;
pub mod learn;
pub mod pattern;
pub mod protocol;
pub mod record;
pub mod search;
pub mod selfplay;
pub mod train;
pub mod weights;
