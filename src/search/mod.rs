//! Searching: what a position is worth when both sides look ahead.
//!
//! [`Engine`] is what plays: it searches to a depth ([`Searcher`]) and solves positions with few empty squares ([`EndgameSolver`]),
//! as its [`Strength`] says, and returns an [`Analysis`].

mod analysis;
pub mod calibrate;
mod endgame;
mod engine;
mod node;
mod ordering;
mod probcut;
mod pvs;
mod searcher;
mod split;
mod stop;
mod strength;
mod table;
mod tunables;

pub use analysis::{Analysis, Line};
pub use endgame::EndgameSolver;
pub use engine::Engine;
pub use probcut::{NotCalibrated, Selectivity, shallow_depth};
pub(crate) use searcher::Subtree;
pub use searcher::{Searcher, TreeNode};
pub use stop::Limits;
pub use strength::{Deviations, Strength};
