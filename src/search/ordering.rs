//! Moves with scores, picked best first: the better the first one, the smaller the tree.

use arrayvec::ArrayVec;

use super::table::{Bucket, Entry, Table, Trust};
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

    /// Adds the moves in `set`, at most `N`, not scored yet. `on_next` hears of the position after each. A list is long: it is filled
    /// where it lies, not returned by value.
    #[inline]
    pub fn generate(&mut self, position: Position, set: Bitboard, on_next: impl Fn(Position)) {
        for to in squares(set) {
            let flips = position.flips(to);
            let next = position.play_unchecked(to, flips);
            on_next(next);
            self.moves.push(ScoredMove { flips, replies: next.moves(), score: 0, to });
        }
    }

    /// [`Self::generate`] for [`Self::etc`]: what the table knows of the positions after the moves is fetched meanwhile.
    #[inline]
    pub fn generate_for_etc<B: Bucket>(&mut self, position: Position, set: Bitboard, table: &Table<B>) {
        self.generate(position, set, |next| table.prefetch(table.slot(next)));
    }

    /// The moves not picked yet, in no useful order.
    #[inline]
    pub fn left(&self) -> &[ScoredMove] {
        &self.moves[self.picked..]
    }

    /// How many were picked.
    #[inline]
    pub fn picked(&self) -> usize {
        self.picked
    }

    /// Scores the moves not picked yet by a function of the move and the position after it. The moves of the table's entry come
    /// before all others, and after them one that leaves the opponent no disc.
    #[inline(always)]
    pub fn score(&mut self, position: Position, known: Entry, mut score: impl FnMut(&ScoredMove, Position) -> i32) {
        for entry in &mut self.moves[self.picked..] {
            let next = position.play_unchecked(entry.to, entry.flips);
            let index = entry.to.index() as u8;
            entry.score = if index == known.moves[0] {
                i32::MAX
            } else if index == known.moves[1] {
                i32::MAX - 1
            } else if next.player == 0 {
                i32::MAX - 2
            } else {
                score(entry, next)
            };
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
        self.left().iter().find_map(|child| {
            let known = table.probe(table.slot(position.play_unchecked(child.to, child.flips)));
            let entry = known.filter(|entry| entry.draft >= draft && entry.trust >= trust)?;
            (-entry.upper > alpha).then_some((-entry.upper, child.to))
        })
    }

    /// Picks the move to a square, if it is one of these, before any is scored.
    #[inline]
    pub fn pick_unscored(&mut self, to: u8) -> Option<ScoredMove> {
        let index = self.moves.iter().position(|entry| entry.to.index() == to as usize)?;
        self.moves.swap(0, index);
        self.picked = 1;
        Some(self.moves[0])
    }

    /// Picks the move of the highest score.
    #[inline]
    pub fn pick(&mut self) -> Option<ScoredMove> {
        let left = &mut self.moves[self.picked..];
        let best = (0..left.len()).reduce(|best, i| if left[i].score > left[best].score { i } else { best })?;
        left.swap(0, best);
        self.picked += 1;
        Some(left[0])
    }

    /// Picks any move.
    #[inline]
    pub fn pick_any(&mut self) -> Option<ScoredMove> {
        let next = self.moves.get(self.picked)?;
        self.picked += 1;
        Some(*next)
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
        moves.generate(position, position.moves(), |_| ());
        let child = moves.left()[2];
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
        moves.generate(position, position.moves(), |_| ());
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| moves.left()[i].to);
        let known = Entry { moves: [c.index() as u8, a.index() as u8], ..Entry::UNKNOWN };
        moves.score(position, known, |next, _| if next.to == d { 2 } else { 1 });
        let picked: Vec<_> = std::iter::from_fn(|| moves.pick()).map(|next| next.to).collect();
        assert_eq!(picked, [c, a, d, b]);
    }
}
