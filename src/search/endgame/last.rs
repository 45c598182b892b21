//! The last four empty squares, each number of them with its own function.
//!
//! All take the null window (`alpha`, `alpha` + 1), return the fail-soft value in discs for the player to move, and try the
//! empty squares without listing the legal moves first.

use super::Search;
use super::parity::quadrant;
use crate::board::{Bitboard, Position, Square};

/// Less than any value: no move has been tried.
pub(super) const NO_VALUE: i32 = -128;

/// The value with one empty square.
#[inline]
fn last1(position: Position, x: Square) -> i32 {
    let flips = position.count_last_flips(x) as i32;
    let player = position.player.count_ones() as i32;
    if flips != 0 {
        return 2 * (player + flips) - 62;
    }
    let flips = position.pass().count_last_flips(x) as i32;
    if flips != 0 {
        return 2 * (player - flips) - 64;
    }
    // Nobody can fill it: it goes to the winner. There is no draw with 63 discs.
    let value = 2 * player - 64;
    if value >= 0 { value + 2 } else { value }
}

impl Search<'_> {
    /// The value with two empty squares.
    #[inline]
    fn last2(&mut self, position: Position, alpha: i32, x1: Square, x2: Square, passed: bool) -> i32 {
        self.nodes += 1;
        let mut best = NO_VALUE;
        for (x, other) in [(x1, x2), (x2, x1)] {
            let flips = position.flips(x);
            if flips != 0 {
                self.nodes += 1;
                best = best.max(-last1(position.play_unchecked(x, flips), other));
                if best > alpha {
                    return best;
                }
            }
        }
        if best != NO_VALUE {
            best
        } else if passed {
            position.final_score()
        } else {
            -self.last2(position.pass(), -alpha - 1, x1, x2, true)
        }
    }

    /// The value with three empty squares.
    #[inline]
    fn last3(&mut self, position: Position, alpha: i32, odd: Bitboard, passed: bool) -> i32 {
        self.nodes += 1;
        let empty = position.empty();
        let x1 = Square::lowest(empty & odd);
        let rest = empty ^ x1.bit();
        let x2 = Square::lowest(rest);
        let x3 = Square::lowest(rest ^ x2.bit());
        let mut best = NO_VALUE;
        for (x, y, z) in [(x1, x2, x3), (x2, x1, x3), (x3, x1, x2)] {
            let flips = position.flips(x);
            if flips != 0 {
                best = best.max(-self.last2(position.play_unchecked(x, flips), -alpha - 1, y, z, false));
                if best > alpha {
                    return best;
                }
            }
        }
        if best != NO_VALUE {
            best
        } else if passed {
            position.final_score()
        } else {
            -self.last3(position.pass(), -alpha - 1, odd, true)
        }
    }

    /// The value with four empty squares.
    pub(super) fn last4(&mut self, position: Position, alpha: i32, odd: Bitboard, passed: bool) -> i32 {
        self.nodes += 1;
        let empty = position.empty();
        let mut best = NO_VALUE;
        for set in [empty & odd, empty & !odd] {
            for x in crate::board::squares(set) {
                let flips = position.flips(x);
                if flips != 0 {
                    let next = position.play_unchecked(x, flips);
                    best = best.max(-self.last3(next, -alpha - 1, odd ^ quadrant(x), false));
                    if best > alpha {
                        return best;
                    }
                }
            }
        }
        if best != NO_VALUE {
            best
        } else if passed {
            position.final_score()
        } else {
            -self.last4(position.pass(), -alpha - 1, odd, true)
        }
    }
}
