//! Moves with scores, picked best first: the better the first one, the smaller the tree.

use arrayvec::ArrayVec;

use super::table::{Bucket, Entry, NO_MOVE, Table, Trust};
use crate::board::{Bitboard, C_SQUARES, CORNERS, Position, Square, X_SQUARES, squares};

/// A legal move with what it takes to play it and its place in the order.
#[derive(Clone, Copy)]
pub(super) struct ScoredMove {
    /// The discs it turns over.
    pub flips: Bitboard,
    /// The opponent's legal moves after it.
    pub replies: Bitboard,
    /// The higher, the earlier it is searched. Of no meaning outside its list.
    pub score: i32,
    pub to: Square,
}

/// The score of moves that were picked, below all others.
const PICKED: i32 = i32::MIN;

/// The least score of a move that the table prefers.
const PREFERRED: i32 = i32::MAX - 1;

/// Room for the moves of any position.
pub(super) const MAX_MOVES: usize = 64;

/// Up to `N` legal moves of a position, picked best first.
pub(super) struct MoveList<const N: usize> {
    moves: ArrayVec<ScoredMove, N>,
    picked: usize,
}

impl<const N: usize> MoveList<N> {
    /// No moves yet.
    #[inline]
    pub const fn new() -> Self {
        Self { moves: ArrayVec::new_const(), picked: 0 }
    }

    /// Adds the moves in `set`, at most `N`, with scores by a function of the move, the replies to it and the position after it. A
    /// list is long: it is filled where it lies, not returned by value.
    #[inline(always)]
    pub fn generate(&mut self, position: Position, set: Bitboard, score: impl Fn(Square, Bitboard, Position) -> i32) {
        for to in squares(set) {
            let flips = position.flips(to);
            let next = position.play_unchecked(to, flips);
            let replies = next.moves();
            self.moves.push(ScoredMove { flips, replies, score: score(to, replies, next), to });
        }
    }

    /// [`Self::generate`] for [`Self::etc`]: what the table knows of the positions after the moves is fetched meanwhile.
    #[inline]
    pub fn generate_for_etc<B: Bucket>(&mut self, position: Position, set: Bitboard, table: &Table<B>) {
        self.generate(position, set, |_, _, next| {
            table.prefetch(table.slot(next));
            0
        });
    }

    /// How many were picked.
    #[inline]
    pub fn picked(&self) -> usize {
        self.picked
    }

    /// Puts the moves of the table's entry before all others.
    #[inline]
    pub fn prefer(&mut self, known: Entry) {
        if known.moves[0] == NO_MOVE {
            return;
        }
        for entry in self.moves.iter_mut().filter(|entry| entry.score != PICKED) {
            let index = entry.to.index() as u8;
            if index == known.moves[0] {
                entry.score = PREFERRED + 1;
            } else if index == known.moves[1] {
                entry.score = PREFERRED;
            }
        }
    }

    /// Puts the moves of the table's entry before all others, and scores those by a function of the move and the position after it.
    #[inline(always)]
    pub fn score(&mut self, position: Position, known: Entry, mut score: impl FnMut(&ScoredMove, Position) -> i32) {
        self.prefer(known);
        for entry in &mut self.moves {
            if entry.score != PICKED && entry.score < PREFERRED {
                entry.score = score(entry, position.play_unchecked(entry.to, entry.flips));
            }
        }
    }

    /// An enhanced transposition cutoff (Jonathan Schaeffer and Aske Plaat, "New advances in alpha-beta searching", 1996): a lower
    /// bound above `alpha` on the position's value that the table knows by one of the moves, and that move. Entries of the positions
    /// after the moves count if they have this draft and trust, or more.
    #[inline]
    pub fn etc<B: Bucket>(
        &self,
        table: &Table<B>,
        position: Position,
        (draft, trust): (u8, Trust),
        alpha: i32,
    ) -> Option<(i32, Square)> {
        self.moves.iter().find_map(|child| {
            let known = table.probe(table.slot(position.play_unchecked(child.to, child.flips)));
            let entry = known.filter(|entry| entry.draft >= draft && entry.trust >= trust)?;
            (-entry.upper > alpha).then_some((-entry.upper, child.to))
        })
    }

    /// Picks the move to a square, if it is one of these, before any is scored.
    #[inline]
    pub fn pick_unscored(&mut self, to: u8) -> Option<ScoredMove> {
        let index = self.moves.iter().position(|entry| entry.to.index() == to as usize)?;
        Some(self.take(index))
    }

    /// Picks the move of the highest score.
    #[inline]
    pub fn pick(&mut self) -> Option<ScoredMove> {
        if self.picked == self.moves.len() {
            return None;
        }
        // Of equals the first; a maximum of numbers takes no branch, which would be hard to predict.
        let key = |(index, entry): (usize, &ScoredMove)| (entry.score as i64) << 8 | (255 - index) as i64;
        let best = self.moves.iter().enumerate().map(key).max()?;
        Some(self.take(255 - (best & 255) as usize))
    }

    /// Picks any move.
    #[inline]
    pub fn pick_any(&mut self) -> Option<ScoredMove> {
        let index = self.moves.iter().position(|entry| entry.score != PICKED)?;
        Some(self.take(index))
    }

    /// Moves stay where they are: to swap them would cost more than to pass those that were picked.
    #[inline]
    fn take(&mut self, index: usize) -> ScoredMove {
        self.picked += 1;
        let entry = &mut self.moves[index];
        let taken = *entry;
        entry.score = PICKED;
        taken
    }
}

/// Squares next to a corner.
const BESIDE_CORNERS: Bitboard = C_SQUARES | X_SQUARES;

/// The move to try first where scoring would cost more than it saves: a killer, else a corner, else a move not next to a corner if
/// there is one. `moves` must not be empty.
#[inline]
pub(super) fn likely_best(moves: Bitboard, killers: Bitboard) -> Square {
    let mut first = moves;
    for better in [!BESIDE_CORNERS, CORNERS, killers] {
        first = if moves & better != 0 { moves & better } else { first };
    }
    Square::lowest(first)
}

/// The score of a move by the opponent's mobility after it: minus two for each reply; 16 for a corner, -4 for a square beside one.
#[inline]
pub(super) fn mobility_score(to: Square, replies: Bitboard) -> i32 {
    let corner = if to.bit() & CORNERS != 0 { 16 } else { 0 };
    let beside = if to.bit() & BESIDE_CORNERS != 0 { -4 } else { 0 };
    corner + beside - 2 * replies.count_ones() as i32
}

/// The number of moves in a set, corners counting double.
#[inline]
pub(super) fn weighted_mobility(moves: Bitboard) -> i32 {
    (moves.count_ones() + (moves & CORNERS).count_ones()) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::table::CacheLine;

    #[test]
    fn an_etc_needs_draft_trust_and_a_bound_above_alpha() {
        let table = Table::<CacheLine>::new(8);
        let position = Position::START;
        let mut moves = MoveList::<8>::new();
        moves.generate(position, position.moves(), |_, _, _| 0);
        let child = moves.moves[2];
        let slot = table.slot(position.play_unchecked(child.to, child.flips));
        table.store(slot, Entry { upper: -5, draft: 4, trust: 2, ..Entry::UNKNOWN });
        let etc = |draft, trust, alpha| moves.etc(&table, position, (draft, trust), alpha);
        assert_eq!(etc(4, 2, 4), Some((5, child.to)));
        assert_eq!([etc(5, 2, 4), etc(4, 3, 4), etc(4, 2, 5)], [None; 3]);
    }

    #[test]
    fn moves_are_picked_by_their_scores_the_known_ones_first() {
        let position = Position::START;
        let mut moves = MoveList::<8>::new();
        moves.generate(position, position.moves(), |_, _, _| 0);
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| moves.moves[i].to);
        let known = Entry { moves: [c.index() as u8, a.index() as u8], ..Entry::UNKNOWN };
        moves.score(position, known, |next, _| if next.to == d { 2 } else { 1 });
        let picked: Vec<_> = std::iter::from_fn(|| moves.pick()).map(|next| next.to).collect();
        assert_eq!(picked, [c, a, d, b]);
    }
}
