//! Nodes with so many empty squares that asking the midgame evaluation for the order of their moves pays.

use arrayvec::ArrayVec;

use super::Search;
use super::deep::{MOST, log2};
use super::last::NO_VALUE;
use super::order::{Move, Moves, weighted_count};
use super::parity::quadrant;
use super::stability::stable_edges;
use super::table::Known;
use crate::board::{Bitboard, Position, Square};
use crate::eval::{Evaluator, Score};

/// From this many empty squares on, nodes are guided.
pub(super) const GUIDED: u32 = 12;

/// From this many on, they look at the stop flag.
const STOPPABLE: u32 = 14;

/// Searches for the order of moves look at it with so many plies to go.
const STOPPABLE_PROBE: u32 = 4;

/// The worth of a move is less by this for each reply it allows, corners counting double: what is to be found first is not
/// the best move but a good one that is quickly shown to be good.
const DISCS_PER_REPLY: i32 = 3;

/// Moves worse than the best one by more than this are not told apart by their values.
const MARGIN: i32 = 12 * Score::DISC;

/// How deep to search for the order of moves.
pub(super) fn probe_depth(empties: u32) -> u32 {
    empties.saturating_sub(14) / 2
}

/// The evaluator's states after the moves of a node, by [`Move::place`].
pub(super) type States<S> = ArrayVec<S, MOST>;

impl<E: Evaluator> Search<'_, E> {
    /// Ranks moves by what a search of `depth` plies says of them, the opponent's mobility, and edge stability.
    pub(super) fn guide(
        &mut self,
        position: Position,
        state: &E::State,
        moves: &mut Moves<MOST>,
        known: Known,
        depth: u32,
    ) -> States<E::State> {
        let mut states = States::new();
        let mut best = -Score::INFINITY.0;
        moves.rank_by(known, position, |entry, next| {
            let state = self.evaluator.play(state, entry.to, entry.flips);
            // How much worse than this a move is does not matter.
            let enough = best.saturating_sub(MARGIN).max(-Score::INFINITY.0);
            let value = -self.probe(next, &state, depth, -Score::INFINITY.0, -enough);
            best = best.max(value);
            states.push(state);
            let stable = stable_edges(next.pass()).count_ones() as i32;
            value - DISCS_PER_REPLY * Score::DISC * weighted_count(entry.replies) + Score::DISC / 2 * stable
        });
        states
    }

    /// The value of a position by the evaluator, `depth` plies deep, in units of [`Score`].
    pub(super) fn probe(&mut self, position: Position, state: &E::State, depth: u32, alpha: i32, beta: i32) -> i32 {
        self.nodes += 1;
        if depth == 0 {
            return self.evaluator.evaluate(&position, state).0;
        }
        if depth >= STOPPABLE_PROBE && self.should_stop() {
            return 0;
        }
        let moves = position.moves();
        if moves == 0 {
            if position.opponent_moves() == 0 {
                return Score::from_discs(position.final_score()).0;
            }
            return -self.probe(position.pass(), &self.evaluator.pass(state), depth, -beta, -alpha);
        }
        let mut best = -Score::INFINITY.0;
        let mut moves = Moves::<MOST>::new(position, moves);
        if depth > 1 {
            moves.rank(position, Known::NOTHING, 0, false);
        }
        while let Some(Move { to, flips, .. }) = moves.pick() {
            let next = position.play_unchecked(to, flips);
            let state = self.evaluator.play(state, to, flips);
            best = best.max(-self.probe(next, &state, depth - 1, -beta, -alpha.max(best)));
            if best >= beta {
                break;
            }
        }
        best
    }

    /// The value with the null window (`alpha`, `alpha` + 1), [`GUIDED`] empty squares or more.
    pub(super) fn guided(
        &mut self,
        position: Position,
        state: &E::State,
        moves: Bitboard,
        alpha: i32,
        empties: u32,
        odd: Bitboard,
    ) -> i32 {
        if empties >= STOPPABLE && self.should_stop() {
            return NO_VALUE;
        }
        self.nodes += 1;
        if moves == 0 {
            let theirs = position.opponent_moves();
            if theirs == 0 {
                return position.final_score();
            }
            return -self.guided(position.pass(), &self.evaluator.pass(state), theirs, -alpha - 1, empties, odd);
        }
        let (slot, mut known) = match self.look_up(self.table, position, alpha, self.trust) {
            Ok(found) => found,
            Err(bound) => return bound,
        };
        let nodes_before = self.nodes;
        let mut moves = Moves::new(position, moves);
        if let Some(bound) = self.look_ahead(self.table, position, &moves, alpha, self.trust_at(empties - 1)) {
            return bound;
        }
        if let Some(bound) = self.foreseen(position, state, alpha, empties) {
            return bound;
        }
        let states = self.guide(position, state, &mut moves, known, probe_depth(empties));
        let (mut best, mut best_move) = (NO_VALUE, Square::lowest(0));
        while let Some(entry) = moves.pick() {
            let value = self.guided_child(position, &entry, &states[entry.place as usize], alpha, odd);
            if value > best {
                (best, best_move) = (value, entry.to);
                if value > alpha {
                    break;
                }
            }
            if self.splits(empties) {
                (best, best_move) = self.split(position, (moves, states), alpha, odd, (best, best_move));
                break;
            }
        }
        if self.stopped {
            return NO_VALUE;
        }
        known.learn(best, alpha, best_move);
        self.table.store(slot, known, log2(self.nodes - nodes_before));
        best
    }

    /// The value of a guided node's move; `state` is the evaluator's state after it.
    pub(super) fn guided_child(
        &mut self,
        position: Position,
        entry: &Move,
        state: &E::State,
        alpha: i32,
        odd: Bitboard,
    ) -> i32 {
        let next = position.play_unchecked(entry.to, entry.flips);
        let empties = next.empties();
        let odd = odd ^ quadrant(entry.to);
        if empties >= GUIDED {
            -self.guided(next, state, entry.replies, -alpha - 1, empties, odd)
        } else {
            -self.many(next, entry.replies, -alpha - 1, empties, odd)
        }
    }
}
