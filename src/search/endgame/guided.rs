//! Nodes with so many empty squares that asking the midgame evaluation for the order of their moves pays.

use super::Search;
use super::deep::{MOST, log2};
use super::last::NO_VALUE;
use super::order::{Move, Moves, weighted_count};
use super::parity::quadrant;
use super::stability::stable_edges;
use super::table::Known;
use crate::board::{Bitboard, Square};
use crate::eval::{Evaluator, Score};
use crate::search::node::Node;

/// From this many empty squares on, nodes are guided.
pub(super) const GUIDED: u32 = 12;

/// From this many on, they look at the stop flag.
const STOPPABLE: u32 = 14;

/// Searches for the order of moves look at it with so many plies to go.
const STOPPABLE_PROBE: u32 = 4;

/// The worth of a move is less by this for each reply it allows, corners counting double: what is to be found first is not
/// the best move but a good one that is quickly shown to be good.
const DISCS_PER_REPLY: i32 = 3;

/// Of moves worse than alpha, or than the best one, by more than this it does not matter how much worse they are.
const MARGIN: i32 = 12 * Score::DISC;

/// How deep to search for the order of moves.
pub(super) fn probe_depth(empties: u32) -> u32 {
    empties.saturating_sub(13) / 3
}

impl<E: Evaluator> Search<'_, E> {
    /// Ranks moves by what a search of `depth` plies says of them, the opponent's mobility, and edge stability.
    pub(super) fn guide(
        &mut self,
        node: &Node<E::State>,
        moves: &mut Moves<MOST>,
        known: Known,
        depth: u32,
        alpha: i32,
    ) {
        let mut enough = alpha * Score::DISC - MARGIN;
        moves.rank_by(known, node.position, |entry, next| {
            let value = self.probe_move(node, entry, depth, enough, Score::INFINITY.0);
            enough = enough.max(value - MARGIN);
            let stable = stable_edges(next.pass()).count_ones() as i32;
            value - DISCS_PER_REPLY * Score::DISC * weighted_count(entry.replies) + Score::DISC / 2 * stable
        });
    }

    /// The value of a move by the evaluator, `depth` plies after it, in units of [`Score`].
    #[inline]
    fn probe_move(&mut self, node: &Node<E::State>, entry: &Move, depth: u32, alpha: i32, beta: i32) -> i32 {
        if depth == 0 {
            self.nodes += 1;
            return -node.leaf_after(self.evaluator, entry.to, entry.flips).0;
        }
        let child = node.play(self.evaluator, entry.to, entry.flips, entry.replies);
        -self.probe(&child, depth, -beta, -alpha)
    }

    /// The value of a node by the evaluator, `depth` plies deep, at least one, in units of [`Score`].
    pub(super) fn probe(&mut self, node: &Node<E::State>, depth: u32, alpha: i32, beta: i32) -> i32 {
        self.nodes += 1;
        if depth >= STOPPABLE_PROBE && self.should_stop() {
            return 0;
        }
        if node.moves == 0 {
            let passed = node.pass(self.evaluator);
            return if passed.moves == 0 { node.result().0 } else { -self.probe(&passed, depth, -beta, -alpha) };
        }
        if depth == 1 {
            return node.frontier(self.evaluator, Score(beta - 1), &mut self.killer, &mut self.nodes).0;
        }
        let mut best = -Score::INFINITY.0;
        let mut moves = Moves::<MOST>::new(node.position, node.moves);
        moves.rank(node.position, Known::NOTHING, 0, false);
        while let Some(entry) = moves.pick() {
            best = best.max(self.probe_move(node, &entry, depth - 1, alpha.max(best), beta));
            if best >= beta {
                break;
            }
        }
        best
    }

    /// The value with the null window (`alpha`, `alpha` + 1), [`GUIDED`] empty squares or more.
    pub(super) fn guided(&mut self, node: &Node<E::State>, alpha: i32, empties: u32, odd: Bitboard) -> i32 {
        if empties >= STOPPABLE && self.should_stop() {
            return NO_VALUE;
        }
        self.nodes += 1;
        let position = node.position;
        if node.moves == 0 {
            let passed = node.pass(self.evaluator);
            if passed.moves == 0 {
                return position.final_score();
            }
            return -self.guided(&passed, -alpha - 1, empties, odd);
        }
        let (slot, mut known) = match self.look_up(self.table, position, alpha, self.trust) {
            Ok(found) => found,
            Err(bound) => return bound,
        };
        let nodes_before = self.nodes;
        let mut moves = Moves::new(position, node.moves);
        if let Some(bound) = self.look_ahead(self.table, position, &moves, alpha, self.trust_at(empties - 1)) {
            return bound;
        }
        if let Some(bound) = self.foreseen(node, alpha, empties) {
            return bound;
        }
        let (mut best, mut best_move) = (NO_VALUE, Square::lowest(0));
        if let Some(entry) = moves.pick_unranked(position, known.moves[0]) {
            (best, best_move) = (self.guided_child(node, &entry, alpha, odd), entry.to);
        }
        if best <= alpha {
            self.guide(node, &mut moves, known, probe_depth(empties), alpha);
        }
        while best <= alpha {
            if best > NO_VALUE && self.splits(empties) {
                (best, best_move) = self.split(node, moves, alpha, odd, (best, best_move));
                break;
            }
            let Some(entry) = moves.pick() else { break };
            let value = self.guided_child(node, &entry, alpha, odd);
            if value > best {
                (best, best_move) = (value, entry.to);
            }
        }
        if self.stopped {
            return NO_VALUE;
        }
        known.learn(best, alpha, best_move);
        self.table.store(slot, known, log2(self.nodes - nodes_before));
        best
    }

    /// The value of a guided node's move.
    pub(super) fn guided_child(&mut self, node: &Node<E::State>, entry: &Move, alpha: i32, odd: Bitboard) -> i32 {
        let Move { to, flips, replies, .. } = *entry;
        let empties = node.position.empties() - 1;
        let odd = odd ^ quadrant(to);
        if empties >= GUIDED {
            -self.guided(&node.play(self.evaluator, to, flips, replies), -alpha - 1, empties, odd)
        } else {
            -self.many(node.position.play_unchecked(to, flips), replies, -alpha - 1, empties, odd)
        }
    }
}
