//! Static evaluation: what a position is worth without searching.
//!
//! [`Score`] is the unit, [`Evaluator`] the interface that searching uses. [`PatternEvaluator`] is the real thing, made from a
//! [`Model`] (a pattern set, stages, and weights). [`SquareEvaluator`] and [`MobilityEvaluator`] are the classic simpler ones,
//! baselines to measure against. [`accuracy`](fn@accuracy) compares any of them with known values, [`regret`](fn@regret) counts the
//! discs that chosen moves lose.

mod accuracy;
mod by_empties;
mod calibration;
mod classic;
mod digits;
mod hidden;
mod model;
mod moments;
mod pattern;
mod regret;
mod score;
mod strongest;

pub use accuracy::{Accuracy, accuracy, accuracy_of, static_value, unlimited_static_value};
pub use by_empties::ByEmpties;
pub use calibration::{Calibration, CalibrationError, DepthPair};
pub use classic::{MobilityEvaluator, SquareEvaluator};
pub use hidden::{Head, HiddenLayer, Row, UNITS};
pub use model::{Clipping, Model, ModelError, StageMap};
pub use moments::{Moments, mean};
pub use pattern::PatternEvaluator;
pub use regret::{Regret, discs_lost, has_all_scores, regret};
pub use score::Score;
pub use strongest::{ValuedConfiguration, strongest_configurations};

use crate::board::{Bitboard, Position, Square};

/// A static evaluation that may carry a state along the moves of a search.
pub trait Evaluator: Sync {
    /// What is carried from one position to the next: nothing, or a position's pattern indices.
    type State: Clone + Send + Sync;

    /// The state of a position, computed from scratch.
    fn state(&self, position: &Position) -> Self::State;

    /// The state after a move, from the state before it.
    fn play(&self, before: &Self::State, to: Square, flips: Bitboard) -> Self::State;

    /// The state after a pass.
    fn pass(&self, before: &Self::State) -> Self::State;

    /// The value for the player to move, who must have a legal move. `state` must be the state of `position`. Always within
    /// [`Score::EVAL_LIMIT`].
    fn evaluate(&self, position: &Position, state: &Self::State) -> Score;

    /// [`Self::evaluate`] of the position after a move, from the state before it: at a leaf no new state is needed. `None` if the
    /// opponent, who is to move then, has no legal move: the rules decide what such a position is worth.
    #[inline]
    fn evaluate_move(&self, before: &Self::State, to: Square, flips: Bitboard, after: &Position) -> Option<Score> {
        (after.moves() != 0).then(|| self.evaluate(after, &self.play(before, to, flips)))
    }

    /// How well shallow searches with it predict deep ones, if that has been measured.
    fn calibration(&self) -> Option<&Calibration> {
        None
    }

    /// [`Self::evaluate`] of a position outside a search.
    fn evaluate_position(&self, position: &Position) -> Score {
        self.evaluate(position, &self.state(position))
    }

    /// [`Self::evaluate_position`] before the limit is applied: it may be beyond 64 discs.
    fn evaluate_unlimited(&self, position: &Position) -> Score {
        self.evaluate_position(position)
    }
}
