//! Sets of squares that several modules use.

use super::Bitboard;

/// a1, h1, a8 and h8.
pub const CORNERS: Bitboard = 0x8100_0000_0000_0081;
/// b2, g2, b7 and g7, diagonally next to the corners.
pub const X_SQUARES: Bitboard = 0x0042_0000_0000_4200;
/// The squares next to the corners along the edges.
pub const C_SQUARES: Bitboard = 0x4281_0000_0000_8142;
/// The quarters of the board.
pub const QUADRANTS: [Bitboard; 4] = [0x0f0f_0f0f, 0xf0f0_f0f0, 0x0f0f_0f0f << 32, 0xf0f0_f0f0 << 32];
/// Distances in bits between neighbours on a row, a file and the two kinds of diagonals.
pub(crate) const STEP: [u32; 4] = [1, 8, 9, 7];
/// The b- to g-file, and the second to seventh rank.
pub(crate) const INNER_FILES: Bitboard = 0x7e7e_7e7e_7e7e_7e7e;
pub(crate) const INNER_RANKS: Bitboard = 0x00ff_ffff_ffff_ff00;
/// The a-file.
pub const FILE_A: Bitboard = 0x0101_0101_0101_0101;
/// The h-file.
pub const FILE_H: Bitboard = FILE_A << 7;

/// The first square (a1, e1, a5 or e5) of each quadrant with an odd number of the given squares.
#[inline]
pub fn odd_quadrants(squares: Bitboard) -> Bitboard {
    // Each quadrant is folded onto its first row, and that onto its first square.
    let parities = [16, 8, 2, 1].into_iter().fold(squares, |squares, distance| squares ^ (squares >> distance));
    parities & (0x11 | 0x11 << 32)
}
