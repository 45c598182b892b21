//! Nodes with so many empty squares that ordering moves by midgame searches pays.

use arrayvec::ArrayVec;

use super::Search;
use super::last::NO_VALUE;
use super::parity::quadrant;
use super::shallow::{bit_length, fastest_first};
use super::stability::stable_edges;
use crate::board::{Bitboard, Square};
use crate::eval::{Evaluator, Score};
use crate::search::analysis::Line;
use crate::search::node::Node;
use crate::search::ordering::{ListedMove, MAX_MOVES, MoveList, weighted_mobility};
use crate::search::split::SplitPoint;
use crate::search::table::Entry;
use crate::search::tunables::{
    DEEP_MIN_EMPTIES, FAIL_LOW_MARGIN, ORDER_MARGIN, POTENTIAL_PENALTY, REPLY_PENALTY, SPLIT_MIN_EMPTIES,
    STABLE_EDGE_BONUS,
};

/// Depth of the searches that order moves, in plies after the move: a third of the empties beyond 14, rounded down to even. Evaluations
/// after odd numbers of plies are biased, and odd depths need 10 to 20% more nodes. With half of the empties beyond 14 instead, half of
/// all nodes at 30 empties were in these searches.
pub(super) fn order_depth(empties: u32) -> u32 {
    2 * (empties.saturating_sub(14) / 6)
}

impl<E: Evaluator> Search<'_, E> {
    /// Scores moves by midgame searches of `depth` plies, the opponent's mobility and potential mobility, and stable edge discs: the move
    /// to find first is not the best one but a good one that is quickly proved to be good.
    pub(super) fn score_by_search(
        &mut self,
        node: &Node<E::State>,
        moves: &mut MoveList<MAX_MOVES>,
        known: Entry,
        depth: u32,
        alpha: i32,
    ) {
        let mut enough = Score::from_discs(alpha) - ORDER_MARGIN;
        moves.score(node.position, known, |entry, next| {
            let value = self.midgame_value(node, entry, depth, enough);
            enough = enough.max(value - ORDER_MARGIN);
            let penalty = REPLY_PENALTY.0 * weighted_mobility(entry.replies)
                + POTENTIAL_PENALTY.0 * next.potential_moves().count_ones() as i32;
            value.0 - penalty + STABLE_EDGE_BONUS.0 * stable_edges(next.pass()).count_ones() as i32
        });
    }

    /// The value of a move by a midgame search to `depth` plies after it; at or below `alpha` an upper bound.
    #[inline]
    fn midgame_value(&mut self, node: &Node<E::State>, entry: &ListedMove, depth: u32, alpha: Score) -> Score {
        let evaluator = self.midgame.evaluator;
        if depth == 0 {
            self.midgame.nodes += 1;
            return -node.leaf_after(evaluator, entry.to, entry.flips);
        }
        let child = node.play(evaluator, entry.to, entry.flips, entry.replies);
        -self.midgame.pvs(&child, depth, (-Score::INFINITY, -alpha), &mut Line::new())
    }

    /// The value with the null window (`alpha`, `alpha` + 1), [`DEEP_MIN_EMPTIES`] empty squares or more.
    pub(super) fn deep(&mut self, node: &Node<E::State>, alpha: i32, empties: u32, odd: Bitboard) -> i32 {
        if self.should_stop() {
            return NO_VALUE;
        }
        self.endgame_nodes += 1;
        let position = node.position;
        if node.moves == 0 {
            return self.deep_passed(node, alpha, empties, odd);
        }
        let table = self.shared.table;
        let (slot, mut known) = match self.look_up(table, position, alpha, self.shared.trust) {
            Ok(found) => found,
            Err(bound) => return bound,
        };
        let nodes_before = self.nodes();
        let mut moves = MoveList::new();
        moves.generate_for_etc(position, node.moves, table);
        if let Some((bound, _)) = moves.etc(table, position, (0, self.trust_at(empties - 1)), alpha) {
            return bound;
        }
        if let Some(bound) = self.probcut(node, alpha, empties) {
            return bound;
        }
        let (mut best, mut best_move) = (NO_VALUE, Square::lowest(0));
        if let Some(entry) = moves.pick_unscored(known.moves[0]) {
            (best, best_move) = (self.deep_child(node, &entry, alpha, odd), entry.to);
        }
        if best <= alpha {
            if node.leaf(self.midgame.evaluator) <= Score::from_discs(alpha) - FAIL_LOW_MARGIN {
                moves.score(position, known, |entry, _| fastest_first(entry.to, entry.replies, odd));
            } else {
                self.score_by_search(node, &mut moves, known, order_depth(empties), alpha);
            }
        }
        while best <= alpha {
            if best > NO_VALUE && empties >= SPLIT_MIN_EMPTIES && self.shared.own_tables.len() > 1 {
                (best, best_move) = self.split(node, &mut moves, alpha, odd, (best, best_move));
                break;
            }
            let Some(entry) = moves.pick() else { break };
            let value = self.deep_child(node, &entry, alpha, odd);
            if value > best {
                (best, best_move) = (value, entry.to);
            }
        }
        if self.stopped() {
            return NO_VALUE;
        }
        known.update(best, (alpha, alpha + 1));
        known.prefer(best_move);
        table.store(slot, Entry { draft: bit_length(self.nodes() - nodes_before), ..known });
        best
    }

    /// [`Self::deep`] without a legal move.
    #[cold]
    fn deep_passed(&mut self, node: &Node<E::State>, alpha: i32, empties: u32, odd: Bitboard) -> i32 {
        let passed = node.pass(self.midgame.evaluator);
        if passed.moves == 0 {
            return node.position.final_score();
        }
        -self.deep(&passed, -alpha - 1, empties, odd)
    }

    /// The value of a deep node's move.
    fn deep_child(&mut self, node: &Node<E::State>, entry: &ListedMove, alpha: i32, odd: Bitboard) -> i32 {
        let ListedMove { to, flips, replies } = *entry;
        let empties = node.position.empties() - 1;
        let odd = odd ^ quadrant(to);
        if empties >= DEEP_MIN_EMPTIES {
            -self.deep(&node.play(self.midgame.evaluator, to, flips, replies), -alpha - 1, empties, odd)
        } else {
            -self.shallow(node.position.play_unchecked(to, flips), replies, -alpha - 1, empties, odd)
        }
    }

    /// Searches the moves not picked yet on all threads of the pool this runs in; `best` is the result of the picked ones.
    #[cold]
    fn split(
        &mut self,
        node: &Node<E::State>,
        moves: &mut MoveList<MAX_MOVES>,
        alpha: i32,
        odd: Bitboard,
        best: (i32, Square),
    ) -> (i32, Square) {
        let moves: ArrayVec<_, MAX_MOVES> = std::iter::from_fn(|| moves.pick()).collect();
        let shared = &self.shared;
        let stop = self.midgame.stop.after(self.nodes());
        let point = SplitPoint::new(&moves, alpha, best, &stop);
        let outcome = point.run(shared.own_tables.len(), |point| {
            let mut worker = shared.search(point.stop());
            while let Some((_, entry)) = point.next_move() {
                let value = worker.deep_child(node, entry, alpha, odd);
                if worker.stopped() {
                    break;
                }
                point.update(value, entry.to);
            }
            worker.nodes()
        });
        self.endgame_nodes += outcome.nodes;
        self.should_stop();
        outcome.best
    }
}
