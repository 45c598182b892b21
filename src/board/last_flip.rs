//! How many discs the last move of a game turns over.
//!
//! With one empty square left, the discs on a line through it are known from the player's discs alone, so eight bits of a
//! line give the number of flips on it by one look in a table.
#![allow(unsafe_code)]

use super::square::{Bitboard, Square};

/// The number of discs turned over if `player` fills the only empty square `to`; 0 where the move is illegal.
#[inline]
pub(super) fn count_last_flips(player: Bitboard, to: Square) -> u32 {
    lines::count(player, to)
}

#[cfg(all(target_arch = "x86_64", target_feature = "bmi2"))]
mod lines {
    use super::{Bitboard, Square};
    use core::arch::x86_64::_pext_u64;

    /// For each place of the empty square on a line, and each set of the player's discs on the line, the discs turned over.
    static FLIPS: [[u8; 256]; 8] = flips_by_place();

    const fn flips_by_place() -> [[u8; 256]; 8] {
        let mut table = [[0; 256]; 8];
        let mut place = 0;
        while place < 8 {
            let mut discs = 0;
            while discs < 256 {
                table[place][discs] = run(discs, place as i32, 1) + run(discs, place as i32, -1);
                discs += 1;
            }
            place += 1;
        }
        table
    }

    /// The opponent discs next to `place` in one direction, if a disc of the player closes them in. Squares beyond the end of
    /// a line shorter than eight look like opponent discs and close nothing in.
    const fn run(discs: usize, place: i32, step: i32) -> u8 {
        let (mut at, mut length) = (place + step, 0);
        while at >= 0 && at < 8 {
            if discs >> at & 1 != 0 {
                return length;
            }
            at += step;
            length += 1;
        }
        0
    }

    /// The file and the two diagonals through a square, and the square's place on each.
    #[derive(Clone, Copy)]
    struct Lines {
        masks: [u64; 3],
        places: [u8; 3],
    }

    static LINES: [Lines; 64] = all_lines();

    const fn all_lines() -> [Lines; 64] {
        let mut all = [Lines { masks: [0; 3], places: [0; 3] }; 64];
        let mut square = 0;
        while square < 64 {
            let (column, row) = (square % 8, square / 8);
            let mut other = 0;
            while other < 64 {
                let (c, r) = (other % 8, other / 8);
                let on_line = [c == column, c - r == column - row, c + r == column + row];
                let mut line = 0;
                while line < 3 {
                    if on_line[line] {
                        all[square as usize].masks[line] |= 1 << other;
                        all[square as usize].places[line] += (other < square) as u8;
                    }
                    line += 1;
                }
                other += 1;
            }
            square += 1;
        }
        all
    }

    #[inline]
    pub(super) fn count(player: Bitboard, to: Square) -> u32 {
        let lines = &LINES[to.index()];
        let row = (player >> (to.index() & 56)) & 0xff;
        let mut count = FLIPS[to.index() & 7][row as usize] as u32;
        for (mask, place) in lines.masks.into_iter().zip(lines.places) {
            // SAFETY: this module is only compiled for targets with BMI2.
            let discs = unsafe { _pext_u64(player, mask) };
            count += FLIPS[(place & 7) as usize][(discs & 0xff) as usize] as u32;
        }
        count
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "bmi2")))]
mod lines {
    use super::super::flip::flips;
    use super::{Bitboard, Square};

    #[inline]
    pub(super) fn count(player: Bitboard, to: Square) -> u32 {
        flips(player, !(player | to.bit()), to).count_ones()
    }
}
