//! How far static evaluations are from known values.

use serde::Serialize;

use super::by_empties::ByEmpties;
use super::moments::{Moments, mean};
use super::{Evaluator, Score};
use crate::board::Position;

/// Errors of an evaluator over some positions. An error is evaluation minus known value, both in discs for the player to move.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Accuracy {
    /// Number of positions.
    pub positions: usize,
    /// Root mean square error, in discs.
    pub rmse: f64,
    /// Mean absolute error, in discs.
    pub mae: f64,
    /// Mean error, in discs: above 0 if the evaluator is too optimistic.
    pub bias: f64,
    /// Standard deviation of the error, in discs: the root mean square error without the bias.
    pub sd: f64,
    /// The slope of the least-squares line that predicts the known value from the evaluation. Above 1, the evaluation
    /// understates differences; a constant factor changes no search. `None` if all evaluations are equal.
    pub slope: Option<f64>,
    /// Standard deviation of the known values from that line, in discs: the error that neither a factor nor a bias explains.
    pub sd_after_slope: f64,
}

/// The value of a position for the player to move without any search: the result if the game is over, the opponent's value
/// negated if the player must pass, else the static evaluation.
///
/// # Example
/// ```
/// use flipside::board::Transcript;
/// use flipside::eval::static_value;
/// use flipside::weights::WeightFile;
///
/// let evaluator = WeightFile::embedded().evaluator()?;
/// let game: Transcript = "f5d6c3d3c4".parse()?;
/// let value = static_value(&evaluator, &game.last().position);
/// println!("{value} discs for the player to move");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn static_value<E: Evaluator>(evaluator: &E, position: &Position) -> Score {
    by_rule(position, |position| evaluator.evaluate_position(position))
}

/// [`static_value`] without limiting the evaluation to 64 discs, like other engines' static evaluations.
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

/// The accuracy of [`static_value`] against known values (in discs for the player to move). Except for rounding, the result does
/// not depend on the order of the positions. `None` without positions.
pub fn accuracy<E: Evaluator>(
    evaluator: &E,
    known: impl IntoIterator<Item = (Position, i32)>,
) -> Option<ByEmpties<Accuracy>> {
    let pairs = known.into_iter().map(|(position, value)| {
        let evaluation = f64::from(static_value(evaluator, &position).discs());
        (position.empties(), (evaluation, f64::from(value)))
    });
    accuracy_of(pairs)
}

/// The accuracy of pairs of an evaluation and a known value, in discs, each with its number of empty squares.
pub fn accuracy_of(pairs: impl IntoIterator<Item = (u32, (f64, f64))>) -> Option<ByEmpties<Accuracy>> {
    ByEmpties::of(pairs, summary)
}

/// The accuracy of pairs of an evaluation and a known value.
fn summary(pairs: &[(f64, f64)]) -> Accuracy {
    let moments = Moments::of(pairs);
    let slope = moments.slope();
    let mean_square = |of: &dyn Fn(f64, f64) -> f64| mean(pairs, |x, y| of(x, y).powi(2));
    let bias = mean(pairs, |x, y| x - y);
    Accuracy {
        positions: pairs.len(),
        rmse: mean_square(&|x, y| x - y).sqrt(),
        mae: mean(pairs, |x, y| (x - y).abs()),
        bias,
        sd: mean_square(&|x, y| x - y - bias).sqrt(),
        slope,
        sd_after_slope: mean_square(&|x, y| y - moments.y - slope.unwrap_or(0.0) * (x - moments.x)).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Bitboard, Square, Transcript};

    /// Always the same number of discs.
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
        let table = accuracy(&Always(2), [(early, 1), (late, 5), (early, -1), (early, 6)]).unwrap();
        assert_eq!(table.rows.keys().copied().collect::<Vec<_>>(), [57, 59]);
        let Accuracy { positions, rmse, mae, bias, sd, slope, sd_after_slope } = table.rows[&57];
        assert_eq!((positions, rmse, mae, bias, sd, slope, sd_after_slope), (1, 3.0, 3.0, -3.0, 0.0, None, 0.0));
        // Errors 1, 3 and -4; with the other -3.
        let row = table.rows[&59];
        assert_eq!((row.positions, row.bias), (3, 0.0));
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value} {expected}");
        near(row.rmse, (26.0f64 / 3.0).sqrt());
        near(row.mae, 8.0 / 3.0);
        near(row.sd, row.rmse);
        near(table.all.bias, -0.75);
        near(table.all.rmse, (35.0f64 / 4.0).sqrt());
        near(table.all.sd, (35.0f64 / 4.0 - 0.75 * 0.75).sqrt());
        // A constant cannot be scaled; what is left is the spread of the values.
        assert_eq!(table.all.slope, None);
        near(table.all.sd_after_slope, table.all.sd);
        assert!(accuracy(&Always(2), []).is_none());
    }

    #[test]
    fn a_factor_and_a_bias_are_explained() {
        let pairs = |factor: f64, offset: f64| -> Vec<_> {
            let values = [(-3.0, -8.0), (1.0, 2.0), (4.0, 5.0), (10.0, 21.0)];
            values.iter().map(|&(evaluation, known)| (factor * evaluation + offset, known)).collect()
        };
        let plain = summary(&pairs(1.0, 0.0));
        // Means 3 and 5; deviations -6 -2 1 7 and -13 -3 0 16: the slope is 196 / 90.
        assert!((plain.slope.unwrap() - 196.0 / 90.0).abs() < 1e-12);
        let residuals = 434.0 - 196.0 * 196.0 / 90.0;
        assert!((plain.sd_after_slope - f64::sqrt(residuals / 4.0)).abs() < 1e-12);
        let scaled = summary(&pairs(0.25, 7.0));
        assert!((scaled.slope.unwrap() - 4.0 * plain.slope.unwrap()).abs() < 1e-12);
        assert!((scaled.sd_after_slope - plain.sd_after_slope).abs() < 1e-12);
        assert!(scaled.sd > plain.sd);
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
