//! The result of searching or solving a position.

use arrayvec::ArrayVec;

use crate::board::Square;
use crate::eval::Score;

/// The moves of best play by both sides from a position on. Passes are left out.
pub type Line = ArrayVec<Square, 64>;

/// What a search or a solve found out about a position.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// The value for the player to move.
    pub score: Score,
    /// The best move; `None` if the player must pass, the game is over, or nothing was searched (depth 0).
    pub best: Option<Square>,
    /// The principal variation: `best` and what follows, as far as it is known.
    pub pv: Line,
    /// Plies looked ahead, at most as many as there are empty squares.
    pub depth: u32,
    /// Positions visited, the root included.
    pub nodes: u64,
    /// Whether the score is proved to be the result of the game with best play. If a window was given
    /// ([`EndgameSolver::solve`](super::EndgameSolver::solve)), a score at or outside the window is a bound, not exact.
    pub exact: bool,
    /// The margin of cuts in standard deviations, if the search was selective.
    pub selectivity: Option<f32>,
}

impl Analysis {
    /// The score in whole discs, rounded to the nearest: for exact scores nothing is lost.
    pub fn discs(&self) -> i32 {
        self.score.rounded_discs()
    }

    /// The same for the other player, before the move `to` or before a pass.
    #[must_use]
    pub fn before(mut self, to: Option<Square>) -> Self {
        self.score = -self.score;
        self.best = to;
        if let Some(to) = to {
            self.depth += 1;
            self.pv.truncate(self.pv.capacity() - 1);
            self.pv.insert(0, to);
        }
        self
    }
}
