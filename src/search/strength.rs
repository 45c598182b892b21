//! How strongly to think.

use serde::{Deserialize, Serialize};

/// How strongly an engine thinks, in configurations and for making an [`Engine`](super::Engine).
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(rename_all = "kebab-case")]
pub struct Strength {
    /// Plies to look ahead.
    pub depth: u32,

    /// The margin of multi-ProbCut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selectivity: Deviations,

    /// Empty squares from which to play exactly.
    pub exact_empties: u32,
}

/// The margin of ProbCut in standard deviations; `None` is a full-width search.
pub type Deviations = Option<f32>;

impl Strength {
    /// The largest depth, in plies: that of a whole game.
    pub const MAX_DEPTH: u32 = 60;
    /// The largest number of empty squares to solve from: with more, a move can take hours.
    pub const MAX_EXACT_EMPTIES: u32 = 30;

    /// Full width to a depth, exact with `exact_empties` empty squares or fewer.
    pub const fn new(depth: u32, exact_empties: u32) -> Self {
        Self { depth, selectivity: None, exact_empties }
    }
}

impl Default for Strength {
    /// Depth 4, exact from 12 empty squares on, full width.
    fn default() -> Self {
        Self::new(4, 12)
    }
}
