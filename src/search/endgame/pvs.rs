//! The root and the other nodes with an open window: principal variation search in discs.
//!
//! A midgame search gives the first window, around the value that it expects. From some number of empties on, selective searches come
//! next. What they find is not proved and never counts as such: it gives the exact search a move from the table to try first at every
//! node that matters, and a better window.

use super::Search;
use super::deep::order_depth;
use super::last::NO_VALUE;
use super::parity::odd_quadrants;
use super::shallow::{bit_length, fastest_first};
use crate::board::{Bitboard, Position, Square, squares};
use crate::eval::{Evaluator, Score};
use crate::search::analysis::{Analysis, Line};
use crate::search::node::Node;
use crate::search::ordering::{ListedMove, MAX_MOVES, MoveList};
use crate::search::table::{Entry, FULL_WIDTH};
use crate::search::tunables::{
    ASPIRATION_DISCS, DEEP_MIN_EMPTIES, GUESS_MIN_EMPTIES, MAX_ASPIRATION_STEP, PV_EXTRA_ORDER_DEPTH, SELECTIVE_PASSES,
};

impl<E: Evaluator> Search<'_, E> {
    /// The value within `bounds`, two even numbers, and a move that reaches it; meaningless once stopped.
    pub(super) fn search_root(&mut self, position: Position, bounds: (i32, i32)) -> (i32, Option<Square>) {
        let empties = position.empties();
        let around = |discs| window(discs - ASPIRATION_DISCS, discs + ASPIRATION_DISCS, bounds);
        let mut expected = if empties >= GUESS_MIN_EMPTIES { around(self.guess(&position)) } else { bounds };
        for (trust, pass) in (1..).zip(&SELECTIVE_PASSES) {
            if empties >= pass.min_empties {
                self.shared.trust = trust;
                let (value, best) = self.aspire(position, bounds, expected);
                expected = around(value);
                if !self.stopped() {
                    self.selective =
                        Some(Analysis { selectivity: Some(pass.deviations), ..self.analysis(position, value, best) });
                }
            }
        }
        self.shared.trust = FULL_WIDTH;
        self.aspire(position, bounds, expected)
    }

    /// The value that a midgame search expects, to an even number of discs.
    fn guess(&mut self, position: &Position) -> i32 {
        let node = Node::new(self.midgame.evaluator, position);
        let window = (-Score::INFINITY, Score::INFINITY);
        let value = self.midgame.pvs(&node, 2 + order_depth(position.empties()), window, &mut Line::new());
        2 * value.0.div_euclid(2 * Score::DISC)
    }

    /// The value within `bounds`, which is expected within a narrower window.
    fn aspire(&mut self, position: Position, bounds: (i32, i32), expected: (i32, i32)) -> (i32, Option<Square>) {
        let (alpha, beta) = bounds;
        let ((mut low, mut high), mut step) = (expected, ASPIRATION_DISCS);
        loop {
            let found @ (value, _) = self.pvs(position, low, high);
            step *= 2;
            // Selective searches may contradict each other and could alternate between two windows for ever: after a while the other
            // side is opened.
            let open = step > MAX_ASPIRATION_STEP;
            if self.stopped() {
                return found;
            } else if value <= low && low > alpha {
                (low, high) = window(value - step, if open { beta } else { value + 2 }, bounds);
            } else if value >= high && high < beta {
                (low, high) = window(if open { alpha } else { value - 2 }, value + step, bounds);
            } else {
                return found;
            }
        }
    }

    /// The value within (`alpha`, `beta`), two even numbers, and a move that reaches it.
    fn pvs(&mut self, position: Position, alpha: i32, beta: i32) -> (i32, Option<Square>) {
        self.endgame_nodes += 1;
        let moves = position.moves();
        if moves == 0 {
            if position.opponent_moves() == 0 {
                return (position.final_score(), None);
            }
            return (-self.pvs(position.pass(), -beta, -alpha).0, None);
        }
        let table = self.table_for(position.empties());
        let slot = table.slot(position);
        let mut known = table.probe(slot).unwrap_or(Entry::UNKNOWN).for_trust(self.trust_at(position.empties()));
        let nodes_before = self.nodes();
        let mut list = MoveList::new();
        self.pv_moves(&mut list, position, moves, known, alpha);
        let (mut best, mut best_move) = (NO_VALUE, None);
        let mut lower = alpha;
        while let Some(ListedMove { to, flips, .. }) = list.pick() {
            let next = position.play_unchecked(to, flips);
            // Values are even, so there is none inside a window of two: all there is to find is the side that the value is on.
            let open = beta - lower > 2;
            let first = best_move.is_none() && open;
            let mut value = lower;
            if !first {
                value = -self.null_window(next, -lower - 1);
            }
            if first || (open && value > lower && value < beta) {
                value = -self.pvs(next, -beta, -lower).0;
            }
            if self.stopped() {
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
            known.update(best, (alpha, beta));
            table.store(slot, Entry { draft: bit_length(self.nodes() - nodes_before), ..known });
        }
        (best, best_move)
    }

    /// Generates and scores the moves of a node with an open window.
    fn pv_moves(
        &mut self,
        list: &mut MoveList<MAX_MOVES>,
        position: Position,
        moves: Bitboard,
        known: Entry,
        alpha: i32,
    ) {
        list.generate(position, moves, |_, _, _| 0);
        let empties = position.empties();
        if empties >= DEEP_MIN_EMPTIES {
            let extra = PV_EXTRA_ORDER_DEPTH.min((empties - DEEP_MIN_EMPTIES) / 2);
            let node = Node::new(self.midgame.evaluator, &position);
            self.score_by_search(&node, list, known, order_depth(empties) + extra, alpha);
        } else {
            let odd = odd_quadrants(position.empty());
            list.score(position, known, |entry, _| fastest_first(entry.to, entry.replies, odd));
        }
    }

    /// A move of a position with legal moves that reaches `score`, the position's known value; any move once stopped.
    pub(super) fn move_reaching(&mut self, position: Position, score: i32) -> Square {
        self.endgame_nodes += 1;
        let table = self.table_for(position.empties());
        let known = table.probe(table.slot(position)).unwrap_or(Entry::UNKNOWN);
        let mut list = MoveList::new();
        self.pv_moves(&mut list, position, position.moves(), known, score - 1);
        while let Some(ListedMove { to, flips, .. }) = list.pick() {
            let next = position.play_unchecked(to, flips);
            if -self.null_window(next, -score) >= score || self.stopped() {
                return to;
            }
        }
        // Only if two positions had the same key in the table.
        squares(position.moves()).next().expect("the position has legal moves")
    }
}

/// A window cut to `bounds`, but at least two wide.
fn window(low: i32, high: i32, (alpha, beta): (i32, i32)) -> (i32, i32) {
    let low = low.clamp(alpha, beta - 2);
    (low, high.clamp(low + 2, beta))
}
