//! Many empty squares: principal variation search over the transposition table.
//!
//! Null-window nodes end early by what the table knows of them or of their children (enhanced transposition cutoffs,
//! J. Schaeffer and A. Plaat, "New advances in alpha-beta searching", 1996) and by the opponent's stable discs.

use arrayvec::ArrayVec;

use super::Search;
use super::guided::{GUIDED, probe_depth};
use super::last::NO_VALUE;
use super::order::{Move, Moves};
use super::parity::{odd_quadrants, quadrant};
use super::selective::{EXACT, Trust};
use super::stability::stable_discs;
use super::table::{Known, Slot, Table};
use crate::board::{Bitboard, Position, Square};
use crate::eval::Evaluator;
use crate::search::node::Node;

/// From this many empty squares on, nodes use the table and stability, and rank their moves.
const RANKED: u32 = 6;
/// From this many on, they look their children up before searching any, and rank more thoroughly.
const DEEP: u32 = 9;
/// From this many on, positions go to the large table.
const FAR: u32 = 11;
/// Nodes of the principal variation are few and their order matters most: it is worth this many plies more.
const DEEPER: u32 = 2;
/// Room for the moves of any position.
pub(super) const MOST: usize = 64;
/// Room for the moves of a position with less than [`DEEP`] empty squares.
const FEW: usize = DEEP as usize - 1;

impl<'a, E: Evaluator> Search<'a, E> {
    /// The value with the null window (`alpha`, `alpha` + 1), any number of empty squares.
    pub(super) fn null_window(&mut self, position: Position, alpha: i32) -> i32 {
        let empty = position.empty();
        match empty.count_ones() {
            0 => position.final_score(),
            empties @ 1..=4 => self.few(position, alpha, empties),
            empties @ 5..GUIDED => self.many(position, position.moves(), alpha, empties, odd_quadrants(empty)),
            empties => self.guided(&Node::new(self.evaluator, &position), alpha, empties, odd_quadrants(empty)),
        }
    }

    /// Five empty squares or more, `moves` known.
    #[inline]
    pub(super) fn many(&mut self, position: Position, moves: Bitboard, alpha: i32, empties: u32, odd: Bitboard) -> i32 {
        if empties >= DEEP {
            self.ranked::<MOST>(position, moves, alpha, empties, odd)
        } else if empties >= RANKED {
            self.ranked::<FEW>(position, moves, alpha, empties, odd)
        } else {
            self.last5(position, moves, alpha, odd)
        }
    }

    /// One to four empty squares met outside the fast path.
    fn few(&mut self, position: Position, alpha: i32, empties: u32) -> i32 {
        if empties == 4 {
            return self.last4(position, alpha, odd_quadrants(position.empty()));
        }
        let moves = position.moves();
        if moves == 0 {
            let over = position.opponent_moves() == 0;
            return if over { position.final_score() } else { -self.null_window(position.pass(), -alpha - 1) };
        }
        let mut best = NO_VALUE;
        for x in crate::board::squares(moves) {
            best = best.max(-self.null_window(position.play(x), -alpha - 1));
        }
        best
    }

    fn ranked<const MOST: usize>(
        &mut self,
        position: Position,
        moves: Bitboard,
        alpha: i32,
        empties: u32,
        odd: Bitboard,
    ) -> i32 {
        self.nodes += 1;
        if moves == 0 {
            let theirs = position.opponent_moves();
            if theirs == 0 {
                return position.final_score();
            }
            return -self.ranked::<MOST>(position.pass(), theirs, -alpha - 1, empties, odd);
        }
        let table = self.table_for(empties);
        let (slot, mut known) = match self.look_up(table, position, alpha, EXACT) {
            Ok(found) => found,
            Err(bound) => return bound,
        };
        let nodes_before = self.nodes;
        let mut moves = Moves::<MOST>::new(position, moves);
        if empties >= DEEP
            && let Some(bound) = self.look_ahead(self.table_for(empties - 1), position, &moves, alpha, EXACT)
        {
            return bound;
        }
        moves.rank(position, known, odd, empties >= DEEP);
        let (mut best, mut best_move) = (NO_VALUE, Square::lowest(0));
        while let Some(Move { to, flips, replies, .. }) = moves.pick() {
            let next = position.play_unchecked(to, flips);
            let value = -self.many(next, replies, -alpha - 1, empties - 1, odd ^ quadrant(to));
            if value > best {
                (best, best_move) = (value, to);
                if value > alpha {
                    break;
                }
            }
        }
        if self.stopped {
            return NO_VALUE;
        }
        known.learn(best, alpha, best_move);
        table.store(slot, known, log2(self.nodes - nodes_before));
        best
    }

    /// The table for positions with so many empty squares.
    #[inline]
    fn table_for(&self, empties: u32) -> &'a Table {
        if empties >= FAR { self.table } else { self.near }
    }

    /// What the table knows of a position, or the bound, from there or from stable discs, that makes searching it needless.
    #[inline]
    pub(super) fn look_up(
        &self,
        table: &Table,
        position: Position,
        alpha: i32,
        trust: Trust,
    ) -> Result<(Slot, Known), i32> {
        if let Some(bound) = stability_bound(position, alpha) {
            return Err(bound);
        }
        let slot = table.slot(position);
        let known = table.probe(slot).unwrap_or(Known::NOTHING).for_trust(trust);
        if known.lower as i32 > alpha {
            Err(known.lower as i32)
        } else if known.upper as i32 <= alpha {
            Err(known.upper as i32)
        } else {
            Ok((slot, known))
        }
    }

    /// A lower bound above `alpha` that the table knows by one of the moves.
    #[inline]
    pub(super) fn look_ahead<const MOST: usize>(
        &self,
        table: &Table,
        position: Position,
        moves: &Moves<MOST>,
        alpha: i32,
        trust: Trust,
    ) -> Option<i32> {
        let slot_of = |child: &Move| table.slot(position.play_unchecked(child.to, child.flips));
        // All are fetched before the first is waited for.
        let slots: ArrayVec<Slot, MOST> =
            moves.as_slice().iter().map(slot_of).inspect(|&slot| table.prefetch(slot)).collect();
        slots.into_iter().find_map(|slot| {
            let theirs = table.probe(slot)?.for_trust(trust);
            let bound = -theirs.upper as i32;
            (bound > alpha).then_some(bound)
        })
    }

    /// The value within (`alpha`, `beta`), two even numbers, and a move that reaches it.
    pub(super) fn pvs(&mut self, position: Position, alpha: i32, beta: i32) -> (i32, Option<Square>) {
        self.nodes += 1;
        let moves = position.moves();
        if moves == 0 {
            if position.opponent_moves() == 0 {
                return (position.final_score(), None);
            }
            return (-self.pvs(position.pass(), -beta, -alpha).0, None);
        }
        let table = self.table_for(position.empties());
        let slot = table.slot(position);
        let mut known = table.probe(slot).unwrap_or(Known::NOTHING).for_trust(self.trust_at(position.empties()));
        let nodes_before = self.nodes;
        let mut moves = self.ranked_moves(position, moves, known, alpha);
        let (mut best, mut best_move) = (NO_VALUE, None);
        let mut lower = alpha;
        while let Some(Move { to, flips, .. }) = moves.pick() {
            let next = position.play_unchecked(to, flips);
            // Values are even, so a window of two holds none: there is nothing to find out but on which side the value is.
            let open = beta - lower > 2;
            let first = open && best_move.is_none();
            let mut value = if first { beta } else { -self.null_window(next, -lower - 1) };
            if first || (open && value > lower && value < beta) {
                value = -self.pvs(next, -beta, -lower).0;
            }
            if self.stopped {
                return (NO_VALUE, None);
            }
            if value > best {
                (best, best_move) = (value, Some(to));
                lower = lower.max(value);
                if value >= beta {
                    break;
                }
            }
        }
        if let Some(to) = best_move {
            known.prefer(to);
            if best < beta {
                known.upper = known.upper.min(best as i8);
            }
            if best > alpha {
                known.lower = known.lower.max(best as i8);
            }
            table.store(slot, known, log2(self.nodes - nodes_before));
        }
        (best, best_move)
    }

    /// The moves of a node that is not on the fast path.
    fn ranked_moves(&mut self, position: Position, moves: Bitboard, known: Known, alpha: i32) -> Moves<MOST> {
        let mut moves = Moves::<MOST>::new(position, moves);
        let empties = position.empties();
        if empties >= GUIDED {
            let depth = probe_depth(empties) + DEEPER.min((empties - GUIDED) / 2);
            self.guide(&Node::new(self.evaluator, &position), &mut moves, known, depth, alpha);
        } else {
            moves.rank(position, known, odd_quadrants(position.empty()), true);
        }
        moves
    }

    /// A move of a position with legal moves that reaches `score`, the position's known value.
    pub(super) fn move_reaching(&mut self, position: Position, score: i32) -> Square {
        self.nodes += 1;
        let table = self.table_for(position.empties());
        let known = table.probe(table.slot(position)).unwrap_or(Known::NOTHING);
        let mut moves = self.ranked_moves(position, position.moves(), known, score - 1);
        while let Some(Move { to, flips, .. }) = moves.pick() {
            let next = position.play_unchecked(to, flips);
            if -self.null_window(next, -score) >= score {
                return to;
            }
        }
        unreachable!("a position's value is reached by one of its moves")
    }
}

pub(super) fn log2(nodes: u64) -> u8 {
    (u64::BITS - nodes.leading_zeros()) as u8
}

/// The best the player can still reach, where the opponent's stable discs hold it down to `alpha`.
#[inline]
fn stability_bound(position: Position, alpha: i32) -> Option<i32> {
    if alpha < 10 || position.opponent.count_ones() as i32 * 2 < 64 - alpha {
        return None;
    }
    let bound = 64 - 2 * stable_discs(position.pass()) as i32;
    (bound <= alpha).then_some(bound)
}
