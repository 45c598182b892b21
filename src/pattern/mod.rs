//! Pattern sets as data, and the indices of a position's patterns.
//!
//! A [`PatternSet`] lists patterns (which are lists of squares) and scalar features, and may say how an engine stores their
//! weights. A [`Layout`] is a set made ready for use: every instance of every pattern under the board's symmetries gets a lane,
//! and every configuration gets a slot in a flat table. [`Indices`] holds the configurations of one position, one balanced
//! ternary number per lane: +1 x 3^i for an own disc on the pattern's i-th square, -1 x 3^i for an opponent's, 0 for an empty
//! one. So exchanging the players is negation, and a move is a few vector additions.
//!
//! A weight for each configuration of each pattern, by stage of the game, is the evaluation of Michael Buro, "From simple features to
//! sophisticated evaluation functions", 1998.

mod engine;
mod lanes;
mod layout;
mod scalar;
mod set;

pub use engine::EngineTables;
pub use lanes::{Indices, LANES, Lanes};
pub(crate) use layout::move_digits;
pub use layout::{Layout, LayoutError};
pub use scalar::{Scalar, Seen};
pub use set::{BUILT_IN, Pattern, PatternSet, PatternSetError};
