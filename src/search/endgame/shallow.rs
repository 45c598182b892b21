//! Nodes near the end of the game: moves are ordered by mobility and parity (fastest first), and from [`TT_MIN_EMPTIES`] on the table
//! and the opponent's stable discs cut nodes. From [`ETC_MIN_EMPTIES`] on stable edge discs count in the order too, and enhanced
//! transposition cutoffs are tried.

use super::Search;
use super::last::NO_VALUE;
use super::parity::{odd_quadrants, quadrant};
use super::stability::{stability_bound, stable_edges};
use crate::board::{Bitboard, Position, Square, squares};
use crate::eval::Evaluator;
use crate::search::node::Node;
use crate::search::ordering::{ListedMove, MoveList, weighted_mobility};
use crate::search::table::{CacheLine, Entry, FULL_WIDTH, Slot, Table, Trust};
use crate::search::tunables::{DEEP_MIN_EMPTIES, ETC_MIN_EMPTIES, SHARED_TT_MIN_EMPTIES, TT_MIN_EMPTIES};

/// Room for the moves of a position with fewer than [`DEEP_MIN_EMPTIES`] empty squares.
const MOVES: usize = (DEEP_MIN_EMPTIES as usize - 1).next_multiple_of(8);

/// The same with fewer than [`ETC_MIN_EMPTIES`].
const FEW_MOVES: usize = (ETC_MIN_EMPTIES as usize - 1).next_multiple_of(8);

impl<'a, E: Evaluator> Search<'a, E> {
    /// The value with the null window (`alpha`, `alpha` + 1), any number of empty squares.
    pub(super) fn null_window(&mut self, position: Position, alpha: i32) -> i32 {
        let empty = position.empty();
        match empty.count_ones() {
            0 => position.final_score(),
            empties @ 1..=4 => self.last_few(position, alpha, empties),
            empties @ 5..DEEP_MIN_EMPTIES => {
                self.shallow(position, position.moves(), alpha, empties, odd_quadrants(empty))
            }
            empties => {
                let node = Node::new(self.midgame.evaluator, &position);
                self.deep(&node, alpha, empties, odd_quadrants(empty))
            }
        }
    }

    /// The value with five empty squares or more, but fewer than [`DEEP_MIN_EMPTIES`]; `moves` are the legal moves.
    #[inline]
    pub(super) fn shallow(
        &mut self,
        position: Position,
        moves: Bitboard,
        alpha: i32,
        empties: u32,
        odd: Bitboard,
    ) -> i32 {
        if empties >= ETC_MIN_EMPTIES {
            self.ordered::<MOVES>(position, moves, alpha, empties, odd)
        } else if empties >= TT_MIN_EMPTIES {
            self.ordered::<FEW_MOVES>(position, moves, alpha, empties, odd)
        } else {
            self.last5(position, moves, alpha, odd)
        }
    }

    /// The value with one to four empty squares, outside the fast path.
    fn last_few(&mut self, position: Position, alpha: i32, empties: u32) -> i32 {
        if empties == 4 {
            return self.last4(position, alpha, odd_quadrants(position.empty()));
        }
        let moves = position.moves();
        if moves == 0 {
            let over = position.opponent_moves() == 0;
            return if over { position.final_score() } else { -self.null_window(position.pass(), -alpha - 1) };
        }
        let values = squares(moves).map(|x| -self.null_window(position.play(x), -alpha - 1));
        values.max().expect("there are moves")
    }

    fn ordered<const N: usize>(
        &mut self,
        position: Position,
        moves: Bitboard,
        alpha: i32,
        empties: u32,
        odd: Bitboard,
    ) -> i32 {
        self.endgame_nodes += 1;
        if moves == 0 {
            return self.shallow_passed(position, alpha, empties, odd);
        }
        let table = self.table_for(empties);
        let (slot, mut known) = match self.look_up(table, position, alpha, FULL_WIDTH) {
            Ok(found) => found,
            Err(bound) => return bound,
        };
        let nodes_before = self.endgame_nodes;
        let mut list = MoveList::<N>::new();
        if empties < ETC_MIN_EMPTIES {
            list.generate(position, moves, |to, replies, _| fastest_first(to, replies, odd));
            list.prefer(known);
        } else {
            let after = self.table_for(empties - 1);
            list.generate_for_etc(position, moves, after);
            if let Some((bound, _)) = list.etc(after, position, (0, FULL_WIDTH), alpha) {
                return bound;
            }
            list.score(position, known, |entry, next| {
                fastest_first(entry.to, entry.replies, odd) + 4 * stable_edges(next.pass()).count_ones() as i32
            });
        }
        let (mut best, mut best_move) = (NO_VALUE, Square::lowest(0));
        while let Some(ListedMove { to, flips, replies }) = list.pick() {
            let next = position.play_unchecked(to, flips);
            let value = -self.shallow(next, replies, -alpha - 1, empties - 1, odd ^ quadrant(to));
            if value > best {
                (best, best_move) = (value, to);
                if value > alpha {
                    break;
                }
            }
        }
        if self.stopped() {
            return NO_VALUE;
        }
        known.update(best, (alpha, alpha + 1));
        known.prefer(best_move);
        table.store(slot, Entry { draft: bit_length(self.endgame_nodes - nodes_before), ..known });
        best
    }

    /// [`Self::shallow`] without a legal move.
    #[cold]
    pub(super) fn shallow_passed(&mut self, position: Position, alpha: i32, empties: u32, odd: Bitboard) -> i32 {
        let theirs = position.opponent_moves();
        if theirs == 0 {
            return position.final_score();
        }
        -self.shallow(position.pass(), theirs, -alpha - 1, empties, odd)
    }

    /// The table for positions with this number of empty squares.
    #[inline]
    pub(super) fn table_for(&self, empties: u32) -> &'a Table<CacheLine> {
        if empties >= SHARED_TT_MIN_EMPTIES { self.shared.table } else { self.near }
    }

    /// The slot and entry of a position, or as an error the bound, from the entry or from stable discs, that makes searching it
    /// unnecessary.
    #[inline(always)]
    pub(super) fn look_up(
        &self,
        table: &Table<CacheLine>,
        position: Position,
        alpha: i32,
        trust: Trust,
    ) -> Result<(Slot, Entry), i32> {
        if let Some(bound) = stability_bound(position, alpha) {
            return Err(bound);
        }
        let slot = table.slot(position);
        let known = table.probe(slot).unwrap_or(Entry::UNKNOWN).for_trust(trust);
        match known.cutoff(alpha) {
            Some(bound) => Err(bound),
            None => Ok((slot, known)),
        }
    }
}

/// The worth of squares, to break ties between moves: corners, then those that do not give a corner away.
static SQUARE_SCORES: [i8; 64] = square_scores();

const fn square_scores() -> [i8; 64] {
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

/// The score of a move: the fewest replies first, corners counting double; parity and the kind of square break ties.
#[inline(always)]
pub(super) fn fastest_first(to: Square, replies: Bitboard, odd: Bitboard) -> i32 {
    let parity = 8 * (odd & to.bit() != 0) as i32;
    SQUARE_SCORES[to.index()] as i32 - 32 * weighted_mobility(replies) + parity
}

/// The draft of an entry: the number of bits of the nodes visited for it.
pub(super) fn bit_length(nodes: u64) -> u8 {
    (u64::BITS - nodes.leading_zeros()) as u8
}
