//! Quadrant parity: a player who moves into a region with an odd number of empty squares tends to get its last move, so
//! such moves are tried first. Quadrants stand in for regions.

use crate::board::{self, Bitboard, QUADRANTS, Square};

static QUADRANT_OF: [u64; 64] = {
    let mut table = [0; 64];
    let mut square = 0;
    while square < 64 {
        table[square] = QUADRANTS[square / 32 * 2 + square % 8 / 4];
        square += 1;
    }
    table
};

/// The union of the quadrants with an odd number of the given squares.
pub(super) fn odd_quadrants(empty: Bitboard) -> Bitboard {
    board::odd_quadrants(empty) * QUADRANTS[0]
}

/// The quadrant of a square; xored to the odd quadrants when the square is filled.
#[inline]
pub(super) fn quadrant(square: Square) -> Bitboard {
    QUADRANT_OF[square.index()]
}
