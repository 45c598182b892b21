//! The order in which moves are tried where a list of them pays: the better the first guess, the smaller the tree.

use arrayvec::ArrayVec;

use super::stability::stable_edges;
use super::table::Known;
use crate::board::{Bitboard, CORNERS, Position, Square, squares};

/// A legal move, what the opponent can answer, and its rank.
#[derive(Clone, Copy)]
pub(super) struct Move {
    /// The discs it turns over.
    pub flips: Bitboard,
    /// The opponent's legal moves after it.
    pub replies: Bitboard,
    /// Higher is tried earlier.
    pub rank: i32,
    pub to: Square,
}

/// Up to `MOST` legal moves of a position, picked best first.
pub(super) struct Moves<const MOST: usize> {
    moves: ArrayVec<Move, MOST>,
    picked: usize,
}

/// Where discs tend to be worth having: corners, then what does not give a corner away.
static SQUARE_RANK: [i8; 64] = square_ranks();

const fn square_ranks() -> [i8; 64] {
    let quarter = [[9, 2, 8, 6], [2, 1, 3, 4], [8, 3, 7, 5], [6, 4, 5, 0]];
    let mut table = [0; 64];
    let mut square = 0;
    while square < 64 {
        let (mut column, mut row) = (square % 8, square / 8);
        if column > 3 {
            column = 7 - column;
        }
        if row > 3 {
            row = 7 - row;
        }
        table[square] = quarter[row][column];
        square += 1;
    }
    table
}

/// The number of moves in a set, corners counting double.
#[inline]
pub(super) fn weighted_count(moves: Bitboard) -> i32 {
    (moves.count_ones() + (moves & CORNERS).count_ones()) as i32
}

impl<const MOST: usize> Moves<MOST> {
    /// The moves in `set`, at most `MOST`, not ranked yet.
    #[inline]
    pub fn new(position: Position, set: Bitboard) -> Self {
        let mut moves = ArrayVec::new();
        for to in squares(set) {
            moves.push(Move { flips: position.flips(to), replies: 0, rank: 0, to });
        }
        Self { moves, picked: 0 }
    }

    /// The moves, in no useful order until ranked and picked.
    pub fn as_slice(&self) -> &[Move] {
        &self.moves
    }

    /// Picks the move to a square, if it is one of these, before any is ranked.
    #[inline]
    pub fn pick_unranked(&mut self, position: Position, to: u8) -> Option<Move> {
        let index = self.moves.iter().position(|entry| entry.to.index() == to as usize)?;
        self.moves.swap(0, index);
        self.picked = 1;
        let entry = &mut self.moves[0];
        entry.replies = position.play_unchecked(entry.to, entry.flips).moves();
        Some(*entry)
    }

    /// Ranks the moves not picked yet: those known to be good, then by `rank_of` a move and the position after it.
    #[inline(always)]
    pub fn rank_by(&mut self, known: Known, position: Position, mut rank_of: impl FnMut(&Move, Position) -> i32) {
        for entry in &mut self.moves[self.picked..] {
            let next = position.play_unchecked(entry.to, entry.flips);
            entry.replies = next.moves();
            let index = entry.to.index() as u8;
            entry.rank = if index == known.moves[0] {
                i32::MAX
            } else if index == known.moves[1] {
                i32::MAX - 1
            } else if next.player == 0 {
                i32::MAX - 2
            } else {
                rank_of(entry, next)
            };
        }
    }

    /// Ranks the moves: those known to be good, then the fewest replies for the opponent (fastest first), corners counting
    /// double, with edge stability, parity and the kind of square to tell equals apart.
    #[inline]
    pub fn rank(&mut self, position: Position, known: Known, odd: Bitboard, thorough: bool) {
        self.rank_by(known, position, |entry, next| {
            let mut rank = SQUARE_RANK[entry.to.index()] as i32;
            rank -= 32 * weighted_count(entry.replies);
            if odd & entry.to.bit() != 0 {
                rank += 8;
            }
            if thorough {
                rank += 8 * stable_edges(next.pass()).count_ones() as i32;
            }
            rank
        });
    }

    /// The best move not picked yet.
    #[inline]
    pub fn pick(&mut self) -> Option<Move> {
        let left = &mut self.moves[self.picked..];
        let best = (0..left.len()).reduce(|best, i| if left[i].rank > left[best].rank { i } else { best })?;
        left.swap(0, best);
        self.picked += 1;
        Some(left[0])
    }
}
