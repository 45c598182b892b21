//! The game-tree searches of the literature, each in its textbook form, on any [`Tree`]. They share nothing with the engine's own
//! search ([`flipside::search`]), which tests check against them.
//!
//! All of them find the value that [`Algorithm::Minimax`] defines; they differ in how much of the tree they visit for
//! it. [`Explorer`] runs one of them: with iterative deepening, a transposition table and ordered moves, or without any
//! of these ([`Options`]). What differs between the algorithms is in `searches`, what they share in `explorer`.
//!
//! **Why a table may change a value, and why it does not here.** A table may hold an entry from a deeper search than is
//! asked for; using it gives a better value, but not minimax's at that depth. The searches here only use entries of
//! exactly the depth asked for, so the value is minimax's, in any tree. In Othello no other entries can even occur within
//! one search: discs never leave the board, so a position is always at the same distance from the root. What a table may
//! change is which of several equally good moves is found: the best one of an earlier search is tried first.

mod algorithm;
mod explorer;
mod ordering;
mod searches;
mod size;
mod table;
mod tree;

pub use algorithm::Algorithm;
pub use explorer::{Explorer, Options, Outcome};
pub use ordering::Ordering;
pub use size::{branching_factor, estimate_size};
pub use tree::{OthelloTree, Successor, Tree};
