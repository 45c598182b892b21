//! Searching: what a position is worth when both sides look ahead.

mod pvs;
mod table;

pub use pvs::{SearchResult, Searcher};
pub use table::{Bound, Table};
