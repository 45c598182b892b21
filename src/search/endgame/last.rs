//! The last five empty squares, with a function for each number of them.
//!
//! All take the null window (`alpha`, `alpha` + 1), return the fail-soft value in discs for the player to move, and try moves
//! into odd quadrants first. With up to four empty squares the legal moves are not generated beforehand.

use std::hint::select_unpredictable;

use super::Search;
use super::parity::quadrant;
use crate::board::{Bitboard, Position, Square, squares};
use crate::eval::Evaluator;

/// Less than any value: no move has been tried.
pub(super) const NO_VALUE: i32 = -128;

/// The value with one empty square.
#[inline(always)]
fn last1(position: Position, x: Square) -> i32 {
    let [mine, theirs] = position.count_last_flips(x).map(|flips| flips as i32);
    let player = position.player.count_ones() as i32;
    // A square nobody can fill goes to the winner: as if the winner filled it and turned nothing over.
    let player_fills = (mine != 0) | ((theirs == 0) & (player >= 32));
    select_unpredictable(player_fills, 2 * (player + mine) - 62, 2 * (player - theirs) - 64)
}

impl<E: Evaluator> Search<'_, E> {
    /// The value with two empty squares.
    #[inline(always)]
    fn last2(&mut self, position: Position, alpha: i32, x1: Square, x2: Square) -> i32 {
        self.endgame_nodes += 1;
        let mut best = NO_VALUE;
        let flips = position.flips(x1);
        if flips != 0 {
            best = -last1(position.play_unchecked(x1, flips), x2);
            if best > alpha {
                return best;
            }
        }
        let flips = position.flips(x2);
        if flips != 0 {
            best = best.max(-last1(position.play_unchecked(x2, flips), x1));
        }
        if best == NO_VALUE { last2_passed(position, x1, x2) } else { best }
    }

    /// The value with three empty squares.
    fn last3(&mut self, position: Position, alpha: i32, odd: Bitboard) -> i32 {
        self.endgame_nodes += 1;
        let empty = position.empty();
        let mut x = Square::lowest(empty & odd);
        let rest = empty ^ x.bit();
        let mut y = Square::lowest(rest);
        let mut z = Square::lowest(rest ^ y.bit());
        let mut best = NO_VALUE;
        for _ in 0..3 {
            let flips = position.flips(x);
            if flips != 0 {
                best = best.max(-self.last2(position.play_unchecked(x, flips), -alpha - 1, y, z));
                if best > alpha {
                    return best;
                }
            }
            (x, y, z) = (y, z, x);
        }
        match best {
            NO_VALUE if position.opponent_moves() == 0 => position.final_score(),
            NO_VALUE => -self.last3(position.pass(), -alpha - 1, odd),
            best => best,
        }
    }

    /// The value with four empty squares.
    pub(super) fn last4(&mut self, position: Position, alpha: i32, odd: Bitboard) -> i32 {
        self.endgame_nodes += 1;
        let empty = position.empty();
        let mut best = NO_VALUE;
        for set in [empty & odd, empty & !odd] {
            for x in squares(set) {
                let flips = position.flips(x);
                if flips != 0 {
                    let next = position.play_unchecked(x, flips);
                    best = best.max(-self.last3(next, -alpha - 1, odd ^ quadrant(x)));
                    if best > alpha {
                        return best;
                    }
                }
            }
        }
        match best {
            NO_VALUE if position.opponent_moves() == 0 => position.final_score(),
            NO_VALUE => -self.last4(position.pass(), -alpha - 1, odd),
            best => best,
        }
    }

    /// The value with five empty squares, the legal moves known.
    pub(super) fn last5(&mut self, position: Position, moves: Bitboard, alpha: i32, odd: Bitboard) -> i32 {
        self.endgame_nodes += 1;
        if moves == 0 {
            return self.shallow_passed(position, alpha, 5, odd);
        }
        let mut best = NO_VALUE;
        for set in [moves & odd, moves & !odd] {
            for x in squares(set) {
                let next = position.play_unchecked(x, position.flips(x));
                best = best.max(-self.last4(next, -alpha - 1, odd ^ quadrant(x)));
                if best > alpha {
                    return best;
                }
            }
        }
        best
    }
}

/// The value with two empty squares if the player to move has no move.
#[inline(always)]
fn last2_passed(position: Position, x1: Square, x2: Square) -> i32 {
    let theirs = position.pass();
    let mut worst = NO_VALUE;
    for (x, other) in [(x1, x2), (x2, x1)] {
        let flips = theirs.flips(x);
        if flips != 0 {
            worst = worst.max(-last1(theirs.play_unchecked(x, flips), other));
        }
    }
    if worst == NO_VALUE { position.final_score() } else { -worst }
}
