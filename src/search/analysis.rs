//! What thinking about a position comes to.

use arrayvec::ArrayVec;

use crate::board::Square;
use crate::eval::Score;

/// Moves from a position on, best play by both sides. Passes are left out.
pub type Line = ArrayVec<Square, 64>;

/// What a search or a solve has found out about a position.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// The value for the player to move.
    pub score: Score,
    /// The best move; none where the player must pass, the game is over, or nothing was searched (depth 0).
    pub best: Option<Square>,
    /// The principal variation: `best` and what follows, as far as it is known.
    pub pv: Line,
    /// Plies looked ahead, at most as many as there are empty squares.
    pub depth: u32,
    /// Positions visited, the root included.
    pub nodes: u64,
    /// Whether the score is the result of the game with best play, proved. With a window of its own
    /// ([`EndgameSolver::solve`](super::EndgameSolver::solve)) a score at or outside the window is a bound, not exact.
    pub exact: bool,
    /// How many standard deviations sure cuts had to be, where the search was selective.
    pub selectivity: Option<f32>,
}

impl Analysis {
    /// The score in whole discs, rounded to the nearest: for exact scores nothing is lost.
    pub fn discs(&self) -> i32 {
        self.score.rounded_discs()
    }

    /// The same seen one move, `to`, or a pass earlier, by the other player.
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
