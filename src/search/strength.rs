//! How strongly to think.

use serde::{Deserialize, Serialize};

/// How strongly an engine thinks, in configurations and for making an [`Engine`](super::Engine).
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(rename_all = "kebab-case")]
pub struct Strength {
    /// Plies to look ahead.
    pub depth: u32,

    /// The margin of multi-ProbCut in standard deviations, 0 or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selectivity: Deviations,

    /// Empty squares from which to play exactly.
    pub exact_empties: u32,
}

/// The margin of ProbCut in standard deviations, 0 or more; `None` is a full-width search.
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

    /// Log2 of the entries that the tables of an engine of this strength need to play a game: 12 up to depth 6 and 14 exact empties, so
    /// that they share the L2 cache with the evaluator's, and one more for each ply or empty square beyond, up to 18. With 12, self-play
    /// takes 1.08 times as long at depth 8 and 16 exact empties, 1.1 times at 10 and 18, and 1.3 times at 12 and 20.
    pub fn log2_entries(self) -> u32 {
        let beyond = self.depth.saturating_sub(6).max(self.exact_empties.saturating_sub(14));
        12 + beyond.min(6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_grow_with_the_work_of_a_move() {
        let strengths = [(0, 0), (6, 14), (4, 15), (8, 16), (11, 14), (12, 0), (60, 30)];
        let log2_entries = strengths.map(|(depth, exact)| Strength::new(depth, exact).log2_entries());
        assert_eq!(log2_entries, [12, 12, 13, 14, 17, 18, 18]);
    }
}
