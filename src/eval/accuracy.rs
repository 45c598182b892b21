//! How far static evaluations are from known values.

use std::collections::BTreeMap;

use super::{Evaluator, Score};
use crate::board::Position;

/// Errors of an evaluator over positions with one number of empty squares. An error is evaluation minus known value, both in
/// discs for the player to move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Accuracy {
    /// Number of empty squares.
    pub empties: u32,
    /// Number of positions.
    pub positions: usize,
    /// Root mean square error, in discs.
    pub rmse: f64,
    /// Mean absolute error, in discs.
    pub mae: f64,
    /// Mean error, in discs: above 0 where the evaluator is too hopeful.
    pub bias: f64,
}

/// The value of a position by rule and evaluation, for the player to move: the result where the game is over, the opponent's
/// value negated where the player must pass, the static evaluation otherwise.
pub fn static_value<E: Evaluator>(evaluator: &E, position: &Position) -> Score {
    by_rule(position, |position| evaluator.evaluate_position(position))
}

/// [`static_value`] by what the evaluation itself says, even beyond 64 discs, as other engines' static evaluations do.
pub fn unlimited_static_value<E: Evaluator>(evaluator: &E, position: &Position) -> Score {
    by_rule(position, |position| evaluator.evaluate_unlimited(position))
}

fn by_rule(position: &Position, evaluate: impl Fn(&Position) -> Score) -> Score {
    if position.moves() != 0 {
        return evaluate(position);
    }
    let passed = position.pass();
    if passed.moves() == 0 {
        return Score::from_discs(position.final_score());
    }
    -evaluate(&passed)
}

/// The accuracy of [`static_value`] against known values (in discs for the player to move), for each number of empty squares
/// that occurs, in rising order. The result does not depend on the order of the positions but for rounding.
pub fn accuracy<E: Evaluator>(evaluator: &E, known: impl IntoIterator<Item = (Position, i32)>) -> Vec<Accuracy> {
    let mut errors: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (position, value) in known {
        let error = f64::from(static_value(evaluator, &position).discs()) - f64::from(value);
        errors.entry(position.empties()).or_default().push(error);
    }
    errors.into_iter().map(|(empties, errors)| summary(empties, &errors)).collect()
}

fn summary(empties: u32, errors: &[f64]) -> Accuracy {
    let mean = |of: fn(f64) -> f64| errors.iter().map(|&error| of(error)).sum::<f64>() / errors.len() as f64;
    Accuracy {
        empties,
        positions: errors.len(),
        rmse: mean(|error| error * error).sqrt(),
        mae: mean(f64::abs),
        bias: mean(|error| error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Bitboard, Square, Transcript};

    /// Always so many discs.
    struct Always(i32);

    impl Evaluator for Always {
        type State = ();
        fn state(&self, _: &Position) {}
        fn play(&self, (): &(), _: Square, _: Bitboard) {}
        fn pass(&self, (): &()) {}
        fn evaluate(&self, _: &Position, (): &()) -> Score {
            Score::from_discs(self.0)
        }
    }

    #[test]
    fn errors_are_summed_by_empties() {
        let after = |moves: &str| moves.parse::<Transcript>().unwrap().last().position;
        let (early, late) = (after("f5"), after("f5d6c3"));
        let table = accuracy(&Always(2), [(early, 1), (late, 5), (early, -1), (early, 6)]);
        assert_eq!(table.len(), 2);
        assert_eq!(table[0], Accuracy { empties: 57, positions: 1, rmse: 3.0, mae: 3.0, bias: -3.0 });
        // Errors 1, 3 and -4.
        assert_eq!((table[1].empties, table[1].positions, table[1].bias), (59, 3, 0.0));
        assert!((table[1].rmse - (26.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((table[1].mae - 8.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn passes_change_the_sign_and_finished_games_count() {
        let position = |text: &str| text.parse::<crate::board::Diagram>().unwrap().position;
        let row = |first: &str| format!("{first}{}", "-".repeat(56));
        // White could take g1; black has no move.
        assert_eq!(static_value(&Always(3), &position(&(row("XXXXXXO-") + " X"))), Score::from_discs(3));
        assert_eq!(static_value(&Always(3), &position(&(row("OXXXXXX-") + " X"))), Score::from_discs(-3));
        assert_eq!(static_value(&Always(3), &position(&(row("XXXX----") + " O"))), Score::from_discs(-64));
    }
}
