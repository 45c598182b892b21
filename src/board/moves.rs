//! Legal moves of a position, all at once.
//!
//! Per direction, the run of opponent discs next to the player's discs is filled by doubling (one, two, then two more steps
//! of two); the squares just beyond the runs are the moves. Directions pair up by shift distance, so four lanes cover all
//! eight.

use super::masks::STEP;
use super::square::Bitboard;

/// Squares that are not on the a- or h-file: horizontal and diagonal runs may only pass over these.
const INNER_FILES: u64 = 0x7e7e_7e7e_7e7e_7e7e;
const PASSABLE: [u64; 4] = [INNER_FILES, !0, INNER_FILES, INNER_FILES];

/// The empty squares on which the player may put a disc. Not inlined: inside larger functions the compiler turns the lanes
/// into scalar code.
#[inline(never)]
pub(super) fn moves(player: Bitboard, opponent: Bitboard) -> Bitboard {
    fill(player, opponent)
}

/// [`moves`] of the player and of the opponent, faster together than one after the other. A pair is returned in registers; with an
/// array, which lies in memory, the compiler would vectorize over the two sides instead of the directions.
#[inline(never)]
pub(super) fn both(player: Bitboard, opponent: Bitboard) -> (Bitboard, Bitboard) {
    (fill(player, opponent), fill(opponent, player))
}

#[inline(always)]
fn fill(player: Bitboard, opponent: Bitboard) -> Bitboard {
    let mut found = [0u64; 4];
    for lane in 0..4 {
        let step = STEP[lane];
        let runs = opponent & PASSABLE[lane];

        let mut left = runs & (player << step);
        let mut right = runs & (player >> step);
        left |= runs & (left << step);
        right |= runs & (right >> step);
        let runs_left = runs & (runs << step);
        let runs_right = runs_left >> step;
        left |= runs_left & (left << (2 * step));
        right |= runs_right & (right >> (2 * step));
        left |= runs_left & (left << (2 * step));
        right |= runs_right & (right >> (2 * step));
        found[lane] = (left << step) | (right >> step);
    }
    ((found[0] | found[1]) | (found[2] | found[3])) & !(player | opponent)
}
