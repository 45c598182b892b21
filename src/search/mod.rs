//! Searching for the value of a position.

pub mod endgame;
