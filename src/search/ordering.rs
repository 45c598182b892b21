//! Moves with scores, picked best first: the better the first one, the smaller the tree.

use arrayvec::ArrayVec;
use wide::i32x8;

use super::table::{Bucket, Entry, NO_MOVE, Table, Trust};
use crate::board::{Bitboard, C_SQUARES, CORNERS, Position, Square, X_SQUARES, squares};

/// A legal move with what it takes to play it.
#[derive(Clone, Copy)]
pub(super) struct ListedMove {
    /// The discs it turns over.
    pub flips: Bitboard,
    /// The opponent's legal moves after it.
    pub replies: Bitboard,
    pub to: Square,
}

/// Room for the moves of any position.
pub(super) const MAX_MOVES: usize = 64;

/// Up to `N` legal moves of a position, picked best first; `N` is a multiple of 8.
pub(super) struct MoveList<const N: usize> {
    moves: ArrayVec<ListedMove, N>,
    /// The [`key`] of each move, or [`PICKED`]. Kept apart from the moves to be compared in vectors.
    keys: [i32; N],
    /// The largest key, or [`PICKED`] if it is not known.
    largest: i32,
    /// The places of moves not picked yet, one bit each.
    rest: u64,
}

/// The score of a move that the table prefers: above all others.
const PREFERRED: i32 = 1 << 23;

/// The key of moves that were picked: below all others.
const PICKED: i32 = i32::MIN;

/// A key orders moves by score, and equal ones by place: the low bits are the move's place in the list, counted down.
#[inline]
fn key(place: usize, score: i32) -> i32 {
    debug_assert!(score.abs() <= PREFERRED + 1);
    score << 6 | (63 - place as i32)
}

/// Keys in a vector.
const WIDTH: usize = i32x8::LANES as usize;

impl<const N: usize> MoveList<N> {
    /// No moves yet.
    #[inline]
    pub const fn new() -> Self {
        const { assert!(N <= MAX_MOVES && N.is_multiple_of(WIDTH)) };
        Self { moves: ArrayVec::new_const(), keys: [PICKED; N], largest: PICKED, rest: 0 }
    }

    /// Adds the moves in `set`, at most `N`, scored by a function of the move, the replies to it and the position after it. A list
    /// is large, so it is filled in place and not returned by value.
    #[inline(always)]
    pub fn generate(&mut self, position: Position, set: Bitboard, score: impl Fn(Square, Bitboard, Position) -> i32) {
        for to in squares(set) {
            let flips = position.flips(to);
            let next = position.play_unchecked(to, flips);
            let replies = next.moves();
            let place = self.moves.len();
            self.moves.push(ListedMove { flips, replies, to });
            self.rest |= 1 << place;
            self.set_score(place, score(to, replies, next));
        }
    }

    /// [`Self::generate`] for [`Self::etc`]: prefetches the table's entries for the positions after the moves.
    #[inline]
    pub fn generate_for_etc<B: Bucket>(&mut self, position: Position, set: Bitboard, table: &Table<B>) {
        self.generate(position, set, |_, _, next| {
            table.prefetch(table.slot(next));
            0
        });
    }

    #[inline]
    fn set_score(&mut self, place: usize, score: i32) {
        self.keys[place] = key(place, score);
        self.largest = self.largest.max(self.keys[place]);
    }

    /// Number of moves picked.
    #[inline]
    pub fn picked(&self) -> usize {
        self.moves.len() - self.rest.count_ones() as usize
    }

    /// Puts the moves of the table's entry before all others. No move may have been picked yet.
    #[inline]
    pub fn prefer(&mut self, known: Entry) {
        if known.moves[0] == NO_MOVE {
            return;
        }
        for place in 0..self.moves.len() {
            if let Some(score) = preferred(known, self.moves[place].to) {
                self.set_score(place, score);
            }
        }
    }

    /// Puts the moves of the table's entry first, and scores the others by a function of the move and the position after it.
    #[inline(always)]
    pub fn score(&mut self, position: Position, known: Entry, mut score: impl FnMut(&ListedMove, Position) -> i32) {
        self.largest = PICKED;
        for place in 0..self.moves.len() {
            if self.rest & 1 << place != 0 {
                let listed = self.moves[place];
                let score = preferred(known, listed.to)
                    .unwrap_or_else(|| score(&listed, position.play_unchecked(listed.to, listed.flips)));
                self.set_score(place, score);
            }
        }
    }

    /// An enhanced transposition cutoff (Jonathan Schaeffer and Aske Plaat, "New advances in alpha-beta searching", 1996): a move
    /// that proves a lower bound above `alpha` by the table's entry for the position after it, and that bound. Entries count if they
    /// have this draft and trust, or more.
    #[inline(always)]
    pub fn etc<B: Bucket>(
        &self,
        table: &Table<B>,
        position: Position,
        (draft, trust): (u8, Trust),
        alpha: i32,
    ) -> Option<(i32, Square)> {
        for child in &self.moves {
            let known = table.probe(table.slot(position.play_unchecked(child.to, child.flips)));
            if let Some(entry) = known
                && entry.draft >= draft
                && entry.trust >= trust
                && -entry.upper > alpha
            {
                return Some((-entry.upper, child.to));
            }
        }
        None
    }

    /// Picks the move to a square, if it is in the list, before any is scored.
    #[inline]
    pub fn pick_unscored(&mut self, to: u8) -> Option<ListedMove> {
        let place = self.moves.iter().position(|listed| listed.to.index() == to as usize)?;
        Some(self.take(place))
    }

    /// Picks the move of the highest score.
    #[inline(always)]
    pub fn pick(&mut self) -> Option<ListedMove> {
        if self.rest == 0 {
            return None;
        }
        let largest = if self.largest == PICKED { self.largest_key() } else { self.largest };
        Some(self.take(63 - (largest & 63) as usize))
    }

    #[inline]
    fn largest_key(&self) -> i32 {
        let used = &self.keys.as_chunks::<WIDTH>().0[..self.moves.len().div_ceil(WIDTH)];
        let largest = used.iter().fold(i32x8::splat(PICKED), |largest, &keys| largest.max(i32x8::new(keys)));
        largest.to_array().into_iter().fold(PICKED, i32::max)
    }

    /// Picks any move.
    #[inline]
    pub fn pick_any(&mut self) -> Option<ListedMove> {
        if self.rest == 0 { None } else { Some(self.take(self.rest.trailing_zeros() as usize)) }
    }

    #[inline]
    fn take(&mut self, place: usize) -> ListedMove {
        self.rest &= !(1 << place);
        self.keys[place] = PICKED;
        self.largest = PICKED;
        self.moves[place]
    }
}

/// The score of a move that is in the table's entry; the entry's best move has the highest.
#[inline]
fn preferred(known: Entry, to: Square) -> Option<i32> {
    let index = to.index() as u8;
    if index == known.moves[0] {
        Some(PREFERRED + 1)
    } else if index == known.moves[1] {
        Some(PREFERRED)
    } else {
        None
    }
}

/// Squares next to a corner.
const BESIDE_CORNERS: Bitboard = C_SQUARES | X_SQUARES;

/// The moves that last cut off nodes shortly before the horizon: often good in similar nodes too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Killers {
    /// The last move to cut off a node at depth 1.
    pub frontier: Bitboard,
    /// The same by the square of the move that had led to the node, as its countermove (Jos Uiterwijk, "The countermove heuristic", 1992).
    pub countermoves: [Bitboard; 64],
    /// The last move to cut off a node at depth 2.
    pub depth2: Bitboard,
}

impl Killers {
    /// None yet.
    pub const NONE: Self = Self { frontier: 0, countermoves: [0; 64], depth2: 0 };
}

/// The move to try first when scoring would cost more than it saves: the first killer, else the second, else a corner, else a move not
/// next to a corner if there is one. `moves` must not be empty.
#[inline]
pub(super) fn likely_best(moves: Bitboard, killers: [Bitboard; 2]) -> Square {
    let mut best = moves;
    for better in [!BESIDE_CORNERS, CORNERS, killers[1], killers[0]] {
        best = if moves & better != 0 { moves & better } else { best };
    }
    Square::lowest(best)
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
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::board::Transcript;
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
    fn killers_come_before_corners_and_squares_beside_corners_last() {
        let [a1, b1, d1, e1] = ["a1", "b1", "d1", "e1"].map(|square| square.parse::<Square>().unwrap());
        let best = |moves: &[Square], killers: [Square; 2]| {
            likely_best(moves.iter().fold(0, |set, to| set | to.bit()), killers.map(Square::bit))
        };
        let all = [a1, b1, d1, e1];
        assert_eq!(best(&all, [e1, d1]), e1);
        assert_eq!(best(&[a1, b1, d1], [e1, d1]), d1);
        assert_eq!(best(&[a1, b1], [e1, d1]), a1);
        assert_eq!(best(&[b1, d1], [e1, e1]), d1);
        assert_eq!(best(&[b1], [e1, d1]), b1);
    }

    #[test]
    fn lists_of_all_lengths_are_picked_in_order_and_to_the_end() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let mut longest = 0;
        let games: Vec<Transcript> = (0..40).map(|_| Transcript::random(&mut rng)).collect();
        for (diagram, _) in games.iter().flat_map(Transcript::steps) {
            let position = diagram.position;
            let all: Vec<Square> = squares(position.moves()).collect();
            longest = longest.max(all.len());
            // Few different scores, so that some are equal: of these the first in the list is picked first.
            let scores: Vec<i32> = all.iter().map(|_| rng.random_range(-3..3) * 2000).collect();
            let score_of = |to: Square| scores[all.iter().position(|&other| other == to).unwrap()];
            let mut expected = all.clone();
            expected.sort_by_key(|&to| -score_of(to));
            let mut moves = MoveList::<MAX_MOVES>::new();
            moves.generate(position, position.moves(), |to, _, _| score_of(to));
            let picked: Vec<_> = std::iter::from_fn(|| moves.pick()).map(|next| next.to).collect();
            assert_eq!((picked, moves.picked()), (expected.clone(), all.len()));

            let sorted = all.len().min(2);
            moves = MoveList::new();
            moves.generate(position, position.moves(), |_, _, _| 0);
            moves.score(position, Entry::UNKNOWN, |next, _| score_of(next.to));
            let mut picked: Vec<_> = (0..sorted).map(|_| moves.pick().unwrap().to).collect();
            picked.extend(std::iter::from_fn(|| moves.pick_any()).map(|next| next.to));
            assert_eq!(picked[..sorted], expected[..sorted]);
            picked.sort_unstable_by_key(|to| to.index());
            assert_eq!(picked, all);
        }
        assert!(longest > 16, "no list of more than two vectors");
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
