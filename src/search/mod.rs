//! Searching: what a position is worth when both sides look ahead.
//!
//! [`Searcher`] is the search that self-play and play use; [`EndgameSolver`] solves positions with few empty squares.

mod brothers;
pub mod calibrate;
pub mod endgame;
mod node;
mod pvs;
mod searcher;
mod selective;
mod stop;
mod table;

pub use endgame::EndgameSolver;
pub use searcher::{SearchResult, Searcher};
pub use selective::Selectivity;
pub use table::{Bound, Table};
