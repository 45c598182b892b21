//! Searching: what a position is worth when both sides look ahead.

pub mod endgame;
mod pvs;
mod table;

pub use endgame::EndgameSolver;
pub use pvs::{SearchResult, Searcher};
pub use table::{Bound, Table};
