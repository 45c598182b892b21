//! Which discs a move turns over: the most called function of the program.
//!
//! Each of the eight rays from a square is a mask. Towards higher bits, adding one to "opponent, or not on the ray" carries
//! through the run of opponent discs and stops at the first other square of the ray. Towards lower bits, smearing that first
//! square downwards does the same. The four rays of each kind are four lanes of a plain array, which the compiler turns
//! into AVX2 (or NEON) code: one source is both portable and fast.

use super::masks::STEP;
use super::square::{Bitboard, Square};

const fn ray(from: usize, d_column: i32, d_row: i32) -> u64 {
    let (mut column, mut row) = (from as i32 % 8 + d_column, from as i32 / 8 + d_row);
    let mut mask = 0;
    while column >= 0 && column < 8 && row >= 0 && row < 8 {
        mask |= 1 << (8 * row + column);
        column += d_column;
        row += d_row;
    }
    mask
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Rays {
    up: [u64; 4],
    down: [u64; 4],
}

const fn all_rays() -> [Rays; 64] {
    let mut rays = [Rays { up: [0; 4], down: [0; 4] }; 64];
    let mut s = 0;
    while s < 64 {
        rays[s].up = [ray(s, 1, 0), ray(s, 0, 1), ray(s, 1, 1), ray(s, -1, 1)];
        rays[s].down = [ray(s, -1, 0), ray(s, 0, -1), ray(s, -1, -1), ray(s, 1, -1)];
        s += 1;
    }
    rays
}

static RAYS: [Rays; 64] = all_rays();

/// The opponent discs turned over if the player puts a disc on the empty square `to`; none means the move is illegal.
#[inline]
pub(super) fn flips(player: Bitboard, opponent: Bitboard, to: Square) -> Bitboard {
    let rays = &RAYS[to.index()];
    let mut flipped = [0u64; 4];
    for lane in 0..4 {
        let up = rays.up[lane];
        let closing = (opponent | !up).wrapping_add(1) & player & up;
        let closed = closing.wrapping_sub((closing != 0) as u64) & up;

        let down = rays.down[lane];
        let step = STEP[lane];
        let mut reach = down & !opponent;
        reach |= reach >> step;
        reach |= reach >> (2 * step);
        reach |= reach >> (4 * step);
        let first = reach & !(reach >> step) & down & player;
        let open_mask = 0u64.wrapping_sub((first != 0) as u64);
        flipped[lane] = closed | (down & !reach & open_mask);
    }
    (flipped[0] | flipped[1]) | (flipped[2] | flipped[3])
}

/// See [`super::Position::count_last_flips`].
#[inline]
pub(super) fn count_last_flips(player: Bitboard, to: Square) -> [u32; 2] {
    let opponent = !(player | to.bit());
    [flips(player, opponent, to).count_ones(), flips(opponent, player, to).count_ones()]
}
