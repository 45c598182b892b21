//! The classic hand-made evaluations, as baselines: a table of square values, and a combination of mobilities.
//!
//! Both follow the descriptions every introduction to Othello programming gives (square tables that change with the stage of
//! the game; mobility, potential mobility and corners combined linearly). The numbers are ours, set by hand.

use super::{Evaluator, Score};
use crate::board::{Bitboard, CORNERS, FILE_A, FILE_H, Position, Square, Symmetry, X_SQUARES};

/// The ten classes of squares under the board's symmetries: one square of each, and its value in 1/8 disc for each third of
/// the game. Towards the end corners lose importance and ordinary squares gain it.
const CLASSES: [(u8, [i32; 3]); 10] = [
    (0, [80, 72, 48]),    // a1
    (1, [-20, -16, -4]),  // b1, a C-square
    (9, [-40, -32, -12]), // b2, an X-square
    (2, [10, 10, 8]),     // c1
    (3, [6, 6, 8]),       // d1
    (10, [-4, -2, 4]),    // c2
    (11, [-4, -2, 4]),    // d2
    (18, [2, 2, 6]),      // c3
    (19, [0, 1, 6]),      // d3
    (27, [0, 1, 6]),      // d4
];

/// A value for each disc by its square, from one table for each third of the game.
///
/// A C- or X-square beside an own corner counts as an ordinary edge square.
#[derive(Clone, Debug)]
pub struct SquareEvaluator {
    /// Squares of each class of [`CLASSES`].
    classes: [Bitboard; 10],
}

impl Default for SquareEvaluator {
    fn default() -> Self {
        let images = |square: u8| Symmetry::ALL.iter().fold(0, |all, s| all | s.bitboard(1 << square));
        Self { classes: CLASSES.map(|(square, _)| images(square)) }
    }
}

impl SquareEvaluator {
    /// In 1/8 disc.
    fn value(&self, discs: Bitboard, third: usize) -> i32 {
        let beside_own_corner = neighbours(discs & CORNERS);
        let values = self.classes.iter().zip(CLASSES).map(|(&squares, (_, values))| {
            let safe = if values[third] < 0 { discs & squares & beside_own_corner } else { 0 };
            let exposed = (discs & squares).count_ones() as i32 - safe.count_ones() as i32;
            exposed * values[third] + safe.count_ones() as i32 * 8
        });
        values.sum()
    }
}

impl Evaluator for SquareEvaluator {
    type State = ();

    fn state(&self, _: &Position) {}

    fn play(&self, (): &(), _: Square, _: Bitboard) {}

    fn pass(&self, (): &()) {}

    fn evaluate(&self, position: &Position, (): &()) -> Score {
        let third = match position.empties() {
            41.. => 0,
            21..=40 => 1,
            _ => 2,
        };
        let value = self.value(position.player, third) - self.value(position.opponent, third);
        Score(value * Score::DISC / 8).clamp_eval()
    }
}

/// Mobility, potential mobility, corners and X-squares beside empty corners, combined linearly. Mobility is relative,
/// (own - other) / (own + other + 1), so that one move of four weighs more than one of twenty.
#[derive(Clone, Debug, Default)]
pub struct MobilityEvaluator;

impl Evaluator for MobilityEvaluator {
    type State = ();

    fn state(&self, _: &Position) {}

    fn play(&self, (): &(), _: Square, _: Bitboard) {}

    fn pass(&self, (): &()) {}

    fn evaluate(&self, position: &Position, (): &()) -> Score {
        let empty = position.empty();
        let count = |squares: Bitboard| squares.count_ones() as i32;
        let relative = |own: i32, other: i32| (own - other) * Score::DISC / (own + other + 1);

        let mobility = relative(count(position.moves()), count(position.opponent_moves()));
        let potential =
            relative(count(neighbours(position.opponent) & empty), count(neighbours(position.player) & empty));
        let corners = count(position.player & CORNERS) - count(position.opponent & CORNERS);
        let open_x = |discs: Bitboard| count(discs & X_SQUARES & diagonal_neighbours(empty & CORNERS));
        let x_squares = open_x(position.player) - open_x(position.opponent);
        Score(14 * mobility + 8 * potential + (9 * corners - 4 * x_squares) * Score::DISC).clamp_eval()
    }
}

/// Squares next to any of a set, in all eight directions.
fn neighbours(set: Bitboard) -> Bitboard {
    let beside = ((set & !FILE_H) << 1) | ((set & !FILE_A) >> 1);
    let columns = set | beside;
    beside | columns << 8 | columns >> 8
}

fn diagonal_neighbours(set: Bitboard) -> Bitboard {
    let beside = ((set & !FILE_H) << 1) | ((set & !FILE_A) >> 1);
    beside << 8 | beside >> 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Transcript;

    fn position() -> Position {
        "f5d6c3d3c4f4f6f3e6e7d7".parse::<Transcript>().unwrap().last().position
    }

    #[test]
    fn the_classes_cover_the_board_once() {
        let classes = SquareEvaluator::default().classes;
        assert_eq!(classes.iter().map(|c| c.count_ones()).sum::<u32>(), 64);
        assert_eq!(classes.iter().fold(0, |all, c| all | c), !0);
    }

    #[test]
    fn baselines_are_symmetric_and_change_sign_with_the_player() {
        let (squares, mobility) = (SquareEvaluator::default(), MobilityEvaluator);
        for symmetry in Symmetry::ALL {
            let image = symmetry.position(position());
            assert_eq!(squares.evaluate_position(&image), squares.evaluate_position(&position()));
            assert_eq!(mobility.evaluate_position(&image), mobility.evaluate_position(&position()));
        }
        assert_eq!(squares.evaluate_position(&position().pass()), -squares.evaluate_position(&position()));
        assert_eq!(mobility.evaluate_position(&position().pass()), -mobility.evaluate_position(&position()));
    }

    #[test]
    fn a_corner_is_good_and_an_open_x_square_bad() {
        let with = |player: u64| Position { player: position().player | player, opponent: position().opponent };
        for evaluator in [&SquareEvaluator::default() as &dyn Evaluator<State = ()>, &MobilityEvaluator] {
            let plain = evaluator.evaluate_position(&position());
            assert!(evaluator.evaluate_position(&with(1)) > plain);
            assert!(evaluator.evaluate_position(&with(1 << 9)) < plain);
        }
    }
}
