//! flipside: a self-play evaluation-weight tuner for Othello.
#![deny(unsafe_code)]

pub mod board;
pub mod eval;
pub mod export;
pub mod learn;
pub mod pattern;
pub mod search;
pub mod selfplay;
pub mod weights;
