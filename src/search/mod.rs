//! Searching: what a position is worth when both sides look ahead.
//!
//! [`Searcher`] is the search that self-play and play use; [`EndgameSolver`] solves positions with few empty squares.

pub mod calibrate;
pub mod endgame;
mod node;
mod ordering;
mod probcut;
mod pvs;
mod searcher;
mod split;
mod stop;
mod table;
mod tunables;

pub use endgame::EndgameSolver;
pub use probcut::Selectivity;
pub use searcher::{SearchResult, Searcher};
