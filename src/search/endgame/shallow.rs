//! Few empty squares: no table, no move list; moves into odd quadrants first.

use super::Search;
use super::last::NO_VALUE;
use super::parity::quadrant;
use crate::board::{Bitboard, Position, squares};

impl Search<'_> {
    /// The value with the null window (`alpha`, `alpha` + 1), five empty squares or more.
    pub(super) fn shallow(&mut self, position: Position, alpha: i32, empties: u32, odd: Bitboard) -> i32 {
        self.nodes += 1;
        let moves = position.moves();
        if moves == 0 {
            if position.opponent_moves() == 0 {
                return position.final_score();
            }
            return -self.shallow(position.pass(), -alpha - 1, empties, odd);
        }
        let mut best = NO_VALUE;
        for set in [moves & odd, moves & !odd] {
            for x in squares(set) {
                let next = position.play_unchecked(x, position.flips(x));
                let odd = odd ^ quadrant(x);
                let value = if empties == 5 {
                    -self.last4(next, -alpha - 1, odd, false)
                } else {
                    -self.shallow(next, -alpha - 1, empties - 1, odd)
                };
                best = best.max(value);
                if best > alpha {
                    return best;
                }
            }
        }
        best
    }
}
