//! What chosen moves cost, in positions where the value of every move is known.

use serde::Serialize;

use super::by_empties::ByEmpties;
use crate::board::{ScoredDiagram, Square, squares};

/// Whether there is a legal move, and each has a score.
pub fn has_all_scores(scored: &ScoredDiagram) -> bool {
    let moves = scored.diagram.position.moves();
    moves != 0 && squares(moves).all(|square| scored.moves.iter().any(|(known, _)| *known == square))
}

/// The discs that a legal move loses against the best one; `None` unless [`has_all_scores`].
pub fn discs_lost(scored: &ScoredDiagram, chosen: Square) -> Option<i32> {
    let best = scored.moves.iter().map(|(_, score)| score).max().filter(|_| has_all_scores(scored))?;
    scored.moves.iter().find(|(square, _)| *square == chosen).map(|(_, score)| best - score)
}

/// What the chosen moves cost over some positions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Regret {
    /// Number of positions.
    pub positions: usize,
    /// Mean number of discs lost by the chosen move.
    pub lost: f64,
    /// Share of the positions in which the chosen move was as good as the best, 0 to 1.
    pub best: f64,
}

/// The regret of some choices, each given as the number of empty squares and the discs lost; `None` without any.
pub fn regret(choices: impl IntoIterator<Item = (u32, i32)>) -> Option<ByEmpties<Regret>> {
    ByEmpties::of(choices, |lost| {
        let share = |of: f64| of / lost.len() as f64;
        Regret {
            positions: lost.len(),
            lost: share(lost.iter().map(|&lost| f64::from(lost)).sum()),
            best: share(lost.iter().filter(|&&lost| lost == 0).count() as f64),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_need_the_scores_of_all_moves() {
        let board = "---------------------------OX------XO--------------------------- X";
        let lost = |scores: &str, chosen: &str| {
            discs_lost(&format!("{board};{scores}").parse().unwrap(), chosen.parse().unwrap())
        };
        let all = "D3:+2; C4:+2; F5:-1; E6:-4;";
        assert_eq!([lost(all, "d3"), lost(all, "f5"), lost(all, "e6")], [Some(0), Some(3), Some(6)]);
        assert_eq!(lost(all, "a1"), None);
        assert_eq!(lost("D3:+2; C4:+2; F5:-1;", "d3"), None);
    }

    #[test]
    fn regret_is_counted_by_empties_and_in_all() {
        let table = regret([(20, 0), (20, 6), (10, 2), (20, 0), (10, 4)]).unwrap();
        let rows: Vec<_> =
            table.rows.iter().map(|(&empties, row)| (empties, row.positions, row.lost, row.best)).collect();
        assert_eq!(rows, [(10, 2, 3.0, 0.0), (20, 3, 2.0, 2.0 / 3.0)]);
        assert_eq!(table.all, Regret { positions: 5, lost: 2.4, best: 0.4 });
        assert!(regret([]).is_none());
    }
}
