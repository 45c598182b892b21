//! Legal moves of a position, all at once.
//!
//! Per direction, the run of opponent discs next to the player's discs is filled by doubling (one, two, then two more steps
//! of two); the squares just beyond the runs are the moves. Directions pair up by shift distance, so four lanes cover all
//! eight.
#![allow(unsafe_code)] // An empty piece of assembly: see `outside_vectors`.

use std::ops::{Shl, Shr};

use wide::u64x4;

use super::masks::{INNER_FILES, INNER_RANKS, STEP};
use super::square::Bitboard;

/// Squares that runs may pass over, in each lane's direction.
const PASSABLE: u64x4 = u64x4::new([INNER_FILES, !0, INNER_FILES, INNER_FILES]);

/// Squares with a neighbour on either side, in each lane's direction.
const BETWEEN: u64x4 = u64x4::new([INNER_FILES, INNER_RANKS, INNER_FILES & INNER_RANKS, INNER_FILES & INNER_RANKS]);

const ONE: u64x4 = steps(1);
const TWO: u64x4 = steps(2);

/// Distances of some steps in each lane's direction.
const fn steps(count: u32) -> u64x4 {
    let [a, b, c, d] = STEP;
    u64x4::new([(count * a) as u64, (count * b) as u64, (count * c) as u64, (count * d) as u64])
}

/// The empty squares on which the player may put a disc.
#[inline]
pub(super) fn moves(player: Bitboard, opponent: Bitboard) -> Bitboard {
    let own = u64x4::splat(player);
    let runs = u64x4::splat(opponent) & PASSABLE;
    let runs_left = runs & (runs << ONE);
    let left = extend(runs & (own << ONE), runs, runs_left, Shl::shl);
    let right = extend(runs & (own >> ONE), runs, runs_left >> ONE, Shr::shr);
    any((left << ONE) | (right >> ONE)) & !(player | opponent)
}

/// [`moves`] of the player and of the opponent. The runs of both colours are filled at once, since no disc is in two.
#[inline]
pub(super) fn both(player: Bitboard, opponent: Bitboard) -> [Bitboard; 2] {
    let (own, other) = (u64x4::splat(player), u64x4::splat(opponent));
    let (own_runs, other_runs) = (own & PASSABLE, other & PASSABLE);
    let [own_left, own_right] = [own << ONE, own >> ONE];
    let [other_left, other_right] = [other << ONE, other >> ONE];
    // Discs of the same colour as the one before them, and as the two before them.
    let same_left = (own_runs & own_left) | (other_runs & other_left);
    let same_right = (same_left >> ONE) & PASSABLE;
    let pair_left = same_left & (same_left << ONE);
    let pair_right = (pair_left >> TWO) & PASSABLE;
    let left = (own_runs & other_left) | (other_runs & own_left);
    let right = (own_runs & other_right) | (other_runs & own_right);
    let left = extend(left, same_left, pair_left, Shl::shl) << ONE;
    let right = extend(right, same_right, pair_right, Shr::shr) >> ONE;
    let moves = [(left & other_left) | (right & other_right), (left & own_left) | (right & own_right)];
    moves.map(|moves| outside_vectors(any(moves) & !(player | opponent)))
}

/// The empty squares next to an opponent's disc behind which the line goes on.
#[inline]
pub(super) fn potential(player: Bitboard, opponent: Bitboard) -> Bitboard {
    let between = u64x4::splat(opponent) & BETWEEN;
    any((between << ONE) | (between >> ONE)) & !(player | opponent)
}

/// Fills runs of up to six discs from their first ones on, in the direction of `shift`. `one` are the discs that extend the run of the disc
/// before them, `two` those of them for which the disc before them does so too.
#[inline]
fn extend(first: u64x4, one: u64x4, two: u64x4, shift: impl Fn(u64x4, u64x4) -> u64x4) -> u64x4 {
    let mut filled = first | (one & shift(first, ONE));
    filled |= two & shift(filled, TWO);
    filled | (two & shift(filled, TWO))
}

/// The union of all lanes.
#[inline]
fn any(lanes: u64x4) -> Bitboard {
    let [a, b, c, d] = lanes.to_array();
    (a | b) | (c | d)
}

/// The same squares, in a general register. Without this the compiler counts both sides' moves in vectors, which takes twice as many
/// instructions.
#[inline(always)]
fn outside_vectors(squares: Bitboard) -> Bitboard {
    #[cfg(target_arch = "x86_64")]
    let squares = {
        let mut register = squares;
        // SAFETY: it is no instruction at all.
        unsafe { std::arch::asm!("/* {0} */", inout(reg) register, options(pure, nomem, nostack, preserves_flags)) };
        register
    };
    squares
}
