//! The eight symmetries of the board.

use super::position::Position;
use super::square::{Bitboard, Square};

/// A symmetry of the board: an optional transposition (a1-h8 diagonal) after optional mirrorings of files and ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Symmetry(u8);

const MIRROR_FILES: u8 = 1;
const MIRROR_RANKS: u8 = 2;
const TRANSPOSE: u8 = 4;

impl Symmetry {
    /// All eight, the identity first.
    pub const ALL: [Self; 8] = [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];

    /// The image of a square.
    pub const fn square(self, square: Square) -> Square {
        let (mut column, mut row) = (square.index() % 8, square.index() / 8);
        if self.0 & MIRROR_FILES != 0 {
            column = 7 - column;
        }
        if self.0 & MIRROR_RANKS != 0 {
            row = 7 - row;
        }
        if self.0 & TRANSPOSE != 0 {
            (column, row) = (row, column);
        }
        Square::new((row * 8 + column) as u8)
    }

    /// The image of a set of squares.
    pub const fn bitboard(self, mut squares: Bitboard) -> Bitboard {
        if self.0 & MIRROR_FILES != 0 {
            squares = mirror_files(squares);
        }
        if self.0 & MIRROR_RANKS != 0 {
            squares = squares.swap_bytes();
        }
        if self.0 & TRANSPOSE != 0 {
            squares = transpose(squares);
        }
        squares
    }

    /// The image of a position.
    pub const fn position(self, position: Position) -> Position {
        Position { player: self.bitboard(position.player), opponent: self.bitboard(position.opponent) }
    }
}

const fn mirror_files(squares: Bitboard) -> Bitboard {
    squares.swap_bytes().reverse_bits()
}

/// Exchanges bits between blocks of 1, 2 and 4 squares: the classic 8 x 8 bit-matrix transposition by masked swaps.
const fn transpose(squares: Bitboard) -> Bitboard {
    let s = squares;
    let t = (s ^ (s >> 7)) & 0x00aa_00aa_00aa_00aa;
    let s = s ^ t ^ (t << 7);
    let t = (s ^ (s >> 14)) & 0x0000_cccc_0000_cccc;
    let s = s ^ t ^ (t << 14);
    let t = (s ^ (s >> 28)) & 0x0000_0000_f0f0_f0f0;
    s ^ t ^ (t << 28)
}

/// The least of a position's eight images, by the player's discs, then the opponent's.
pub fn canonical(position: Position) -> Position {
    Symmetry::ALL.map(|symmetry| symmetry.position(position)).into_iter().min().expect("there are eight")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::squares;

    #[test]
    fn bitboards_go_where_their_squares_go() {
        for symmetry in Symmetry::ALL {
            for square in Square::all() {
                assert_eq!(symmetry.bitboard(square.bit()), symmetry.square(square).bit());
            }
            let set = 0x0123_4567_89ab_cdef;
            let moved = squares(set).fold(0, |all, square| all | symmetry.square(square).bit());
            assert_eq!(symmetry.bitboard(set), moved);
        }
    }

    #[test]
    fn the_eight_are_different_and_keep_the_rules() {
        let start = Position::START.play("f5".parse().unwrap());
        let images: std::collections::HashSet<_> = Symmetry::ALL.iter().map(|s| s.position(start)).collect();
        assert_eq!(images.len(), 8);
        for symmetry in Symmetry::ALL {
            assert_eq!(symmetry.position(start).moves(), symmetry.bitboard(start.moves()));
        }
    }
}
